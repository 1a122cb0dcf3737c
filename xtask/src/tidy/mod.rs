//! `cargo xtask tidy`: the shape of the code, checked.
//!
//! ```text
//!   house    crates stand on floors, and depend only on floors below
//!   floors   so do the modules inside a crate, as its FLOORS file says
//!   files    every file is short, has a head, and names no place on somebody's machine
//! ```
//!
//! Each check is a pure function from text to faults, so that each is tested on a small example
//! that breaks its rule. What clippy can see (long functions, unwraps) is left to clippy.

mod files;
mod floors;
mod house;
mod imports;

use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::tree::{self, File};

/// Prints what is untidy, and fails if anything is.
pub(crate) fn run(args: &[String]) -> Result<()> {
    ensure!(args.is_empty(), "tidy takes no arguments");
    let report = inspect()?;
    for note in &report.notes {
        println!("note: {note}");
    }
    for fault in &report.faults {
        println!("untidy: {fault}");
    }
    match report.faults.len() {
        0 => println!("tidy: {} files in {} crates", report.files, report.crates),
        count => bail!("tidy found {count} fault(s)"),
    }
    Ok(())
}

/// What was looked at and what was found.
#[derive(Debug, Default)]
struct Report {
    /// Files looked at.
    files: usize,
    /// Crates looked at.
    crates: usize,
    /// Worth knowing; nothing to fail for.
    notes: Vec<String>,
    /// Against the rules.
    faults: Vec<String>,
}

fn inspect() -> Result<Report> {
    let files = tree::files(tree::root())?;
    let members = house::members(&metadata()?, tree::root())?;
    let mut report = Report { files: files.len(), crates: members.len(), ..Report::default() };
    report.faults.extend(house::faults(&members));
    report.faults.extend(files.iter().flat_map(files::faults));
    for member in &members {
        inspect_crate(&member.folder, &files, &mut report);
    }
    Ok(report)
}

/// The checks that look at one crate as a whole.
fn inspect_crate(folder: &str, files: &[File], report: &mut Report) {
    let text_of = |path: &str| files.iter().find(|file| file.path == path).map(|file| &*file.text);
    let manifest = text_of(&format!("{folder}/Cargo.toml")).unwrap_or_default();
    report.faults.extend(files::manifest_fault(folder, manifest));
    let architecture = text_of("ARCHITECTURE.md").unwrap_or_default();
    report.faults.extend(files::unnamed_fault(folder, architecture));
    match text_of(&format!("{folder}/FLOORS")) {
        Some(plan) => report.faults.extend(floors::faults(folder, plan, files)),
        None if house::must_have_floors(folder) => {
            report.faults.push(format!("{folder}: has no FLOORS file"));
        }
        None => report.notes.push(format!("{folder} has no FLOORS file yet")),
    }
}

fn metadata() -> Result<serde_json::Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(tree::root())
        .output()
        .context("starting cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("reading the answer of cargo metadata")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let report = inspect().expect("the workspace can be read");
        assert!(report.faults.is_empty(), "untidy:\n  {}", report.faults.join("\n  "));
    }

    #[test]
    fn a_crate_without_floors_is_a_note_until_its_row_demands_them() {
        let mut report = Report::default();
        inspect_crate("crates/unheard-of", &[], &mut report);
        assert_eq!(report.notes, ["crates/unheard-of has no FLOORS file yet"]);
        let mut report = Report::default();
        inspect_crate("xtask", &[], &mut report);
        assert!(report.notes.is_empty());
        assert!(report.faults.contains(&"xtask: has no FLOORS file".to_owned()));
    }
}
