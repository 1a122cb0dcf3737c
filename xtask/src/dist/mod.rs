//! `cargo xtask dist`: the server as it is given away, laid out after what a server does.
//!
//! ```text
//!   a build that counts ──► driven as the benchmark drives it ──► counts ──► the build
//! ```
//!
//! The second build knows which ways through the code are taken: these are put side by side and
//! made fast, all others are put away and made small. The counts are of this tree and this
//! compiler, so they are made anew each time and never kept.

mod c;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use self::c::Purpose;
use crate::{command, tree};

/// As many workflows of each shape as show what is often done.
const WORKFLOWS: &str = "3000";

/// What the second build does with the counts, beside what it always does: code that no workflow
/// took leaves the functions that it is in, and functions lie with those of their kind.
const LAID_OUT: &[&str] =
    &["-Cllvm-args=-enable-split-machine-functions", "-Clink-arg=-Wl,-z,keep-text-section-prefix"];

/// Makes it, and says where it is.
pub(crate) fn run(args: &[String]) -> Result<()> {
    ensure!(args.is_empty(), "`dist` takes no arguments");
    let host = host()?;
    let merge = profdata(&host)?;
    let folder = tree::root().join("target/dist");
    let (counts, counts_of_c) = (folder.join("counts"), folder.join("counts-of-c"));
    for folder in [&counts, &counts_of_c] {
        if folder.exists() {
            fs::remove_dir_all(folder).context("removing the counts of the time before")?;
        }
        fs::create_dir_all(folder).context("making a folder for the counts")?;
    }
    forget_c(&host, &folder)?;
    let counts_c = c::can_count()?;
    let compiler = |purpose| counts_c.then(|| c::compiler(purpose, &counts_of_c)).transpose();

    println!("== dist: a build that counts");
    let mut flags = vec![flag("-Cprofile-generate=", &counts)];
    flags.extend(counts_c.then(|| "-Clink-arg=-lgcov".to_owned()));
    let counting = build(&host, &folder, &flags, compiler(Purpose::Count)?)?;
    println!("== dist: driving it");
    drive(&counting, &folder)?;
    let merged = folder.join("counts.profdata");
    let mut merging = Command::new(merge);
    command::done(merging.arg("merge").arg("-o").arg(&merged).arg(&counts))?;

    println!("== dist: the build");
    let mut flags = vec![flag("-Cprofile-use=", &merged)];
    flags.extend(LAID_OUT.iter().map(|&flag| flag.to_owned()));
    let built = build(&host, &folder, &flags, compiler(Purpose::Use)?)?;
    let given = folder.join("steadfast");
    fs::copy(built, &given).context("putting the binary where it is found")?;
    println!("== dist: {}", given.display());
    Ok(())
}

/// Builds the server in a folder of its own. Flags are for the target alone, which is why it is
/// named: build scripts and macros are not counted.
fn build(host: &str, folder: &Path, flags: &[String], cc: Option<PathBuf>) -> Result<PathBuf> {
    let args = ["build", "--release", "--locked", "--bin", "steadfast", "--target", host];
    command::done(
        command::cargo(&args)
            .current_dir(tree::root())
            .env("CARGO_TARGET_DIR", folder)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .envs(cc.map(|program| (format!("CC_{}", host.replace('-', "_")), program))),
    )?;
    Ok(folder.join(host).join("release/steadfast"))
}

/// Has C compiled anew: cargo would not see that its counts are others.
fn forget_c(host: &str, folder: &Path) -> Result<()> {
    let packages = c::PACKAGES.iter().flat_map(|name| ["--package", name]);
    command::done(
        command::cargo(&["clean", "--quiet", "--release", "--locked", "--target", host])
            .args(packages)
            .current_dir(tree::root())
            .env("CARGO_TARGET_DIR", folder),
    )
}

/// Has the load generator start the server, drive it and stop it, once for each of its cases.
fn drive(server: &Path, folder: &Path) -> Result<()> {
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
