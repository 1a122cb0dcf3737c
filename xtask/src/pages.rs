//! `cargo xtask compatibility`: the pages that say what the code says.
//!
//! Each page belongs to a test, beside the table that it is made from, which compares the two; `ci`
//! runs it with all others. Told to write, the test writes the page first. So this program need not
//! be built from the server.

use anyhow::{Context as _, Result, bail, ensure};

use crate::{command::cargo, tree};

/// The packages with such tests, and what their names begin with.
const PAGES: &[(&str, &str)] =
    &[("steadfast-server", "the_page_about"), ("steadfast-cli", "the_page_about")];

/// Compares the pages with the code, or writes them.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let write = match args {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => bail!("usage: cargo xtask compatibility [--write]"),
    };
    for (package, tests) in PAGES {
        let mut command = cargo(&["test", "--quiet", "--package", package, tests]);
        command.current_dir(tree::root());
        if write {
            command.env("STEADFAST_WRITE_DOCS", "1");
        }
        let status = command.status().context("starting cargo")?;
        ensure!(status.success(), "the tests `{tests}…` of {package} ended with {status}");
    }
    Ok(())
}
