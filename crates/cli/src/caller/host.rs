//! Somebody who answers HTTP, and a request and its answer on a connection of their own.

use anyhow::Result;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::tls::Secured;

/// Somebody who answers HTTP.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// As `host:port`.
    pub(crate) address: String,
    /// How to be sure of them, if that is wanted.
    pub(crate) secured: Option<Secured>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Silence {
    /// Nobody is there.
    Unreachable(std::io::Error),
    /// They are not who they should be.
    Untrusted(anyhow::Error),
    /// They broke off.
    Broken(hyper::Error),
}

impl Host {
    /// Asks, and hears the whole answer.
    pub(crate) async fn ask(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), Silence> {
        let stream = TcpStream::connect(&self.address).await.map_err(Silence::Unreachable)?;
        match &self.secured {
            None => exchange(TokioIo::new(stream), request).await.map_err(Silence::Broken),
            Some(secured) => {
                let stream = secured.connect(stream).await.map_err(Silence::Untrusted)?;
                exchange(TokioIo::new(stream), request).await.map_err(Silence::Broken)
            }
        }
    }
}

async fn exchange<I>(io: I, request: Request<Full<Bytes>>) -> hyper::Result<(StatusCode, Bytes)>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(io).await?;
    // It carries the answer's body, too; it ends with the connection.
    tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    let status = response.status();
    Ok((status, response.into_body().collect().await?.to_bytes()))
}
