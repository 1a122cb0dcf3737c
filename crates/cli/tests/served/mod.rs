//! `steadfast serve` as a process: what it says, what it listens to, and how it stops.
#![cfg(unix)]

mod secured;

use std::{
    fs,
    io::{BufRead as _, BufReader, Lines, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use steadfast_proto::{
    clients::WorkflowServiceClient,
    taskqueue::TaskQueue,
    workflowservice::{PollWorkflowTaskQueueRequest, PollWorkflowTaskQueueResponse},
};
use steadfast_store::{Sqlite, sqlite};
use tonic::transport::Endpoint;

use crate::{folder, steadfast, text};

/// A server process, with the lines that it has said.
struct Serving {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

impl Serving {
    /// Starts on free ports and waits for the last line of the banner.
    fn start(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut serving = Self { child, lines, said: Vec::new() };
        while serving.said.last().is_none_or(|line| line != "press Ctrl-C to stop") {
            let line = serving.line();
            serving.said.push(line);
        }
        serving
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("another line").expect("text")
    }

    /// What stands behind a word of the banner.
    fn said(&self, word: &str) -> &str {
        let line = self.said.iter().find_map(|line| line.strip_prefix(word));
        line.expect("the banner says it").trim()
    }

    fn signal(&self, signal: &str) {
        let arguments = [format!("-{signal}"), self.child.id().to_string()];
        assert!(Command::new("kill").args(arguments).status().expect("kill starts").success());
    }

    /// Asks it to stop; what it has said to standard error.
    fn stop(self) -> String {
        self.signal("TERM");
        self.stopped()
    }

    /// What the process says to standard error, once it has ended.
    fn stopped(mut self) -> String {
        assert_eq!(self.line(), "stopped");
        let mut errors = Vec::new();
        let mut pipe = self.child.stderr.take().expect("piped");
        pipe.read_to_end(&mut errors).expect("readable");
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0));
        text(&errors)
    }

    /// What the HTTP door answers.
    fn get(&self, path: &str, headers: &str) -> String {
        let address = self.said("HTTP").strip_prefix("http://").expect("an address");
        let mut stream = TcpStream::connect(address).expect("a connection");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n"
        )
        .expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

/// A key that was made, and what a server that is to know it is told.
fn made_key(namespace: &str, right: &str) -> (String, String) {
    let made = steadfast(&["key", "create", "--namespace", namespace, "--right", right]).output();
    let made = text(&made.expect("the binary starts").stdout);
    let word = |name: &str| made.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    let keys = word("environment").trim().strip_prefix("STEADFAST_KEYS='").expect("a variable");
    (word("key").trim().to_owned(), keys.trim_end_matches('\'').to_owned())
}

const FREE: [&str; 5] = ["serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"];

#[test]
fn it_says_what_it_has_and_stops_when_asked() {
    for signal in ["INT", "TERM"] {
        let db = folder(&format!("serve_{signal}")).join("a.db");
        let serving = Serving::start(steadfast(&FREE).arg("--db").arg(&db));
        assert_eq!(serving.said[0], format!("steadfast {}", env!("CARGO_PKG_VERSION")));
        assert_eq!(serving.said("data"), db.display().to_string());
        assert!(serving.said("gRPC").starts_with("127.0.0.1:"));
        assert!(serving.get("/healthz", "").starts_with("HTTP/1.1 200 OK"));
        let try_it = format!("steadfast workflow list --address {}", serving.said("gRPC"));
        assert_eq!(serving.said("try"), try_it);
        serving.signal(signal);
        assert_eq!(serving.stopped(), "", "nothing went wrong");
        let kept = fs::read(&db).expect("readable");
        assert!(kept.starts_with(b"SQLite format 3"), "a data file is there");
    }
}

#[test]
fn it_stops_well_though_nobody_listens_any_more() {
    let db = folder("serve_unheard").join("a.db");
    let Serving { mut child, lines, .. } = Serving::start(steadfast(&FREE).arg("--db").arg(&db));
    drop(lines);
    let kill = Command::new("kill").arg(child.id().to_string()).status().expect("kill starts");
    assert!(kill.success());
    let mut errors = Vec::new();
    child.stderr.take().expect("piped").read_to_end(&mut errors).expect("readable");
    assert_eq!(text(&errors), "");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a process takes to stop")]
fn it_stops_within_a_second_while_pollers_wait() {
    let db = folder("serve_pollers").join("a.db");
    let serving = Serving::start(steadfast(&FREE).arg("--db").arg(&db));
    let url = format!("http://{}", serving.said("gRPC"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let polls: Vec<_> = (0..50)
        .map(|_| {
            let endpoint = Endpoint::from_shared(url.clone()).expect("an address");
            runtime.spawn(async move {
                let channel = endpoint.connect().await.expect("a connection");
                let poll = PollWorkflowTaskQueueRequest {
                    namespace: "default".to_owned(),
                    task_queue: Some(TaskQueue { name: "q".to_owned(), ..TaskQueue::default() }),
                    ..PollWorkflowTaskQueueRequest::default()
                };
                WorkflowServiceClient::new(channel).poll_workflow_task_queue(poll).await
            })
        })
        .collect();
    let waiting = "steadfast_rpc_in_flight{method=\"PollWorkflowTaskQueue\"} 50\n";
    while !serving.get("/metrics", "").contains(waiting) {}

    let asked = Instant::now();
    serving.stop();
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(1), "it took {took:?}");
    for poll in polls {
        // As after any poll in vain: a worker is not to take it for a fault.
        let answer = runtime.block_on(poll).expect("no panic").expect("an answer").into_inner();
        assert_eq!(answer, PollWorkflowTaskQueueResponse::default());
    }
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let here = folder("precedence");
    let config =
        "db = \"file.db\"\ngrpc = \"127.0.0.1:0\"\nhttp = \"off\"\nlog-format = \"json\"\n";
    fs::write(here.join("steadfast.toml"), config).expect("writable");
    let data = |command: &mut Command| {
        let serving = Serving::start(command.current_dir(&here));
        let data = serving.said("data").to_owned();
        assert!(!serving.said.iter().any(|line| line.starts_with("HTTP")), "the file says off");
        serving.stop();
        data.rsplit('/').next().expect("a name").to_owned()
    };
    assert_eq!(data(&mut steadfast(&["serve"])), "file.db");
    assert_eq!(data(steadfast(&["serve"]).env("STEADFAST_DB", "env.db")), "env.db");
    let flag = &["serve", "--db", "flag.db"];
    assert_eq!(data(steadfast(flag).env("STEADFAST_DB", "env.db")), "flag.db");
}

#[test]
fn a_file_keeps_its_number_of_shards_and_what_is_in_it() {
    let db = folder("serve_shards").join("a.db");
    let serve = |flags: &[&str]| Serving::start(steadfast(&FREE).args(flags).arg("--db").arg(&db));
    let run = |serving: &Serving, args: &[&str]| {
        let output = steadfast(args).args(["--address", serving.said("gRPC")]).output();
        let output = output.expect("the binary starts");
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let first = serve(&["--shards", "7"]);
    for id in ["a", "b", "c", "d", "e"] {
        run(&first, &["workflow", "start", "--type", "T", "-t", "q", "-w", id]);
    }
    first.stop();
    for flags in [&[][..], &["--shards", "2"]] {
        let later = serve(flags);
        let cluster = run(&later, &["operator", "cluster", "describe"]);
        let shards = cluster.lines().find_map(|line| line.strip_prefix("Shards"));
        assert_eq!(shards.map(str::trim), Some("7"), "{cluster}");
        for id in ["a", "b", "c", "d", "e"] {
            run(&later, &["workflow", "signal", "-w", id, "--name", "hello"]);
        }
        later.stop();
    }
}

#[test]
fn an_address_and_a_file_are_waited_for_a_little() {
    let db = folder("serve_waiting").join("a.db");
    let held = Sqlite::open(&db, &sqlite::Options::default()).expect("a file");
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = other.local_addr().expect("an address").to_string();
    let mut command = steadfast(&["serve", "--http", "off", "--grpc", &taken]);
    command.arg("--db").arg(&db).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut told = BufReader::new(child.stderr.take().expect("piped")).lines();
    let mut next = || told.next().expect("another line").expect("text");
    let line = next();
    assert!(line.contains(&taken) && line.ends_with("waiting for it a little"), "{line}");
    drop(other);
    let line = next();
    assert!(line.contains("a.db is open in another process"), "{line}");
    drop(held);
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.any(|line| line.expect("text") == "press Ctrl-C to stop"));
    child.kill().expect("killed");
    child.wait().expect("it ends");
}

/// As in a script that kills one and starts the next, without waiting for the first to be gone.
#[test]
fn a_server_that_was_killed_is_replaced_at_once() {
    let db = folder("serve_replaced").join("a.db");
    let mut killed = Serving::start(steadfast(&FREE).arg("--db").arg(&db));
    let (grpc, http) = (killed.said("gRPC").to_owned(), killed.said("HTTP").to_owned());
    let http = http.strip_prefix("http://").expect("an address");
    for _ in 0..5 {
        killed.signal("KILL");
        let same = ["serve", "--grpc", &grpc, "--http", http];
        let next = Serving::start(steadfast(&same).arg("--db").arg(&db));
        killed.child.wait().expect("it ends");
        killed = next;
    }
    killed.stop();
}

#[test]
fn a_copy_is_made_while_a_server_is_at_work_and_can_be_served() {
    let here = folder("serve_copied");
    let config = "db = \"a.db\"\ngrpc = \"127.0.0.1:0\"\nhttp = \"off\"\n";
    fs::write(here.join("steadfast.toml"), config).expect("writable");
    let run = |args: &[&str]| {
        let output = steadfast(args).current_dir(&here).output().expect("the binary starts");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, _, error) = run(&["backup", "copy.db"]);
    assert_eq!(code, Some(1));
    assert!(
        error.starts_with("error: there is no data file ") && error.contains("a.db"),
        "{error}"
    );

    let serving = Serving::start(steadfast(&["serve"]).current_dir(&here));
    let address = serving.said("gRPC").to_owned();
    let start = |id: &str| {
        let start = ["workflow", "start", "--type", "T", "-t", "q", "-w", id];
        let (code, _, error) = run(&[&start[..], &["--address", &address]].concat());
        assert_eq!(code, Some(0), "{error}");
    };
    start("before");
    let (code, said, error) = run(&["backup", "copy.db"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(said.starts_with("copied ") && said.ends_with("copy.db\n"), "{said}");
    start("after");
    let (code, _, error) = run(&["backup", "copy.db"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("copy.db is there already"), "{error}");
    serving.stop();

    let copy = Serving::start(steadfast(&["serve", "--db", "copy.db"]).current_dir(&here));
    let (_, listed, _) = run(&["workflow", "list", "--address", copy.said("gRPC")]);
    assert!(listed.contains("before") && !listed.contains("after"), "{listed}");
    copy.stop();
    let of_closed = ["backup", "of-closed.db", "--db", "a.db", "--output", "json"];
    let (code, said, _) = run(&of_closed);
    assert_eq!(code, Some(0));
    assert!(said.contains("\"copy\": ") && said.contains("of-closed.db"), "{said}");
    assert!(here.join("of-closed.db").exists());
}

#[test]
fn a_file_that_another_server_has_is_refused_and_that_one_goes_on() {
    let db = folder("serve_twice").join("a.db");
    let first = Serving::start(steadfast(&FREE).arg("--db").arg(&db));
    let second = steadfast(&FREE).arg("--db").arg(&db).output().expect("the binary starts");
    assert_eq!(second.status.code(), Some(1));
    let said = text(&second.stderr);
    let id = first.child.id();
    let reason = format!("a.db is open in another process (process id {id}): stop that one first");
    assert!(said.contains(&reason), "{said}");
    let address = first.said("gRPC").to_owned();
    let start = ["workflow", "start", "--type", "T", "-t", "q", "--address", &address];
    assert!(steadfast(&start).output().expect("the binary starts").status.success());
    assert!(first.get("/healthz", "").starts_with("HTTP/1.1 200 OK"));
    first.signal("KILL");
    let mut killed = first;
    killed.child.wait().expect("it ends");
    Serving::start(steadfast(&FREE).arg("--db").arg(&db)).stop();
}

/// As somebody does who wants to begin anew and has not stopped the server.
#[test]
fn a_server_whose_file_is_removed_says_so_and_ends() {
    let db = folder("serve_removed").join("a.db");
    let mut old = Serving::start(steadfast(&FREE).arg("--db").arg(&db));
    for suffix in ["db", "db-wal", "db-shm", "db-lock"] {
        fs::remove_file(db.with_extension(suffix)).expect("it is there");
    }
    let new = Serving::start(steadfast(&FREE).arg("--db").arg(&db));
    let start = |serving: &Serving| {
        let start = ["workflow", "start", "--type", "T", "-t", "q", "-w", "w"];
        let command = &mut steadfast(&start);
        let output = command.args(["--address", serving.said("gRPC")]).output();
        output.expect("the binary starts")
    };
    assert!(start(&new).status.success());
    let refused = start(&old);
    assert_eq!(refused.status.code(), Some(4), "{}", text(&refused.stdout));
    let told = text(&refused.stderr);
    assert!(told.contains("a.db was removed, renamed or replaced"), "{told}");
    assert_eq!(old.child.wait().expect("it ends").code(), Some(1));
    let mut told = String::new();
    old.child.stderr.take().expect("piped").read_to_string(&mut told).expect("readable");
    let last = told.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: the data is lost to this server: /"), "{told}");
    new.signal("KILL");
    let mut killed = new;
    killed.child.wait().expect("it ends");

    let again = Serving::start(steadfast(&FREE).arg("--db").arg(&db));
    let list = ["workflow", "list", "--address", again.said("gRPC")];
    let listed = text(&steadfast(&list).output().expect("the binary starts").stdout);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    again.stop();
}

/// It was not written by a server, so that it is refused thereafter.
#[test]
fn data_of_an_older_release_is_brought_up_with_a_word() {
    let db = folder("serve_older").join("a.db");
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/tests/golden/v3/v3.db");
    fs::copy(old, &db).expect("a copy");
    let errors = || {
        let output = steadfast(&FREE).arg("--db").arg(&db).output().expect("the binary starts");
        text(&output.stderr)
    };
    let first = errors();
    assert!(
        first.contains("WARN") && first.contains("bringing the data to a newer schema"),
        "{first}"
    );
    assert!(first.contains("from=3 to="), "{first}");
    let second = errors();
    assert!(second.starts_with("error: cannot start on the data"), "{second}");
}

#[test]
fn keys_that_were_made_are_asked_for() {
    let (key, keys) = made_key("*", "read");
    let db = folder("serve_keys").join("a.db");
    let mut command = steadfast(&FREE);
    command.arg("--db").arg(&db).env("STEADFAST_KEYS", keys);
    let serving = Serving::start(&mut command);
    assert!(serving.get("/metrics", "").starts_with("HTTP/1.1 401"));
    let header = format!("authorization: Bearer {key}\r\n");
    assert!(serving.get("/metrics", &header).starts_with("HTTP/1.1 200"));
    serving.stop();
}

#[test]
fn what_is_logged_is_one_json_object_a_line_if_so_asked() {
    let db = folder("serve_json").join("a.db");
    let mut command = steadfast(&FREE);
    command.args(["--log-level", "info", "--log-format", "json", "--db"]).arg(&db);
    let serving = Serving::start(&mut command);
    let logged = serving.stop();
    assert!(!logged.is_empty(), "something is logged");
    for line in logged.lines() {
        assert!(line.starts_with("{\"timestamp\":") && line.ends_with('}'), "{line}");
    }
    assert!(logged.contains("open files"), "{logged}");
}
