//! The server, as the official Rust SDK finds it.
//!
//! The load generator is in a workspace of its own, so that nothing of the SDK is in the product's
//! build. It starts the server, drives it and watches its process from outside.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use crate::{
    args::{ServerPlan, make_dir},
    build::build,
    report::Line,
};

/// Builds what is needed, and tells of each case as soon as it has ended.
pub fn run(plan: &ServerPlan, tell: &mut dyn FnMut(&Line)) -> Result<()> {
    let generator =
        build("bench/peers/server/Cargo.toml", "target/sdk-rust", "steadfast-bench-server")?;
    make_dir(&plan.dir)?;
    let only = plan.only.iter().flat_map(|case| ["--only", case]);
    let mut running = Command::new(generator)
        .args(server(plan)?)
        .args(only)
        .arg("--dir")
        .arg(&plan.dir)
        .args(["--workflows", &plan.workflows.to_string()])
        .args(["--chains", &plan.chains.to_string()])
        .args(["--signals", &plan.signals.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .context("the load generator could not be run")?;
    let out = running.stdout.take().context("its output is piped")?;
    for line in BufReader::new(out).lines() {
        let line = line?;
        tell(&serde_json::from_str(&line).context(line)?);
    }
    ensure!(running.wait()?.success(), "the load generator failed");
    Ok(())
}

/// Which server the generator is told to drive.
fn server(plan: &ServerPlan) -> Result<Vec<OsString>> {
    if let Some(address) = &plan.address {
        let pid = plan.pid.map(|pid| ["--pid".into(), pid.to_string().into()]);
        let mut told = vec!["--address".into(), address.into()];
        told.extend(pid.into_iter().flatten());
        return Ok(told);
    }
    let binary = match &plan.binary {
        Some(binary) => binary.clone(),
        None => build("Cargo.toml", "target", "steadfast")?,
    };
    Ok(vec!["--binary".into(), binary.into()])
}
