//! C that is worth counting: the database, and in the server the allocator and what unpacks messages.
//!
//! Cargo has no say in how build scripts compile C, but they ask for a compiler by name. What they
//! get is a script that adds flags for these sources and leaves all others alone.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::product::{Product, Source};
use crate::command;

/// What C is compiled for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// To count which ways are taken.
    Count,
    /// To be laid out after the counts.
    Use,
}

impl Purpose {
    fn program(self) -> &'static str {
        match self {
            Self::Count => "cc-count",
            Self::Use => "cc-use",
        }
    }

    /// Counts would be called after the object file, which is elsewhere in each build. To find none
    /// is an error, because it would not be seen otherwise.
    fn flags(self, product: &Product, folder: &Path, counts: &str) -> String {
        let (purpose, more) = match self {
            Self::Count => ("-fprofile-generate -fprofile-update=atomic", ""),
            Self::Use => ("-fprofile-use -Werror=missing-profile", product.c_flags),
        };
        format!("{purpose} {more} -dumpdir '{}/' -dumpbase {counts}", folder.display())
    }
}

/// Whether the compiler of this machine is the one that these flags are for. Another compiles C as
/// always.
pub(super) fn can_count() -> Result<bool> {
    Ok(command::said(Command::new("cc").arg("--version"))?.contains("Free Software Foundation"))
}

/// Makes the compiler for this purpose, with the counts in `folder`.
pub(super) fn compiler(purpose: Purpose, product: &Product, folder: &Path) -> Result<PathBuf> {
    let mut script = String::from("#!/bin/sh\nfor arg; do\n  case \"$arg\" in\n");
    for Source { path, counts } in product.c {
        let flags = purpose.flags(product, folder, counts);
        writeln!(script, "    *{path}) exec cc \"$@\" {flags} ;;")?;
    }
    script.push_str("  esac\ndone\nexec cc \"$@\"\n");
    let path = folder.join(purpose.program());
    fs::write(&path, script).context("writing a compiler")?;
    command::done(Command::new("chmod").arg("+x").arg(&path))?;
    Ok(path)
}
