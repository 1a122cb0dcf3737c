//! `steadfast backup`: a copy of a data file.

use std::path::{PathBuf, absolute};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use steadfast_store::Sqlite;

use crate::{
    config::{Config, Flags},
    output::View,
};

/// Copy a data file, also while a server is at work on it
///
/// The copy is of one moment, and every page of it is checked. To go back to it, stop the server, remove
/// its data file and the files named after that (-wal, -shm), and put the copy in its place.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to make; it must not be there yet
    #[arg(value_name = "COPY")]
    copy: PathBuf,
    /// The data file; if nobody says, the one that `serve` would use here
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Where settings are; ./steadfast.toml is read if it is there
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    view: View,
}

/// Does what was asked.
pub(crate) fn run(args: &Args) -> Result<()> {
    let db = match &args.db {
        Some(db) => db.clone(),
        None => Config::gather(&Flags::in_file(args.config.clone()))?.db,
    };
    let (db, copy) = (absolute(db)?, absolute(&args.copy)?);
    ensure!(db.exists(), "there is no data file {}; --db names another", db.display());
    Sqlite::copy(&db, &copy).with_context(|| format!("cannot copy {}", db.display()))?;
    let said = || format!("copied {} to {}", db.display(), copy.display());
    args.view.answer_value(&json!({ "data": db, "copy": copy }), said)
}
