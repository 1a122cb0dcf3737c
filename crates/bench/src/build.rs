//! Programs that are built when they are needed, each in a workspace and a target folder of its own.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

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
