//! House tooling, run as `cargo xtask <verb>`.
//!
//! ```text
//!   ci ──────► fmt, clippy, docs, tests, then the three below and the simulation
//!   tidy ────► the shape of the code: floors, file sizes, heads, paths
//!   promises ► the table in docs/promises.md against the tests that exist
//!   sdk ─────► the official SDKs against a server process
//!   compatibility ► the pages that are written from the code
//!   dist ────► a program laid out after what it does: the server as it is given away, or an embedding one
//! ```
//!
//! Everything is plain Rust, so that a fresh clone needs nothing but a toolchain; only the
//! suites of other languages need those languages, and fetch the rest themselves.

#![expect(clippy::print_stdout, reason = "a command line tool answers on standard output")]
#![expect(clippy::print_stderr, reason = "what went wrong is told on standard error")]

mod ci;
mod command;
mod dist;
mod pages;
mod promises;
mod sdk;
mod source;
mod tidy;
mod tree;

use std::process::ExitCode;

use anyhow::{Result, bail};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match perform(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(args: &[String]) -> Result<()> {
    let Some((name, rest)) = args.split_first() else {
        print!("{}", usage());
        return Ok(());
    };
    match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(rest),
        None => bail!("there is no verb `{name}`\n\n{}", usage()),
    }
}

/// Something that `cargo xtask` can do.
struct Verb {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "ci",
        about: "run every check, in order (`ci --list` names them, `ci <step>…` runs some)",
        run: ci::run,
    },
    Verb {
        name: "tidy",
        about: "check the shape of the code: floors, sizes, heads, paths",
        run: tidy::run,
    },
    Verb {
        name: "promises",
        about: "compare docs/promises.md with the tests (`--write` brings it up to date)",
        run: promises::run,
    },
    Verb {
        name: "sdk",
        about: "run the suites of the official SDKs (`sdk <language>…` runs some)",
        run: sdk::run,
    },
    Verb {
        name: "compatibility",
        about: "compare docs/compatibility.md and docs/configuration.md with the code (`--write` \
                writes them)",
        run: pages::run,
    },
    Verb {
        name: "dist",
        about: "build the server as it is given away: laid out after what a driven one does (`dist \
                embedded`: the embedding program of the benchmarks)",
        run: dist::run,
    },
];

fn usage() -> String {
    let lines: Vec<String> =
        VERBS.iter().map(|verb| format!("  {:<13} {}\n", verb.name, verb.about)).collect();
    format!("cargo xtask <verb>\n\n{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_has_one_line_for_each_verb() {
        let text = usage();
        for verb in VERBS {
            assert_eq!(text.lines().filter(|line| line.contains(verb.about)).count(), 1);
        }
    }
}
