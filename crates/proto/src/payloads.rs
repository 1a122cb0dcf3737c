//! The payloads of a message, wherever in it they are.

use prost::{Message, Name};
use prost_types::Any;

use crate::generated::temporal::api::{common::v1::Payload, update::v1 as update};

/// A message whose payloads can be seen and changed.
pub trait EachPayload {
    /// Shows every payload, wherever in the message it is. Not shown is what an engine reads itself:
    /// headers and search attributes.
    fn each_payload(&mut self, see: &mut dyn FnMut(&mut Payload));
}

impl EachPayload for Payload {
    fn each_payload(&mut self, see: &mut dyn FnMut(&mut Payload)) {
        see(self);
    }
}

impl<M: EachPayload> EachPayload for Vec<M> {
    fn each_payload(&mut self, see: &mut dyn FnMut(&mut Payload)) {
        for it in self {
            it.each_payload(see);
        }
    }
}

/// What an update is asked and answered with is a message within a message.
impl EachPayload for Any {
    fn each_payload(&mut self, see: &mut dyn FnMut(&mut Payload)) {
        through::<update::Request>(self, see);
        through::<update::Acceptance>(self, see);
        through::<update::Rejection>(self, see);
        through::<update::Response>(self, see);
    }
}

/// Walks through the message inside, if it is one of these.
fn through<M>(any: &mut Any, see: &mut dyn FnMut(&mut Payload))
where
    M: Default + EachPayload + Message + Name,
{
    if any.type_url.rsplit('/').next() != Some(M::full_name().as_str()) {
        return;
    }
    // What cannot be read is left to whoever takes it out.
    if let Ok(mut message) = M::decode(any.value.as_slice()) {
        message.each_payload(see);
        any.value = message.encode_to_vec();
    }
}
