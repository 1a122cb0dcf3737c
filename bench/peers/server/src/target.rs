//! The server that is measured: a process of our own on a new file, or one that already serves.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use url::Url;

use crate::usage::Process;

/// Which server to measure.
#[derive(Clone, Debug)]
pub enum Choice {
    /// One that is started for each case.
    Ours { binary: PathBuf, dir: PathBuf },
    /// One that serves already.
    Other { address: String, pid: Option<u32> },
}

/// A server that serves.
#[derive(Debug)]
pub struct Target {
    address: String,
    /// To be watched, if it is on this machine.
    pub process: Option<Process>,
    /// What was seen when it was started.
    pub begun: Option<Begun>,
    metrics: Option<SocketAddr>,
    ours: Option<Ours>,
}

/// What is seen once, when a server is started.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// From its first instruction until `GetSystemInfo` was answered.
    pub startup: Duration,
    pub idle_rss_mib: f64,
    pub binary_mib: f64,
}

#[derive(Debug)]
struct Ours {
    process: Child,
    _folder: TempDir,
}

impl Drop for Ours {
    fn drop(&mut self) {
        // It is asked to end: one that was built to count its steps writes them down then.
        let id = self.process.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

impl Target {
    /// Starts it if it is ours. Returns once it answers.
    pub async fn open(choice: &Choice) -> Result<Self> {
        match choice {
            Choice::Ours { binary, dir } => Self::start(binary, dir).await,
            Choice::Other { address, pid } => Ok(Self {
                address: address.clone(),
                process: pid.map(Process::new),
                begun: None,
                metrics: None,
                ours: None,
            }),
        }
    }

    async fn start(binary: &Path, dir: &Path) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let folder = tempfile::tempdir_in(dir)?;
        let began = Instant::now();
        let mut process = Command::new(binary)
            .args(["serve", "--grpc", &address, "--db"])
            .arg(folder.path().join("bench.db"))
            .env("STEADFAST_HTTP", "127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} cannot be run", binary.display()))?;
        let metrics = banner(&mut process, binary)?;
        let mut target = Self {
            address,
            process: Some(Process::new(process.id())),
            begun: None,
            metrics,
            ours: Some(Ours { process, _folder: folder }),
        };
        // Connecting asks for the system's info.
        target.connect().await?;
        target.begun = Some(Begun {
            startup: began.elapsed(),
            idle_rss_mib: target.process.map_or(0.0, Process::rss_mib),
            binary_mib: fs::metadata(binary)?.len() as f64 / 1024.0 / 1024.0,
        });
        Ok(target)
    }

    /// A client with a connection of its own.
    pub async fn connect(&self) -> Result<Client> {
        let url: Url = format!("http://{}", self.address).parse()?;
        let options = ConnectionOptions::new(url).identity("steadfast-bench").build();
        let connection = Connection::connect(options).await?;
        Ok(Client::new(connection, ClientOptions::new("default").build())?)
    }

    /// Transactions since it began, if it tells.
    pub fn commits(&self) -> Option<u64> {
        let text = get(self.metrics?, "/metrics").ok()?;
        let line = text.lines().find(|line| {
            line.starts_with("steadfast_commits ") || line.starts_with("steadfast_commits_total ")
        })?;
        line.split(' ').nth(1)?.parse().ok()
    }

    /// By which name it stands in the report.
    pub fn name(&self) -> &'static str {
        if self.ours.is_some() { "steadfast-server" } else { "other-server" }
    }
}

/// Reads what the server says until it serves; finds where its pages are.
fn banner(process: &mut Child, binary: &Path) -> Result<Option<SocketAddr>> {
    let out = process.stdout.take().context("its output is piped")?;
    let mut pages = None;
    for line in BufReader::new(out).lines() {
        let line = line?;
        if let Some((_, address)) = line.split_once("http://") {
            pages = address.trim_end_matches('/').parse().ok();
        }
        if line.starts_with("press Ctrl-C") {
            return Ok(pages);
        }
    }
    bail!("{} ended before it served", binary.display())
}

/// As little of HTTP as a page of numbers needs.
fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}
