//! What an activity's command says beyond the public fields.

use steadfast_engine::policy::HEADER as RETRY_POLICY;
use steadfast_proto::common::Header;
use steadfast_retry::Draft;

use crate::payload;

/// What kind of work it is.
const KIND: &str = "steadfast-kind";

/// The header of an activity's command, if there is something to say.
pub(crate) fn of_activity(policy: Option<&Draft>, kind: Option<&str>) -> Option<Header> {
    if policy.is_none() && kind.is_none() {
        return None;
    }
    let policy = policy.and_then(|policy| payload::encode(policy).ok());
    let kind = kind.and_then(|kind| payload::encode(kind).ok());
    let fields = [(RETRY_POLICY, policy), (KIND, kind)];
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some(Header { fields: fields.collect() })
}
