//! A server on a free port, and the few calls that tests make of it.

mod clock;
pub(crate) mod noise;
pub(crate) mod raw;
mod words;

use std::{pin::Pin, sync::Arc, time::Duration};

use serde_json::Value;
use steadfast_engine::{Engine, Limits, Options};
use steadfast_proto::{clients::WorkflowServiceClient, workflowservice as ws};
use steadfast_server::{Options as Doors, Server};
use steadfast_store::{Memory, Sqlite, Store, sqlite};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::{
    Code, Request, Status,
    transport::{Channel, Endpoint},
};

pub(crate) use clock::StillClock;
pub(crate) use words::*;

pub(crate) const NAMESPACE: &str = "default";
pub(crate) const QUEUE: &str = "queue";

pub(crate) type Client = WorkflowServiceClient<Channel>;

/// A server with its engine.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) server: Server,
}

impl World {
    /// In memory, with the usual limits.
    pub(crate) async fn new() -> Self {
        Self::with(Limits::default(), doors()).await
    }

    pub(crate) async fn with(limits: Limits, doors: Doors) -> Self {
        Self::on(Arc::new(Memory::new()), limits, doors).await
    }

    pub(crate) async fn on_file(path: &std::path::Path) -> Self {
        let store = Sqlite::open(path, &sqlite::Options::default()).expect("a file");
        Self::on(Arc::new(store), Limits::default(), doors()).await
    }

    async fn on(store: Arc<dyn Store>, limits: Limits, doors: Doors) -> Self {
        let options = Options { limits, ..Options::default() };
        let engine = Engine::open(store, options).await.expect("an engine");
        let server = Server::open(engine.clone(), doors).await.expect("a server");
        Self { engine, server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.server.grpc())
    }

    /// A connection of its own.
    pub(crate) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(self.url()).expect("an address");
        endpoint.connect().await.expect("a connection")
    }

    /// A client with a connection of its own.
    pub(crate) async fn client(&self) -> Client {
        WorkflowServiceClient::new(self.channel().await)
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX)
    }

    /// What the HTTP door answers: the head and the body.
    pub(crate) async fn get(&self, path: &str, headers: &str) -> (String, String) {
        self.exchange("GET", path, headers, "").await
    }

    /// What the HTTP API answers: the status and the value.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        self.send(method, path, "content-type: application/json\r\n", body).await
    }

    /// The same with these headers.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> (u16, Value) {
        let (head, body) = self.exchange(method, path, headers, body).await;
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        (status, serde_json::from_str(&body).expect("JSON"))
    }

    /// What the HTTP door answers to a form: the head and the page.
    pub(crate) async fn post(&self, path: &str, headers: &str, body: &str) -> (String, String) {
        let form = "content-type: application/x-www-form-urlencoded\r\n";
        self.exchange("POST", path, &format!("{form}{headers}"), body).await
    }

    async fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> (String, String) {
        let address = self.server.http().expect("an HTTP door");
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let length = body.len();
        let host = format!("host: {address}\r\n");
        let host = if headers.starts_with("host: ") { "" } else { &host };
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}connection: close\r\n\
             content-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("it is sent");
        // Of what is too large not all is taken.
        let _ = stream.write_all(body.as_bytes()).await;
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head.to_owned(), body.to_owned())
    }

    /// One of the server's numbers; 0 if it is not told yet.
    pub(crate) async fn number(&self, name: &str) -> u64 {
        let (_, page) = self.get("/metrics", "").await;
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0, |number| number.parse().expect("a number"))
    }

    /// Waits until one of the server's numbers is this.
    pub(crate) async fn until(&self, name: &str, number: u64) {
        soon(async { while self.number(name).await != number {} }).await;
    }

    /// Runs a workflow from its start to its end: whatever went before, the server works.
    pub(crate) async fn works(&self, workflow_id: &str) {
        let mut client = self.client().await;
        let queue_name = format!("of {workflow_id}");
        let start = ws::StartWorkflowExecutionRequest {
            task_queue: Some(queue(&queue_name)),
            ..start(workflow_id)
        };
        client.start_workflow_execution(start).await.expect("a start");
        let task = client.poll_workflow_task_queue(task_poll(&queue_name)).await.expect("a poll");
        let task = task.into_inner();
        client.respond_workflow_task_completed(complete(&task, "done")).await.expect("an answer");
        let closed = ws::GetWorkflowExecutionHistoryRequest {
            wait_new_event: true,
            history_event_filter_type: 2,
            ..history(workflow_id)
        };
        let answer = client.get_workflow_execution_history(closed).await.expect("a history");
        let events = answer.into_inner().history.expect("a history").events;
        assert_eq!(events.len(), 1, "the close event");
    }
}

/// Sets fields of a request, beside the namespace.
macro_rules! request {
    ($kind:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        steadfast_proto::workflowservice::$kind {
            namespace: $crate::common::NAMESPACE.to_owned(),
            $($field $(: $value)?,)*
            ..steadfast_proto::workflowservice::$kind::default()
        }
    };
}
pub(crate) use request;

/// Doors on free ports.
pub(crate) fn doors() -> Doors {
    let free = "127.0.0.1:0".parse().expect("an address");
    Doors { grpc: free, http: vec![free], ..Doors::default() }
}

/// A request whose sender waits for so long.
pub(crate) fn within<M>(span: Duration, message: M) -> Request<M> {
    let mut request = Request::new(message);
    request.set_timeout(span);
    request
}

/// What comes, if it comes in time: a test that waits longer has failed.
#[expect(clippy::disallowed_methods, reason = "a server in the machine's own time")]
pub(crate) fn soon<'a, T: 'a>(
    wait: impl Future<Output = T> + 'a,
) -> Pin<Box<dyn Future<Output = T> + 'a>> {
    let wait = Box::pin(wait);
    Box::pin(async {
        tokio::time::timeout(Duration::from_secs(20), wait).await.expect("it comes soon")
    })
}

pub(crate) fn code_and_text(status: &Status) -> (Code, &str) {
    (status.code(), status.message())
}
