//! Whatever comes in: nobody else is harmed, and the data stays whole.

use std::{sync::Arc, time::Duration};

use steadfast_proto::workflowservice as ws;
use steadfast_server::{OPERATOR, State, WORKFLOW};
use steadfast_store::sqlite::{Check, Options};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::common::{
    NAMESPACE, World, execution, history, noise::Noise, payloads, raw, soon, start,
};

/// The seed of this run: `STEADFAST_SEED` repeats one.
#[expect(clippy::print_stdout, reason = "whoever sees the test fail needs the seed")]
fn seed() -> u64 {
    let given = std::env::var("STEADFAST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
    println!("STEADFAST_SEED={seed}");
    seed
}

#[tokio::test(flavor = "multi_thread")]
async fn any_messages_to_any_rpc_leave_the_server_at_work_and_its_data_whole() {
    let seed = seed();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data.db");
    let world = World::on_file(&path).await;
    // Something for the messages to hit.
    world.client().await.start_workflow_execution(start("it")).await.expect("a start");
    let channel = world.channel().await;
    let room = Arc::new(tokio::sync::Semaphore::new(16));
    let mut noise = Noise::new(seed);
    let mut calls = tokio::task::JoinSet::new();
    for round in 0..30 {
        for rpcs in [WORKFLOW, OPERATOR] {
            let served = rpcs.rpcs.iter().filter(|rpc| matches!(rpc.state, State::Served(_)));
            // It would do what it is for, and everything else would miss.
            for rpc in served.filter(|rpc| rpc.name() != "DeleteNamespace") {
                let (package, _) = rpcs.service.rsplit_once('.').expect("a full name");
                let message = match round % 5 {
                    0 => noise.bytes(200),
                    _ => noise.message(&format!(".{package}.{}Request", rpc.name()), 5),
                };
                let path = format!("/{}/{}", rpcs.service, rpc.name());
                let (channel, room) = (channel.clone(), Arc::clone(&room));
                calls.spawn(async move {
                    let _room = room.acquire_owned().await;
                    let span = Duration::from_millis(50);
                    // Any answer will do.
                    let _ = raw::call_within(&channel, path, message, span).await;
                });
            }
        }
    }
    calls.join_all().await;

    world.works("after").await;
    world.server.stop().await;
    world.engine.store().close().await.expect("closed");
    drop(world.engine);
    let options = Options { check: Check::Always, ..Options::default() };
    drop(steadfast_store::Sqlite::open(&path, &options).expect("every page is whole"));
    let world = World::on_file(&path).await;
    world.works("after a restart").await;
}

#[tokio::test]
async fn any_bytes_on_the_ports_harm_nobody() {
    let world = World::new().await;
    let mut noise = Noise::new(seed());
    let beginnings: [&[u8]; 5] = [
        b"",
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        PREFACE,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x40\x00\x01\x05\x00\x00\x00\x01",
    ];
    for round in 0..100 {
        let beginning = beginnings.get(round % beginnings.len()).expect("one of them");
        for address in [Some(world.server.grpc()), world.server.http()].into_iter().flatten() {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            // The server may have had enough in the middle.
            let _ = stream.write_all(beginning).await;
            let _ = stream.write_all(&noise.bytes(20_000)).await;
            let _ = stream.shutdown().await;
            let _ = soon(stream.read_to_end(&mut Vec::new())).await;
        }
    }
    world.works("order-1").await;
    let (head, _) = world.get("/healthz", "").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_idle_connections_harm_nobody() {
    // Both ends of each are in this process, and the other tests need some, too.
    let count = (open_files_max().saturating_sub(3_000) / 2).min(10_000);
    println!("{count} idle connections");
    let world = World::new().await;
    let mut idle = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(world.server.grpc()).await.expect("a connection");
        stream.write_all(PREFACE).await.expect("it is sent");
        idle.push(stream);
    }
    world.until("steadfast_grpc_connections", count).await;
    for number in 0..20 {
        soon(world.works(&format!("order-{number}"))).await;
    }
    drop(idle);
    world.until("steadfast_grpc_connections", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_do_not_read_what_they_asked_for_harm_nobody() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    for _ in 0..8 {
        let signal = ws::SignalWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_execution: Some(execution("order-1")),
            signal_name: "more".to_owned(),
            input: Some(payloads(vec![b'a'; 1_500_000])),
            ..ws::SignalWorkflowExecutionRequest::default()
        };
        client.signal_workflow_execution(signal).await.expect("taken");
    }
    let mut unread = Vec::new();
    for _ in 0..20 {
        let channel = world.channel().await;
        let path = format!("/{}/GetWorkflowExecutionHistory", WORKFLOW.service);
        unread
            .push(raw::call_unread(&channel, path, &history("order-1")).await.expect("an answer"));
    }
    for number in 0..20 {
        soon(world.works(&format!("other-{number}"))).await;
    }
    let (mut request, mut events) = (history("order-1"), 0);
    loop {
        let read = soon(client.get_workflow_execution_history(request.clone())).await;
        let page = read.expect("a page").into_inner();
        events += page.history.expect("a history").events.len();
        request.next_page_token = page.next_page_token;
        if request.next_page_token.is_empty() {
            break;
        }
    }
    assert_eq!((events, unread.len()), (10, 20));
}

/// What an HTTP/2 client begins with: that it speaks it, and settings of which there are none.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

/// How many files this process may open, connections among them.
fn open_files_max() -> u64 {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    soft.and_then(|text| text.parse().ok()).unwrap_or(4_000)
}
