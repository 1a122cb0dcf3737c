//! Whoever knocks at the wrong door is told which one is right.
//!
//! An SDK at the address of the pages, a browser at that of SDKs, and either of them without TLS where
//! there is no other way in, or with it where there is none: each would otherwise see a connection that
//! breaks off, and have to guess.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::{Response, StatusCode, header};
use hyper::{
    body,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::watch,
};
use tonic::{Status, metadata::MetadataValue};

use crate::{
    knock::Speaks,
    listen::{self, Connection, Encryption, Incoming},
};

/// What is said to those who are wrong at a door.
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    /// What the door is not for.
    stranger: Speaks,
    elsewhere: Arc<str>,
    has_noted_tls: Arc<AtomicBool>,
}

impl Directions {
    /// At the door for SDKs, where the pages are elsewhere or nowhere.
    pub(crate) fn to_pages(pages: Option<SocketAddr>) -> Self {
        let pages = match pages {
            Some(at) => format!("Pages for a browser are {}", place("http://", at)),
            None => "This server has no pages for a browser".to_owned(),
        };
        let elsewhere = format!("SDKs connect here, over gRPC. {pages}").into();
        Self { stranger: Speaks::Http1, elsewhere, has_noted_tls: Arc::default() }
    }

    /// At the door for browsers, where that for SDKs is elsewhere.
    pub(crate) fn to_grpc(grpc: SocketAddr) -> Self {
        let elsewhere = format!("here are pages for a browser; SDKs connect {}", place("", grpc));
        let elsewhere = elsewhere.into();
        Self { stranger: Speaks::Http2, elsewhere, has_noted_tls: Arc::default() }
    }

    /// Has every connection attended that is right here, and tells the others, until `stop`; and then until
    /// each is done.
    pub(crate) async fn attend_all<A: Future<Output = ()> + Send + 'static>(
        self,
        incoming: Incoming,
        stop: watch::Receiver<bool>,
        attend: impl Fn(Connection, watch::Receiver<bool>) -> A + Clone + Send + 'static,
    ) {
        listen::attend_all(incoming, stop, |connection, stop| {
            let (directions, attend) = (self.clone(), attend.clone());
            async move {
                if let Some(connection) = directions.tell(connection, &stop).await {
                    attend(connection, stop).await;
                }
            }
        })
        .await;
    }

    /// Tells a client that it is wrong here, if it is; gives it back if it is not.
    async fn tell(
        &self,
        connection: Connection,
        stop: &watch::Receiver<bool>,
    ) -> Option<Connection> {
        let is_stranger = connection.speaks() == self.stranger;
        let words = match connection.encryption() {
            Encryption::Agreed if is_stranger => Arc::clone(&self.elsewhere),
            Encryption::Agreed => return Some(connection),
            Encryption::Missing => ENCRYPTED.into(),
            Encryption::Unknown => {
                self.note_tls();
                NOT_ENCRYPTED.into()
            }
        };
        tracing::debug!("a client was turned away: {words}");
        // Few are turned away, and those who are not should not carry room for it.
        let telling: Pin<Box<dyn Future<Output = ()> + Send>> = match connection.speaks() {
            Speaks::Http1 => Box::pin(tell_browser(connection, words, stop.clone())),
            Speaks::Http2 => Box::pin(tell_sdk(connection, words, stop.clone())),
            Speaks::Tls | Speaks::Unknown => Box::pin(tell_anybody(connection, words)),
        };
        telling.await;
        None
    }

    /// What such a client is told says little to people, and it comes again and again: so the log tells
    /// it, once.
    fn note_tls(&self) {
        if !self.has_noted_tls.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a client speaks TLS, and this server does not: set tls-cert and tls-key, or have the \
                 client connect without (an SDK that has an API key may speak TLS if nobody says \
                 otherwise)"
            );
        }
    }
}

/// Where a door is, for somebody who may know the machine by another address.
fn place(scheme: &str, address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        format!("on port {}", address.port())
    } else {
        format!("at {scheme}{address}")
    }
}

async fn tell_browser(connection: Connection, words: Arc<str>, stop: watch::Receiver<bool>) {
    let service = service_fn(|_: http::Request<body::Incoming>| {
        let mut response = Response::new(format!("{words}\n"));
        *response.status_mut() = StatusCode::MISDIRECTED_REQUEST;
        response.headers_mut().insert(header::CONTENT_TYPE, TEXT);
        async { Ok::<_, Infallible>(response) }
    });
    let telling = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        .serve_connection(TokioIo::new(connection), service);
    // Whoever goes without listening knows no less than before.
    let _ = listen::serve(telling, stop, http1::Connection::graceful_shutdown).await;
}

async fn tell_sdk(connection: Connection, words: Arc<str>, stop: watch::Receiver<bool>) {
    let service = service_fn(|_: http::Request<body::Incoming>| {
        // Not one that SDKs try again after.
        let mut status = Status::failed_precondition(&*words);
        status.metadata_mut().insert(WRONG_DOOR, MetadataValue::from_static("1"));
        let response = status.into_http::<String>();
        async { Ok::<_, Infallible>(response) }
    });
    let telling = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PATIENCE)
        .keep_alive_timeout(PATIENCE)
        .serve_connection(TokioIo::new(connection), service);
    let _ = listen::serve(telling, stop, http2::Connection::graceful_shutdown).await;
}

/// The header of an answer to a call at the wrong door. (To a request of a browser the status says it.)
pub const WRONG_DOOR: &str = "steadfast-wrong-door";

/// What is not TLS is known by clients of TLS for what it is: that of a server without.
#[expect(clippy::disallowed_methods, reason = "the sockets live in the machine's own time")]
async fn tell_anybody(mut connection: Connection, words: Arc<str>) {
    let telling = async {
        // Closed with something unread, a connection takes back what was said.
        let mut heard = vec![0; 16 * 1024];
        let _ = connection.read(&mut heard).await?;
        let plain = format!("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n{words}\n");
        connection.write_all(plain.as_bytes()).await?;
        connection.shutdown().await?;
        while connection.read(&mut heard).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = tokio::time::timeout(PARTING, telling).await;
}

const ENCRYPTED: &str = "this server speaks TLS: connect with it";
const NOT_ENCRYPTED: &str = "this server does not speak TLS: connect without";
const TEXT: http::HeaderValue = http::HeaderValue::from_static("text/plain; charset=utf-8");
/// How long a client may take to say what it wanted, or that it is there.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to hear that it is not understood.
const PARTING: Duration = Duration::from_secs(1);
