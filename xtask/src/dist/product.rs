//! What can be laid out: which program, what of it is C, and how it is driven to see which ways it takes.

use std::path::Path;

use anyhow::Result;

use crate::{command, tree};

/// A program, and what there is to know of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    /// What it is called on the command line.
    pub(super) name: &'static str,
    /// The package that it is in.
    pub(super) package: &'static str,
    pub(super) program: &'static str,
    /// What the second build does with the counts, beside what it always does.
    pub(super) flags: &'static [&'static str],
    /// Its C that is worth counting.
    pub(super) c: &'static [Source],
    /// What the second build of it does, likewise.
    pub(super) c_flags: &'static str,
    /// Has the program, which is here, do in this folder what it is for.
    pub(super) drive: fn(&Path, &Path) -> Result<()>,
}

/// A source of C.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// The end of its path.
    pub(super) path: &'static str,
    /// What its counts are called.
    pub(super) counts: &'static str,
}

/// What `dist` makes if nothing is named, and what else it can make.
pub(super) static ALL: [Product; 2] = [SERVER, EMBEDDED];

const SERVER: Product = Product {
    name: "server",
    package: "steadfast-cli",
    program: "steadfast",
    flags: LAID_OUT,
    c: &[DATABASE, ALLOCATOR, INFLATE],
    c_flags: "",
    drive: serve,
};

/// A program that embeds the SDK, which `steadfast-bench sdk` measures. Other such programs are made
/// in the same way: crates/sdk/README.md says how.
const EMBEDDED: Product = Product {
    name: "embedded",
    package: "steadfast-bench",
    program: "steadfast-bench-embedded",
    flags: LAID_OUT_SMALL,
    c: &[DATABASE],
    c_flags: C_UNSPLIT,
    drive: embed,
};

/// Code that hardly any workflow took leaves the functions that it is in, and functions lie with those of
/// their kind.
const LAID_OUT: &[&str] = &[SPLIT, BY_KIND];

/// The same for memory above all: what was run at all, if only once, does not lie with what never was; how
/// often is also found out for the loops of an `async fn`, which have many entries. Of the system's libraries
/// there is what is used and no more. And addresses that depend on where the program is take less room;
/// systems before glibc 2.36 do not know that.
const LAID_OUT_SMALL: &[&str] = &[
    SPLIT,
    BY_KIND,
    "-Cllvm-args=-mfs-psi-cutoff=0",
    "-Cllvm-args=-profile-summary-cold-count=0",
    "-Cllvm-args=-use-iterative-bfi-inference",
    "-Ctarget-feature=+crt-static",
    "-Clink-arg=-Wl,-z,pack-relative-relocs",
];

const SPLIT: &str = "-Cllvm-args=-enable-split-machine-functions";
const BY_KIND: &str = "-Clink-arg=-Wl,-z,keep-text-section-prefix";

/// Parts of functions that were hardly run stay where they are: they would lie with what never was.
const C_UNSPLIT: &str = "-fno-reorder-blocks-and-partition";

const DATABASE: Source = Source { path: "sqlite3/sqlite3.c", counts: "sqlite3" };
const ALLOCATOR: Source = Source { path: "src/static.c", counts: "static" };
const INFLATE: Source = Source { path: "lib/deflate_decompress.c", counts: "inflate" };

/// The names of all of them.
pub(super) fn names() -> String {
    ALL.each_ref().map(|product| product.name).join(", ")
}

/// As many workflows of each shape as show what is often done.
const WORKFLOWS: &str = "3000";

/// Has the load generator start the server, drive it and stop it, once for each of its cases.
fn serve(server: &Path, folder: &Path) -> Result<()> {
    let generator = "bench/peers/server/Cargo.toml";
    command::done(
        command::cargo(&["run", "--release", "--locked", "--quiet", "--manifest-path", generator])
            .args(["--", "--workflows", WORKFLOWS, "--binary"])
            .arg(server)
            .arg("--dir")
            .arg(folder)
            .current_dir(tree::root())
            .env("CARGO_TARGET_DIR", tree::root().join("target/sdk-rust")),
    )
}

/// Has the program run its cases: many workflows at once, a chain of steps, failures, a replay.
fn embed(program: &Path, folder: &Path) -> Result<()> {
    command::done(
        command::cargo(&[
            "run",
            "--release",
            "--locked",
            "--quiet",
            "--package",
            "steadfast-bench",
        ])
        .args(["--", "sdk", "--alone", "--workflows", WORKFLOWS, "--program"])
        .arg(program)
        .arg("--dir")
        .arg(folder)
        .current_dir(tree::root()),
    )
}
