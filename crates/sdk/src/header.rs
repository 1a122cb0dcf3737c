//! What an activity's command and its attempts say beyond the public fields, in the core's own words.

use steadfast_engine::{
    SPOKEN_FOR_HEADER,
    policy::{HEADER, KIND_HEADER, kind_to_payload},
};
use steadfast_proto::common::{Header, Payload};

/// The header of an activity's command, if there is something to say.
pub(crate) fn of_activity(policy: Option<&Payload>, kind: Option<&str>) -> Option<Header> {
    if policy.is_none() && kind.is_none() {
        return None;
    }
    let fields = [(HEADER, policy.cloned()), (KIND_HEADER, kind.map(kind_to_payload))];
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some(Header { fields: fields.collect() })
}

/// Whether the worker of an attempt with this header is to give signs of life for it: then its time to be
/// heard in is the worker's, and not one for its code.
pub(crate) fn is_spoken_for(header: Option<&Header>) -> bool {
    header.is_some_and(|header| header.fields.contains_key(SPOKEN_FOR_HEADER))
}
