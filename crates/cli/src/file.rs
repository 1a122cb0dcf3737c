//! Policies in files, as JSON or YAML, with errors that name the field.

use std::{
    fs,
    io::{self, Read as _},
};

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde_json::Value;
use steadfast_retry::Draft;

use crate::trouble::Trouble;

/// Reads a policy.
pub(crate) fn draft(name: &str) -> Result<Draft> {
    typed(name, document(name)?)
}

/// Reads what is in a file, whichever way it is written.
pub(crate) fn document(name: &str) -> Result<Value> {
    parsed(name, &text(name)?)
}

/// What a document says, as a type of ours; an error names the field that does not fit.
pub(crate) fn typed<T: DeserializeOwned>(name: &str, document: Value) -> Result<T> {
    serde_path_to_error::deserialize(document).map_err(|error| {
        let path = error.path().to_string();
        let at = if path == "." { String::new() } else { format!(" at {path}") };
        Trouble::usage(format!("{name}{at}: {}", error.into_inner()))
    })
}

/// The text of a file; `-` is what comes in on standard input.
fn text(name: &str) -> Result<String> {
    let mut text = String::new();
    let read = match name {
        "-" => io::stdin().lock().read_to_string(&mut text).map(|_| text),
        path => fs::read_to_string(path),
    };
    read.map_err(|error| Trouble::usage(format!("{name} cannot be read: {error}")))
}

/// JSON begins with a bracket; all else is YAML.
fn parsed(name: &str, text: &str) -> Result<Value> {
    let wrong = |error: String| Trouble::usage(format!("{name}: {error}"));
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).map_err(|error| wrong(format!("not JSON: {error}")));
    }
    serde_saphyr::from_str(text).map_err(|error| wrong(format!("not YAML: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "
name: stripe
rules:
  - match: {code: 429}
    action: retry
    counts: false
default:
  backoff: {kind: exponential, initial: 1s, max: 5m}
max_attempts: 30
";

    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = parsed("a", YAML).expect("YAML");
        let json = parsed("b", &yaml.to_string()).expect("JSON");
        assert_eq!(yaml, json);
        let draft: Draft = typed("a", yaml).expect("a policy");
        assert_eq!((draft.name.as_str(), draft.limits.max_attempts), ("stripe", Some(30)));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refused = |text: &str| {
            let refused = parsed("p.yaml", text).and_then(|it| typed::<Draft>("p.yaml", it));
            refused.expect_err("refused").to_string()
        };
        let told = refused("rules:\n  - match: {typ: X}\n");
        assert!(told.starts_with("p.yaml at rules[0].match"), "{told}");
        assert!(told.contains("unknown field `typ`"), "{told}");
        let told = refused("max_attempts: many\n");
        assert!(told.starts_with("p.yaml at max_attempts: invalid type"), "{told}");
        let told = refused("{\"name\": ");
        assert!(told.starts_with("p.yaml: not JSON: EOF"), "{told}");
        let told = refused("a: [1\n");
        assert!(told.starts_with("p.yaml: not YAML: "), "{told}");
    }
}
