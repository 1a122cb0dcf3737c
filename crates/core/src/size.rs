//! How big what users send is.

use prost::Message;
use steadfast_proto::common;

/// Bytes of some payloads.
pub(crate) fn payloads(payloads: Option<&common::Payloads>) -> usize {
    payloads.map_or(0, Message::encoded_len)
}

/// Bytes of any message.
pub(crate) fn of<M: Message>(message: Option<&M>) -> usize {
    message.map_or(0, Message::encoded_len)
}
