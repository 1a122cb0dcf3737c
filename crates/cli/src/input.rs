//! What users give to workflows: JSON arguments, files, key=value pairs.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::Result;
use serde_json::Value;
use steadfast_proto::common::{Payload, Payloads};

use crate::trouble::Trouble;

/// The arguments of a call.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Input {
    /// An argument, as JSON; a text needs its quotes: '"text"'. Once for each argument
    #[arg(long = "input", short = 'i', value_name = "JSON", allow_negative_numbers = true)]
    texts: Vec<String>,

    /// A file that holds an argument. Once for each; they come after those of --input
    #[arg(long = "input-file", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Metadata of all arguments, as key=value. With another encoding than json/plain the
    /// arguments are taken as they are
    #[arg(long = "input-meta", value_name = "KEY=VALUE")]
    metadata: Vec<Pair>,
}

impl Input {
    /// The arguments as payloads; `None` if there are none.
    pub(crate) fn payloads(&self) -> Result<Option<Payloads>> {
        let mut payloads = Vec::new();
        for text in &self.texts {
            payloads.push(self.payload("--input", text.clone().into_bytes())?);
        }
        for path in &self.files {
            let name = format!("--input-file {}", path.display());
            let bytes = fs::read(path)
                .map_err(|error| Trouble::usage(format!("{name} cannot be read: {error}")))?;
            payloads.push(self.payload(&name, bytes)?);
        }
        Ok((!payloads.is_empty()).then_some(Payloads { payloads }))
    }

    fn payload(&self, name: &str, data: Vec<u8>) -> Result<Payload> {
        let mut payload = Payload::json(data);
        for Pair { key, value } in &self.metadata {
            payload.metadata.insert(key.clone(), value.clone().into_bytes());
        }
        let is_json = payload.metadata["encoding"].starts_with(b"json/");
        if is_json && let Err(error) = serde_json::from_slice::<Value>(&payload.data) {
            let text = String::from_utf8_lossy(&payload.data);
            return Err(Trouble::usage(format!(
                "{name} is not JSON ({error}): {text}; a text needs its quotes, as in '\"text\"'"
            )));
        }
        Ok(payload)
    }
}

/// Arguments as a list of JSON values, if there are any.
pub(crate) fn arguments(input: &Input) -> Result<Option<Value>> {
    let Some(payloads) = input.payloads()? else { return Ok(None) };
    let values: Result<Vec<Value>, _> =
        payloads.payloads.iter().map(|payload| serde_json::from_slice(&payload.data)).collect();
    Ok(Some(Value::Array(values?)))
}

/// A payload of JSON.
pub(crate) fn json_payload(flag: &str, text: &str) -> Result<Payload> {
    let bare = Input { texts: Vec::new(), files: Vec::new(), metadata: Vec::new() };
    bare.payload(flag, text.as_bytes().to_vec())
}

/// A pair that was given as `key=value`.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl std::str::FromStr for Pair {
    type Err = NotAPair;

    fn from_str(text: &str) -> Result<Self, NotAPair> {
        let (key, value) = text.split_once('=').ok_or(NotAPair)?;
        if key.is_empty() {
            return Err(NotAPair);
        }
        Ok(Self { key: key.to_owned(), value: value.to_owned() })
    }
}

/// A text that is no pair.
#[derive(Debug, thiserror::Error)]
#[error("not of the form key=value")]
pub(crate) struct NotAPair;

/// Pairs as a map of plain texts.
pub(crate) fn texts<M: FromIterator<(String, String)>>(pairs: &[Pair]) -> M {
    pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect()
}

/// Pairs whose values are JSON, as payloads. A value that is not JSON is taken as a text, as
/// fingers expect: `--memo note=hello`.
pub(crate) fn payload_map<M: FromIterator<(String, Payload)>>(pairs: &[Pair]) -> M {
    let by_key: BTreeMap<&String, &String> = pairs.iter().map(|it| (&it.key, &it.value)).collect();
    let payload = |value: &String| {
        let is_json = serde_json::from_str::<Value>(value).is_ok();
        let data = if is_json { value.clone() } else { Value::from(value.clone()).to_string() };
        Payload::json(data)
    };
    by_key.into_iter().map(|(key, value)| (key.clone(), payload(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str, meta: &[&str]) -> Input {
        let metadata = meta.iter().map(|it| it.parse().expect("a pair")).collect();
        Input { texts: vec![text.to_owned()], files: Vec::new(), metadata }
    }

    #[test]
    fn what_is_not_json_is_refused_with_a_hint() {
        let refused = input("hello", &[]).payloads().expect_err("no JSON").to_string();
        assert!(refused.contains("--input is not JSON"), "{refused}");
        assert!(refused.contains("quotes"), "{refused}");
        let taken = input("hello", &["encoding=binary/plain"]).payloads().expect("taken as it is");
        assert_eq!(taken.expect("one").payloads[0].data, b"hello");
    }

    #[test]
    fn values_of_pairs_are_json_or_texts() {
        let pairs: Vec<Pair> = ["a=1", "b=hello", "c=x=y"].map(|it| it.parse().expect(it)).into();
        let map: BTreeMap<String, Payload> = payload_map(&pairs);
        let texts: Vec<_> = map.values().map(|it| String::from_utf8_lossy(&it.data)).collect();
        assert_eq!(texts, ["1", "\"hello\"", "\"x=y\""]);
        assert!("=1".parse::<Pair>().is_err());
    }
}
