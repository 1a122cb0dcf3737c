//! Programs that are built when they are needed, and what they print.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use crate::report::Line;

/// Builds a program for release, and says where it is. Paths are from the root of the repository.
pub(crate) fn build(manifest: &str, target: &str, program: &str) -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join(target);
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--locked", "--bin", program, "--manifest-path"])
        .arg(root.join(manifest))
        .arg("--target-dir")
        .arg(&target)
        .status()
        .context("cargo could not be run")?;
    ensure!(built.success(), "{program} could not be built");
    Ok(target.join("release").join(program))
}

/// Runs a program that prints a line of JSON for each case, to its end.
pub(crate) fn lines_of(command: &mut Command) -> Result<Vec<Line>> {
    let program = command.get_program().to_owned();
    let told = || format!("running {}", program.display());
    forget(&program).with_context(told)?;
    let ran = command.stderr(Stdio::inherit()).output().with_context(told)?;
    ensure!(ran.status.success(), "{}: {}", told(), ran.status);
    let out = String::from_utf8(ran.stdout)?;
    let objects = out.lines().filter(|line| line.starts_with('{'));
    objects.map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

/// Has a program be read from the disk when it runs next. Until then the system keeps a file that was just
/// written in pieces as large as the writes were, and a program that runs a little of a piece has the whole
/// counted as its memory.
#[cfg(target_os = "linux")]
fn forget(program: &OsStr) -> Result<()> {
    use std::fs::File;

    use rustix::fs::{Advice, fadvise};

    let file = File::open(program)?;
    file.sync_all()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
fn forget(_: &OsStr) -> Result<()> {
    Ok(())
}
