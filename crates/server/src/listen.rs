//! Sockets that take connections, plain or encrypted.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::{AbortHandle, JoinSet},
};
use tokio_rustls::server::TlsStream;
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};

use crate::{
    knock::Speaks,
    metrics::{Connected, Metrics},
    tls::Tls,
};

/// A door's address could not be taken.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct BindError {
    /// Where it was to listen.
    pub address: SocketAddr,
    /// Why it cannot. Not its source: it has said so.
    pub error: io::Error,
}

/// One address to knock at, made of one socket or two.
///
/// Clients that are told `localhost` may try both `127.0.0.1` and `::1`, and some open a connection
/// to each; so a listener on one loopback address is on the other one, too, where there is one.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    sockets: Vec<TcpListener>,
}

impl Listener {
    /// Takes an address. Port 0 takes any free port.
    pub(crate) async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        let failed = |error| BindError { address, error };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let mut sockets = vec![socket];
        if let Some(twin) = loopback_twin(address) {
            // A machine without the other protocol is served on the one that it has.
            sockets.extend(TcpListener::bind(twin).await);
        }
        Ok(Self { address, sockets })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connections, as they come. Nothing is accepted any more once the stream is dropped.
    pub(crate) fn incoming(self, welcome: &Welcome) -> Incoming {
        let (sender, connections) = mpsc::channel(ACCEPTED_AHEAD);
        let accepting = self
            .sockets
            .into_iter()
            .map(|socket| tokio::spawn(accept(socket, welcome.clone(), sender.clone())))
            .map(|task| task.abort_handle())
            .collect();
        Incoming { connections: ReceiverStream::new(connections), accepting }
    }
}

/// How a connection is received.
#[derive(Clone, Debug)]
pub(crate) struct Welcome {
    /// The certificates, if it is to be encrypted.
    pub(crate) tls: Option<Arc<Tls>>,
    /// Where it is counted, if it is.
    pub(crate) metrics: Option<Arc<Metrics>>,
}

impl Welcome {
    #[expect(clippy::disallowed_methods, reason = "the sockets live in the machine's own time")]
    async fn receive(self, stream: TcpStream) -> io::Result<Connection> {
        // Small answers must not wait for an acknowledgement of earlier ones.
        let _ = stream.set_nodelay(true);
        let counted = self.metrics.as_ref().map(Metrics::connection);
        // Whoever says nothing for long is let in, and waited for there.
        let first = tokio::time::timeout(GREETING, Speaks::by(&stream)).await;
        let speaks = first.unwrap_or(Ok(Speaks::Unknown))?;
        let encryption = match (&self.tls, speaks) {
            (Some(_), Speaks::Http1 | Speaks::Http2) => Encryption::Missing,
            (None, Speaks::Tls) => Encryption::Unknown,
            (Some(_) | None, _) => Encryption::Agreed,
        };
        let stream = match self.tls {
            Some(tls) if encryption == Encryption::Agreed => {
                let greeting = tls.acceptor().accept(stream);
                let greeted = tokio::time::timeout(GREETING, greeting).await;
                Stream::Tls(Box::new(greeted.map_err(io::Error::other)??))
            }
            Some(_) | None => Stream::Plain(stream),
        };
        Ok(Connection { stream, speaks, encryption, _counted: counted })
    }
}

/// The connections of a listener.
#[derive(Debug)]
pub(crate) struct Incoming {
    connections: ReceiverStream<io::Result<Connection>>,
    accepting: Vec<AbortHandle>,
}

impl tokio_stream::Stream for Incoming {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.connections).poll_next(context)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        for accepting in &self.accepting {
            accepting.abort();
        }
    }
}

/// Has every connection attended until `stop`, and then until each is done.
pub(crate) async fn attend_all<A: Future<Output = ()> + Send + 'static>(
    mut incoming: Incoming,
    mut stop: watch::Receiver<bool>,
    attend: impl Fn(Connection, watch::Receiver<bool>) -> A,
) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = asked(&mut stop) => break,
            Some(_) = open.join_next() => {}
            connection = incoming.next() => match connection {
                Some(Ok(connection)) => _ = open.spawn(attend(connection, stop.clone())),
                Some(Err(_)) => {}
                None => break,
            },
        }
    }
    drop(incoming);
    open.join_all().await;
}

/// Serves a connection until `stop`, and then until what is under way on it is done: `finish` says so
/// to it.
pub(crate) async fn serve<C: Future>(
    connection: C,
    mut stop: watch::Receiver<bool>,
    finish: impl FnOnce(Pin<&mut C>),
) -> C::Output {
    let mut serving = pin!(connection);
    tokio::select! {
        ended = serving.as_mut() => ended,
        () = asked(&mut stop) => {
            finish(serving.as_mut());
            serving.await
        }
    }
}

/// Waits until the server is asked to stop, or left alone.
pub(crate) async fn asked(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|asked| *asked).await;
}

/// A connection, counted for as long as it is there.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    speaks: Speaks,
    encryption: Encryption,
    _counted: Option<Connected>,
}

impl Connection {
    /// What its first bytes were in.
    pub(crate) fn speaks(&self) -> Speaks {
        self.speaks
    }

    /// Whether client and door are of one mind about encryption.
    pub(crate) fn encryption(&self) -> Encryption {
        self.encryption
    }
}

/// Whether a client and a door are of one mind about encryption.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Encryption {
    Agreed,
    /// The door has it, and the client comes without.
    Missing,
    /// The client has it, and the door knows none.
    Unknown,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the sockets live in the machine's own time")]
async fn accept(
    socket: TcpListener,
    welcome: Welcome,
    connections: mpsc::Sender<io::Result<Connection>>,
) {
    loop {
        let stream = match socket.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file handles, mostly: the ones who are in go on, and end some day.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        if connections.is_closed() {
            return;
        }
        // Each in its own task: one that greets slowly keeps nobody waiting.
        tokio::spawn(greet(stream, welcome.clone(), connections.clone()));
    }
}

async fn greet(
    stream: TcpStream,
    welcome: Welcome,
    connections: mpsc::Sender<io::Result<Connection>>,
) {
    let received = tokio::select! {
        received = welcome.receive(stream) => received,
        () = connections.closed() => return,
    };
    match received {
        // The door that it was for may be closed by now.
        Ok(connection) => drop(connections.send(Ok(connection)).await),
        Err(error) => tracing::debug!(%error, "a client could not be greeted"),
    }
}

fn loopback_twin(address: SocketAddr) -> Option<SocketAddr> {
    let twin = match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V4(_) | IpAddr::V6(_) => return None,
    };
    Some(SocketAddr::new(twin, address.port()))
}

/// How many accepted connections may be on their way to the door at once.
const ACCEPTED_AHEAD: usize = 64;
/// How long to wait after a connection could not be accepted: the cause rarely ends at once.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// How long a client may take to say anything, and then to agree on encryption.
const GREETING: Duration = Duration::from_secs(10);
