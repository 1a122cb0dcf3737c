//! A Steadfast process of our own: killed and started again on the same data.

use std::{
    env,
    io::{BufRead as _, BufReader},
    net::{SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// A server that ends with the test.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    folder: TempDir,
    process: Child,
}

impl Server {
    /// Starts one on a new file.
    pub fn start() -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let folder = tempfile::tempdir()?;
        let process = spawn(&folder, address)?;
        Ok(Self { address, folder, process })
    }

    /// Where SDKs connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Pulls the plug, and starts again on what is on disk.
    pub fn kill_and_restart(&mut self) -> Result<()> {
        self.end()?;
        self.process = spawn(&self.folder, self.address)?;
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.process.kill()?; // SIGKILL
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.end();
    }
}

/// Returns once it serves.
fn spawn(folder: &TempDir, address: SocketAddr) -> Result<Child> {
    let binary = env::var_os("STEADFAST_BIN").context("STEADFAST_BIN must name the binary")?;
    let mut process = Command::new(&binary)
        .args(["serve", "--grpc", &address.to_string(), "--db"])
        .arg(folder.path().join("steadfast.db"))
        .env("STEADFAST_HTTP", "127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} cannot be run", binary.display()))?;
    let out = process.stdout.take().context("its output is piped")?;
    for line in BufReader::new(out).lines() {
        if line?.starts_with("press Ctrl-C") {
            return Ok(process);
        }
    }
    bail!("{} ended before it served", binary.display())
}
