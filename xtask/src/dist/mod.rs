//! `cargo xtask dist`: the server as it is given away, laid out after what a server does, or an embedding
//! program after what such a program does.
//!
//! ```text
//!   a build that counts ──► driven as the benchmark drives it ──► counts ──► the build
//! ```
//!
//! The second build knows which ways through the code are taken: these are put side by side and
//! made fast, all others are put away and made small. The counts are of this tree and this
//! compiler, so they are made anew each time and never kept.

mod c;
mod product;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};

use self::{c::Purpose, product::Product};
use crate::{command, tree};

/// Counts that threads add to at once are not lost: code without any is put where nobody comes by.
const ALL_COUNT: &str = "-Cllvm-args=-instrprof-atomic-counter-update-all";

/// Makes it, and says where it is.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let product = asked(args)?;
    let host = host()?;
    let merge = profdata(&host)?;
    let given = tree::root().join("target/dist");
    let folder = given.join(product.name);
    let (counts, counts_of_c) = (folder.join("counts"), folder.join("counts-of-c"));
    for folder in [&counts, &counts_of_c] {
        if folder.exists() {
            fs::remove_dir_all(folder).context("removing the counts of the time before")?;
        }
        fs::create_dir_all(folder).context("making a folder for the counts")?;
    }
    forget(&host, &folder)?;
    let counts_c = c::can_count()?;
    let compiler =
        |purpose| counts_c.then(|| c::compiler(purpose, product, &counts_of_c)).transpose();

    println!("== dist: a build that counts");
    let mut flags = vec![flag("-Cprofile-generate=", &counts), ALL_COUNT.to_owned()];
    flags.extend(counts_c.then(|| "-Clink-arg=-lgcov".to_owned()));
    let counting = build(product, &host, &folder, &flags, compiler(Purpose::Count)?)?;
    println!("== dist: driving it");
    (product.drive)(&counting, &folder)?;
    let merged = folder.join("counts.profdata");
    let mut merging = Command::new(merge);
    command::done(merging.arg("merge").arg("-o").arg(&merged).arg(&counts))?;

    println!("== dist: the build");
    let mut flags = vec![flag("-Cprofile-use=", &merged)];
    flags.extend(product.flags.iter().map(|&flag| flag.to_owned()));
    let built = build(product, &host, &folder, &flags, compiler(Purpose::Use)?)?;
    let given = given.join(product.program);
    fs::copy(built, &given).context("putting the binary where it is found")?;
    println!("== dist: {}", given.display());
    Ok(())
}

/// Which product is meant: the first of all if none is named.
fn asked(args: &[String]) -> Result<&'static Product> {
    let [first, ..] = &product::ALL;
    match args {
        [] => Ok(first),
        [name] => product::ALL.iter().find(|it| it.name == name).with_context(|| {
            format!("there is no product {name:?}; there are {}", product::names())
        }),
        [..] => bail!("`dist` makes one product: {}", product::names()),
    }
}

/// Builds it in a folder of its own. Flags are for the target alone, which is why it is named: build
/// scripts and macros are not counted.
fn build(
    product: &Product,
    host: &str,
    folder: &Path,
    flags: &[String],
    cc: Option<PathBuf>,
) -> Result<PathBuf> {
    let which = ["--package", product.package, "--bin", product.program, "--target", host];
    command::done(
        command::cargo(&["build", "--release", "--locked"])
            .args(which)
            .current_dir(tree::root())
            .env("CARGO_TARGET_DIR", folder)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .envs(cc.map(|program| (format!("CC_{}", host.replace('-', "_")), program))),
    )?;
    Ok(folder.join(host).join("release").join(product.program))
}

/// Has everything compiled anew: cargo would not see that the counts are others.
fn forget(host: &str, folder: &Path) -> Result<()> {
    command::done(
        command::cargo(&["clean", "--quiet", "--release", "--locked", "--target", host])
            .current_dir(tree::root())
            .env("CARGO_TARGET_DIR", folder),
    )
}

/// The program of the toolchain that adds counts up.
fn profdata(host: &str) -> Result<PathBuf> {
    let sysroot = command::said(rustc().args(["--print", "sysroot"]))?;
    let program =
        Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin").join("llvm-profdata");
    if !program.is_file() {
        println!("== dist: adding llvm-tools to the toolchain, because there is no llvm-profdata");
        command::done(Command::new("rustup").args(["component", "add", "llvm-tools"]))?;
    }
    ensure!(program.is_file(), "there is no {}", program.display());
    Ok(program)
}

/// What this machine is to the compiler.
fn host() -> Result<String> {
    let told = command::said(rustc().arg("-vV"))?;
    let line = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("`rustc -vV` does not name its host")?.to_owned())
}

/// The compiler that this workspace is built with.
fn rustc() -> Command {
    let mut command = command::clean("rustc");
    command.current_dir(tree::root());
    command
}

fn flag(name: &str, path: &Path) -> String {
    format!("{name}{}", path.display())
}
