//! Clients that knock at the wrong door, and are told which one is right.

use std::net::SocketAddr;

use steadfast_engine::Limits;
use steadfast_proto::{clients::WorkflowServiceClient, workflowservice as ws};
use steadfast_server::Options as Doors;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::{Code, Status, transport::Endpoint};

use crate::common::{World, code_and_text, doors};

/// What a browser is shown there.
pub(crate) async fn browse(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut shown = String::new();
    stream.read_to_string(&mut shown).await.expect("text");
    shown
}

/// What an SDK that connects there is told.
pub(crate) async fn connect(address: SocketAddr) -> Status {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    let mut client = WorkflowServiceClient::new(endpoint.connect_lazy());
    let asked = client.get_system_info(ws::GetSystemInfoRequest::default()).await;
    asked.expect_err("it is the wrong door")
}

#[tokio::test]
async fn a_browser_at_the_door_for_sdks_is_told_where_the_pages_are() {
    let world = World::new().await;
    let pages = world.server.http().expect("pages");
    for request in ["GET / HTTP/1.1\r\nhost: here\r\n\r\n", "POST /x HTTP/1.0\r\n\r\n"] {
        let shown = browse(world.server.grpc(), request).await;
        assert!(shown.contains(" 421 Misdirected Request\r\n"), "{shown}");
        let words =
            format!("SDKs connect here, over gRPC. Pages for a browser are at http://{pages}\n");
        assert!(shown.ends_with(&words), "{shown}");
    }
    world.works("order-1").await;
}

#[tokio::test]
async fn or_that_there_are_none() {
    let world = World::with(Limits::default(), Doors { http: Vec::new(), ..doors() }).await;
    let shown = browse(world.server.grpc(), "GET / HTTP/1.1\r\nhost: here\r\n\r\n").await;
    assert!(shown.ends_with("This server has no pages for a browser\n"), "{shown}");
}

#[tokio::test]
async fn an_sdk_at_the_door_for_browsers_is_told_where_to_connect() {
    let world = World::new().await;
    let told = connect(world.server.http().expect("pages")).await;
    let words = format!("here are pages for a browser; SDKs connect at {}", world.server.grpc());
    assert_eq!(code_and_text(&told), (Code::FailedPrecondition, words.as_str()));
}

#[tokio::test]
async fn who_speaks_tls_where_there_is_none_gets_something_that_is_not() {
    let world = World::new().await;
    let hello = format!("\u{16}\u{3}\u{1}{}", "\0".repeat(300));
    for address in [world.server.grpc(), world.server.http().expect("pages")] {
        let told = browse(address, &hello).await;
        assert!(told.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{told}");
        assert!(told.ends_with("this server does not speak TLS: connect without\n"), "{told}");
    }
    world.works("order-1").await;
}
