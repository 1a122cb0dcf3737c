//! Other programs, started as if from a shell.

use std::{env, ffi::OsStr, path::PathBuf, process::Command};

use anyhow::{Context as _, Result, ensure};

/// The cargo that runs us.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = clean(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// A program that does not hear what cargo told us about this package: a build script that asks
/// for such a variable would believe that it has changed.
pub(crate) fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Where a binary is that was built beside this one.
pub(crate) fn beside(name: &str) -> Result<PathBuf> {
    let here = env::current_exe().context("finding this program")?;
    Ok(here.with_file_name(format!("{name}{}", env::consts::EXE_SUFFIX)))
}

/// Runs it to a good end.
pub(crate) fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {}", shown(command)))?;
    ensure!(status.success(), "{} ended with {status}", shown(command));
    Ok(())
}

/// Runs it to a good end, and returns what it says.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("starting {}", shown(command)))?;
    ensure!(output.status.success(), "{} ended with {}", shown(command), output.status);
    String::from_utf8(output.stdout).context("what it says is no UTF-8")
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}
