//! Payloads, as far as they can be read.

use steadfast_proto::common::{Payload, Payloads};

/// A payload on one line: JSON as it is, anything else by its kind and size.
pub(crate) fn show(payload: &Payload) -> String {
    let encoding = payload.metadata.get("encoding").map(|it| String::from_utf8_lossy(it));
    let encoding = encoding.as_deref().unwrap_or("unknown encoding");
    match encoding {
        "binary/null" => "null".to_owned(),
        "json/plain" | "json/protobuf" => match std::str::from_utf8(&payload.data) {
            Ok(text) => text.trim().replace('\n', " "),
            Err(_) => format!("<{encoding} that is no text, {} bytes>", payload.data.len()),
        },
        _ => format!("<{encoding}, {} bytes>", payload.data.len()),
    }
}

/// Several payloads on one line.
pub(crate) fn show_all(payloads: Option<&Payloads>) -> String {
    let all = payloads.map_or(&[][..], |all| &all.payloads[..]);
    all.iter().map(show).collect::<Vec<_>>().join(", ")
}

/// A text that fits on a line, cut if it must be.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
