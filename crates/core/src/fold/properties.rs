//! Memo and search attributes: merged key by key; an empty value removes its key.

use steadfast_proto::common;

use crate::run::Run;

pub(super) fn search_attributes(run: &mut Run, upsert: Option<&common::SearchAttributes>) {
    let Some(upsert) = upsert else { return };
    let mut all = run.search_attributes().cloned().unwrap_or_default();
    for (name, value) in &upsert.indexed_fields {
        if is_empty(value) {
            all.indexed_fields.remove(name);
        } else {
            all.indexed_fields.insert(name.clone(), value.clone());
        }
    }
    run.state.search_attributes = Some(all);
}

pub(super) fn memo(run: &mut Run, upsert: Option<&common::Memo>) {
    let Some(upsert) = upsert else { return };
    let mut all = run.memo().cloned().unwrap_or_default();
    for (name, value) in &upsert.fields {
        if is_empty(value) {
            all.fields.remove(name);
        } else {
            all.fields.insert(name.clone(), value.clone());
        }
    }
    run.state.memo = Some(all);
}

fn is_empty(value: &common::Payload) -> bool {
    matches!(value.data.as_slice(), b"" | b"null" | b"[]")
}
