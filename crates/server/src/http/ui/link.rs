//! Addresses of pages.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use form_urlencoded::byte_serialize;

/// The workflows of a namespace.
pub(super) fn workflows(namespace: &str) -> String {
    format!("/namespaces/{}/workflows", segment(namespace))
}

/// The errors of a namespace.
pub(super) fn errors(namespace: &str) -> String {
    format!("/namespaces/{}/errors", segment(namespace))
}

/// The schedules of a namespace.
pub(super) fn schedules(namespace: &str) -> String {
    format!("/namespaces/{}/schedules", segment(namespace))
}

/// The workers of a namespace.
pub(super) fn workers(namespace: &str) -> String {
    format!("/namespaces/{}/workers", segment(namespace))
}

/// One run; the latest, if no run is named.
pub(super) fn run(namespace: &str, workflow_id: &str, run_id: &str) -> String {
    let mut link = format!("{}/{}", workflows(namespace), segment(workflow_id));
    if !run_id.is_empty() {
        link.push('/');
        link.push_str(&segment(run_id));
    }
    link
}

/// A page with a question. What is empty is not asked.
pub(super) fn asking(page: &str, question: &[(&str, &str)]) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(question.iter().filter(|(_, value)| !value.is_empty()));
    let text = text.finish();
    if text.is_empty() { page.to_owned() } else { format!("{page}?{text}") }
}

/// A text as it stands in a query.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}

/// A token as it can be asked with: see [`Visit::token`](super::visit::Visit::token).
pub(super) fn token(token: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(token)
}

/// A part of a path: any id can be one. A form says `+` for a space, a path does not.
fn segment(text: &str) -> String {
    let mut segment = String::new();
    for part in byte_serialize(text.as_bytes()) {
        let part = if part == "+" { "%20" } else { part };
        // A text takes whatever it is given.
        let _ = segment.write_str(part);
    }
    // A browser takes these for steps in the path.
    match segment.as_str() {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        _ => segment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_id_can_be_in_a_link() {
        assert_eq!(
            run("default", "order/7 ü?#", "r"),
            "/namespaces/default/workflows/order%2F7%20%C3%BC%3F%23/r"
        );
        assert_eq!(run("a b", "..", ""), "/namespaces/a%20b/workflows/%2E%2E");
        assert_eq!(asking("/x", &[("query", "a = 'b'"), ("page", "")]), "/x?query=a+%3D+%27b%27");
        assert_eq!(asking("/x", &[]), "/x");
        assert_eq!(quoted(r"Ada's\queue"), r"'Ada''s\\queue'");
    }
}
