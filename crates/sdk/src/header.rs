//! What an activity's command says beyond the public fields, in the core's own words, and one of ours.

use steadfast_engine::policy::{HEADER, KIND_HEADER, kind_to_payload};
use steadfast_proto::common::{Header, Payload};

use crate::payload;

/// The header of an activity's command, if there is something to say.
pub(crate) fn of_activity(
    policy: Option<&Payload>,
    kind: Option<&str>,
    is_watched: bool,
) -> Option<Header> {
    let fields = [
        (HEADER, policy.cloned()),
        (KIND_HEADER, kind.map(kind_to_payload)),
        (WATCHED, is_watched.then(|| payload::encode(&true).ok()).flatten()),
    ];
    if fields.iter().all(|(_, value)| value.is_none()) {
        return None;
    }
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some(Header { fields: fields.collect() })
}

/// Whether the worker is to give signs of life for an attempt with this header.
pub(crate) fn is_watched(header: Option<&Header>) -> bool {
    header.is_some_and(|header| header.fields.contains_key(WATCHED))
}

/// The heartbeat timeout is the SDK's: it is about the worker, not about what the code says.
const WATCHED: &str = "steadfast-watched";
