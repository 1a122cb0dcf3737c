//! What a client speaks, as far as its first bytes tell.
//!
//! They are looked at and left where they are, so that a client that has come to the wrong door can be
//! told so in its own language.

use std::io;

use tokio::net::TcpStream;

/// What a client speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Speaks {
    /// As browsers do before anything is agreed upon.
    Http1,
    /// As SDKs do.
    Http2,
    Tls,
    /// Something else, or it has not said enough.
    Unknown,
}

impl Speaks {
    /// Waits for the first bytes.
    pub(crate) async fn by(stream: &TcpStream) -> io::Result<Self> {
        let mut bytes = [0; 3];
        let length = stream.peek(&mut bytes).await?;
        Ok(Self::with(bytes.get(..length).unwrap_or_default()))
    }

    fn with(first: &[u8]) -> Self {
        match first {
            b"PRI" => Self::Http2,
            [TLS_HANDSHAKE, ..] => Self::Tls,
            // A method: no two letters of it are those above.
            [a, b, _] if a.is_ascii_uppercase() && b.is_ascii_uppercase() => Self::Http1,
            _ => Self::Unknown,
        }
    }
}

const TLS_HANDSHAKE: u8 = 0x16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell() {
        for (first, expected) in [
            (&b"PRI"[..], Speaks::Http2),
            (b"GET", Speaks::Http1),
            (b"POS", Speaks::Http1),
            (b"PUT", Speaks::Http1),
            (&[0x16, 3, 1], Speaks::Tls),
            (&[0x16], Speaks::Tls),
            (b"PR", Speaks::Unknown),
            (b"", Speaks::Unknown),
            (b"hi!", Speaks::Unknown),
            (&[0, 0, 18], Speaks::Unknown),
        ] {
            assert_eq!(Speaks::with(first), expected, "{first:?}");
        }
    }
}
