//! Sockets that take connections.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::AbortHandle,
};
use tokio_stream::wrappers::ReceiverStream;

/// A door's address could not be taken.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct BindError {
    /// Where it was to listen.
    pub address: SocketAddr,
    /// Why it cannot.
    #[source]
    pub error: io::Error,
}

/// One address to knock at, made of one socket or two.
///
/// Clients that are told `localhost` may try both `127.0.0.1` and `::1`, and some open a connection
/// to each; so a listener on one loopback address is on the other one, too, where there is one.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    sockets: Vec<TcpListener>,
}

impl Listener {
    /// Takes an address. Port 0 takes any free port.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
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
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The connections, as they come. Nothing is accepted any more once the stream is dropped.
    pub(crate) fn incoming(self) -> Incoming {
        let (sender, connections) = mpsc::channel(ACCEPTED_AHEAD);
        let accepting = self
            .sockets
            .into_iter()
            .map(|socket| tokio::spawn(accept(socket, sender.clone())).abort_handle())
            .collect();
        Incoming { connections: ReceiverStream::new(connections), accepting }
    }
}

/// The connections of a listener.
#[derive(Debug)]
pub(crate) struct Incoming {
    connections: ReceiverStream<io::Result<TcpStream>>,
    accepting: Vec<AbortHandle>,
}

impl tokio_stream::Stream for Incoming {
    type Item = io::Result<TcpStream>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::pin::Pin::new(&mut self.connections).poll_next(context)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        for accepting in &self.accepting {
            accepting.abort();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the sockets live in the machine's own time")]
async fn accept(socket: TcpListener, connections: mpsc::Sender<io::Result<TcpStream>>) {
    loop {
        match socket.accept().await {
            Ok((connection, _)) => {
                // Small answers must not wait for an acknowledgement of earlier ones.
                let _ = connection.set_nodelay(true);
                if connections.send(Ok(connection)).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                // Out of file handles, mostly: the ones who are in go on, and end some day.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
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

/// How many accepted connections may wait for the door.
const ACCEPTED_AHEAD: usize = 64;
/// How long to wait after a connection could not be accepted: the cause rarely ends at once.
const ACCEPT_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);
