//! A server in a process of its own, and commands that are run against it.

use std::{
    io::{BufRead as _, BufReader, Lines},
    net::TcpListener,
    process::{Child, ChildStdout, Command, Output, Stdio},
    sync::atomic::{AtomicU16, Ordering},
};

use regex::Regex;

use crate::worker::Worker;

/// A port that is free, as is the one of the pages above it. No two tests are given the same, nor is an
/// outgoing connection by chance, while nobody listens on it.
pub(crate) fn free_port() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let first = 12_000 + u16::try_from(std::process::id() % 10_000).expect("small");
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    loop {
        let port = first + GIVEN.fetch_add(1, Ordering::Relaxed);
        assert!(port < 30_000, "no port is free");
        if is_free(port) && is_free(port + 1_000) {
            return port;
        }
    }
}

/// A server for one test.
pub(crate) struct Dev {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) http: Option<String>,
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
}

impl Dev {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(flags: &[&str]) -> Self {
        Self::at("0", flags)
    }

    pub(crate) fn at(port: &str, flags: &[&str]) -> Self {
        Self::shown(port, &[&["--headless"], flags].concat())
    }

    /// One with pages.
    pub(crate) fn shown(port: &str, flags: &[&str]) -> Self {
        let mut child = command(&["server", "start-dev", "--port", port])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut next = || lines.next().expect("another line").expect("text");
        let (mut address, mut http) = (String::new(), None);
        loop {
            let line = next();
            if let Some(it) = line.strip_prefix("gRPC   ") {
                it.clone_into(&mut address);
            }
            if let Some(it) = line.strip_prefix("HTTP   http://") {
                http = Some(it.to_owned());
            }
            if line == "press Ctrl-C to stop" {
                break;
            }
        }
        Self { child, address, http, lines }
    }

    /// A command against this server.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.env("STEADFAST_ADDRESS", &self.address);
        command.envs(self.http.iter().map(|http| ("STEADFAST_HTTP_ADDRESS", http)));
        command
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the binary starts")
    }

    /// What a command says when all goes well, without what differs from run to run.
    pub(crate) fn says(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
        masked(&text(&output.stdout))
    }

    /// What a command answers in JSON.
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        let output = self.command(args).args(["--output", "json"]).output().expect("it starts");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// The exit code and the error of a command that must not do what it was asked.
    pub(crate) fn refuses(&self, args: &[&str]) -> (i32, String) {
        refusal(&self.output(args))
    }

    pub(crate) fn worker(&self) -> Worker {
        Worker::connect(&self.address)
    }

    /// A workflow of type `Order` on the queue `orders`.
    pub(crate) fn start_order(&self, id: &str) {
        self.says(&[
            "workflow",
            "start",
            "--type",
            "Order",
            "-t",
            "orders",
            "-w",
            id,
            "-i",
            "{\"n\":1}",
        ]);
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // It may have been asked to stop by the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
    for name in ["STEADFAST_ADDRESS", "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "NO_COLOR"] {
        command.env_remove(name);
    }
    command.env("USER", "tester").env("HOSTNAME", "here");
    command.args(args);
    command
}

pub(crate) fn refusal(output: &Output) -> (i32, String) {
    let code = output.status.code().expect("an exit code");
    assert_ne!(code, 0, "{}", text(&output.stdout));
    (code, masked(&text(&output.stderr)))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Times, distances and fresh ids differ from run to run.
pub(crate) fn masked(text: &str) -> String {
    let rules = [
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>"),
        (r"\((in )?[\dhms ]+( ago)?\)", "(<distance>)"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>"),
        (r"\d+ bytes", "<size> bytes"),
    ];
    let mask = |text: String, (pattern, by): &(&str, &str)| {
        Regex::new(pattern).expect("a pattern").replace_all(&text, *by).into_owned()
    };
    rules.iter().fold(text.to_owned(), mask)
}
