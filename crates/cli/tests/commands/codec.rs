//! Workers with a codec, and commands with a codec server: both see what nobody else does.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use insta::assert_snapshot;
use serde_json::{Value, json};
use steadfast::{App, Failure, PayloadCodec, StateCell, WorkflowContext};
use steadfast_proto::{common::Payload, prost::Message as _};
use tokio::runtime::Builder;

use crate::rig::Dev;

type Coded = Result<Payload, Box<dyn std::error::Error + Send + Sync>>;

/// What a worker and the codec server have in common.
#[derive(Clone, Copy)]
struct Mask;

fn masked(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ 0x55).collect()
}

impl PayloadCodec for Mask {
    fn encode(&self, payload: Payload) -> Coded {
        Ok(Payload::encoded("binary/masked", masked(&payload.encode_to_vec())))
    }

    fn decode(&self, payload: Payload) -> Coded {
        if payload.metadata.get("encoding").is_none_or(|it| it != b"binary/masked") {
            return Ok(payload);
        }
        Ok(Payload::decode(masked(&payload.data).as_slice())?)
    }
}

/// A codec server, and the heads of the requests that it had.
struct CodecServer {
    address: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl CodecServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("one"));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&heads);
        // It ends with the process of the test.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let head = answer(stream.expect("a connection"));
                noted.lock().expect("notes").push(head);
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> String {
        self.heads.lock().expect("notes").join("")
    }
}

/// Answers one request; gives its head.
fn answer(stream: TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if line.trim().is_empty() {
            break;
        }
        if let Some(said) = line.to_lowercase().strip_prefix("content-length:") {
            length = said.trim().parse().expect("a number");
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let mut asked: Value = serde_json::from_slice(&body).expect("JSON");
    for payload in asked["payloads"].as_array_mut().expect("payloads") {
        let read = read(payload);
        let changed = if head.contains("/decode ") { Mask.decode(read) } else { Mask.encode(read) };
        *payload = written(&changed.expect("it can"));
    }
    let said = asked.to_string();
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{said}", said.len());
    reader.get_mut().write_all(answer.as_bytes()).expect("told");
    head
}

fn read(payload: &Value) -> Payload {
    let bytes = |it: &Value| BASE64_STANDARD.decode(it.as_str().expect("text")).expect("base64");
    let metadata = payload["metadata"].as_object().expect("metadata").iter();
    let metadata = metadata.map(|(key, it)| (key.clone(), bytes(it))).collect();
    Payload { metadata, data: bytes(&payload["data"]), ..Payload::default() }
}

fn written(payload: &Payload) -> Value {
    let text = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    let metadata: BTreeMap<_, _> =
        payload.metadata.iter().map(|(key, it)| (key.to_owned(), text(it))).collect();
    json!({ "metadata": metadata, "data": text(&payload.data) })
}

async fn collect(ctx: WorkflowContext, first: String) -> Result<Vec<String>, Failure> {
    let all = StateCell::new(vec![first]);
    let (shown, kept) = (all.clone(), all.clone());
    ctx.on_query("all", move |before: String| format!("{before}{}", shown.get().join("+")));
    ctx.on_update("add", move |_: WorkflowContext, word: String| {
        let kept = kept.clone();
        async move {
            kept.change(|all| all.push(word));
            Ok::<_, Failure>(kept.get().len())
        }
    });
    let last: String = ctx.signals("last").receive().await?;
    ctx.upsert_memo("last", &last)?;
    all.change(|all| all.push(last));
    Ok(all.get())
}

#[test]
fn commands_read_and_write_what_workers_encode() {
    let dev = Dev::start();
    let codec = CodecServer::start();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("one");
    let app = App::builder(&dev.address).task_queue("words").workflow(collect).payload_codec(Mask);
    let app = runtime.block_on(app.start()).expect("a worker");
    let coded = |args: &[&str]| {
        let place = format!("{}/codec/{{namespace}}/", codec.address);
        let flags = ["--codec-endpoint", &place, "--codec-auth", "Bearer key"];
        dev.says(&[args, &flags].concat())
    };

    let start =
        ["workflow", "start", "--type", "collect", "-t", "words", "-w", "w", "-i", "\"one\""];
    assert_snapshot!(coded(&start), @"started workflow w, run <id>");
    let update = ["workflow", "update", "execute", "-w", "w", "--name", "add", "-i", "\"two\""];
    assert_snapshot!(coded(&update), @"2");
    let query = ["workflow", "query", "-w", "w", "--type", "all", "-i", "\"= \""];
    assert_snapshot!(coded(&query), @r#""= one+two""#);
    coded(&["workflow", "signal", "-w", "w", "--name", "last", "-i", "\"three\""]);
    let result = ["workflow", "result", "-w", "w"];
    assert_snapshot!(coded(&result), @r#"["one","two","three"]"#);
    let shown = coded(&["workflow", "show", "-w", "w"]);
    let words = ["input \"one\"", "input \"three\"", "result [\"one\",\"two\",\"three\"]"];
    assert!(words.iter().all(|word| shown.contains(word)), "{shown}");
    assert!(coded(&["workflow", "describe", "-w", "w"]).contains("last = \"three\""));

    // Without it, nothing of it is to be seen.
    let bare = dev.says(&["workflow", "show", "-w", "w"]);
    assert!(
        !["one", "two", "three"].iter().any(|word| bare.contains(&format!("\"{word}\""))),
        "{bare}"
    );
    let heads = codec.heads();
    assert!(heads.contains("POST /codec/default/encode HTTP/1.1"), "{heads}");
    assert!(heads.contains("x-namespace: default\r\n"), "{heads}");
    assert!(heads.contains("authorization: Bearer key\r\n"), "{heads}");
    runtime.block_on(app.shutdown());
}

#[test]
fn a_codec_server_that_does_not_answer_is_named_and_nothing_is_sent() {
    let dev = Dev::start();
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
    let place = format!("http://127.0.0.1:{port}");
    let start = ["workflow", "start", "--type", "Order", "-t", "orders", "-w", "w", "-i", "1"];
    let (code, error) = dev.refuses(&[&start[..], &["--codec-endpoint", &place]].concat());
    assert_eq!(code, 4);
    assert!(error.starts_with(&format!("error: the codec server at 127.0.0.1:{port}")), "{error}");
    assert!(error.contains("--codec-endpoint"), "{error}");
    assert_eq!(dev.says(&["workflow", "count"]).trim(), "0");
    // What has no payloads needs no codec.
    dev.says(&["workflow", "list", "--codec-endpoint", &place]);

    let (code, error) = dev.refuses(&["workflow", "list", "--codec-endpoint", "codec:80"]);
    assert_eq!(code, 2);
    let wrong = "error: --codec-endpoint \"codec:80\" is not an address with http:// or https://";
    assert_eq!(error.trim(), wrong);
}
