//! `steadfast serve`: the engine on a data file.
//!
//! Today it holds the data file open and says what is there. The doors (gRPC, HTTP) are not built
//! yet, and it says that too, rather than listening on a port that answers nothing.

use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf, absolute},
};

use anyhow::{Context as _, Result, ensure};

use crate::stop;

/// What can be said to `serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where runs are kept; the file is created if it is not there
    #[arg(long, value_name = "FILE", default_value = "steadfast.db")]
    db: PathBuf,
}

/// Serves until somebody asks to stop.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Listened for before anything is printed: whoever reads the last line may ask at once.
    let asked = stop::Asked::listen()?;
    let data = Data::open(&args.db)?;
    print!("{}", banner(&data.path));
    asked.wait();
    println!("stopped");
    Ok(())
}

/// The data file, open. This is where the engine will be opened: it takes the path, and lives as
/// long as this value does.
#[derive(Debug)]
struct Data {
    path: PathBuf,
    _file: File,
}

impl Data {
    /// Opens the file for writing, or creates it; what is in it stays as it is.
    fn open(path: &Path) -> Result<Self> {
        let path = absolute(path).context("finding the data file")?;
        ensure!(!path.is_dir(), "{} is a folder; --db names a file", path.display());
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .with_context(|| format!("cannot write the data file {}", path.display()))?;
        Ok(Self { path, _file: file })
    }
}

fn banner(data: &Path) -> String {
    format!(
        "steadfast {version}\n\
         data   {data}\n\
         gRPC   not built yet in this release\n\
         HTTP   not built yet in this release\n\
         press Ctrl-C to stop\n",
        version = env!("CARGO_PKG_VERSION"),
        data = data.display(),
    )
}
