//! The search attributes that a run carries: read from payloads, checked against the schema.
//!
//! A payload is JSON. Older SDKs put every value into a list, so a list of one is as good as its
//! element; nothing (`null`, `[]`, no data) means that the attribute is not set.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use steadfast_proto::common::{Payload, SearchAttributes};
use steadfast_store::{SearchType, Value};

use super::{
    literal,
    schema::{self, Schema},
};
use crate::{
    error::Error,
    limits::{SEARCH_KEYS_MAX, SEARCH_TOTAL_BYTES_MAX, SEARCH_VALUE_BYTES_MAX},
};

/// The values of `attributes` to search by, sorted by name; a list has several entries. Refuses
/// what a client may not send: unknown names, wrong types, too much.
pub(crate) fn search_values(
    attributes: &SearchAttributes,
    schema: &Schema,
) -> Result<Vec<(String, Value)>, Error> {
    check_count(attributes.indexed_fields.len())?;
    let mut values = Vec::new();
    let mut bytes = 0;
    for (name, payload) in sorted(attributes) {
        let kind = settable(name, schema)?;
        check_size(name, payload)?;
        bytes += name.len() + payload.data.len();
        let read = read(kind, payload).map_err(|reason| invalid(name, kind, &reason))?;
        values.extend(read.into_iter().map(|value| (name.clone(), value)));
    }
    check_total(bytes)?;
    Ok(values)
}

/// The same, of attributes that were checked when they came in. The schema may have changed since:
/// what it does not know any more cannot be searched by, and is left out.
pub(crate) fn known_values(attributes: &SearchAttributes, schema: &Schema) -> Vec<(String, Value)> {
    let mut values = Vec::new();
    for (name, payload) in sorted(attributes) {
        let Some(kind) = schema.settable(name) else { continue };
        let read = read(kind, payload).unwrap_or_default();
        values.extend(read.into_iter().map(|value| (name.clone(), value)));
    }
    values
}

/// The attributes as they are given back: with their types, which SDKs decode them by. What a client
/// has said of a type stays.
pub(crate) fn with_types(mut attributes: SearchAttributes, schema: &Schema) -> SearchAttributes {
    for (name, payload) in &mut attributes.indexed_fields {
        if let Some(kind) = schema.settable(name)
            && payload.metadata.get(TYPE).is_none()
        {
            let kind = schema::type_name(kind).as_bytes().to_vec();
            payload.metadata.insert(TYPE.to_owned(), kind);
        }
    }
    attributes
}

/// A value as a payload.
pub(crate) fn payload(value: &Json, kind: SearchType) -> Payload {
    let metadata = [(ENCODING, JSON), (TYPE, schema::type_name(kind))];
    Payload {
        metadata: metadata
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()))
            .collect(),
        data: value.to_string().into_bytes(),
        ..Payload::default()
    }
}

fn sorted(attributes: &SearchAttributes) -> BTreeMap<&String, &Payload> {
    attributes.indexed_fields.iter().collect()
}

fn settable(name: &str, schema: &Schema) -> Result<SearchType, Error> {
    if schema::is_system(name) {
        return Err(Error::invalid(format!("{name} attribute can't be set in SearchAttributes")));
    }
    let undefined = || Error::invalid(unmapped(name));
    schema.settable(name).ok_or_else(undefined)
}

/// SDKs look for the beginning of it.
fn unmapped(name: &str) -> String {
    format!("no mapping defined for search attribute {name}: add it to the namespace, then use it")
}

fn read(kind: SearchType, payload: &Payload) -> Result<Vec<Value>, String> {
    if is_unset(payload) {
        return Ok(Vec::new());
    }
    check_encoding(payload)?;
    let json = serde_json::from_slice(&payload.data).map_err(|error| error.to_string())?;
    match json {
        Json::Null => Ok(Vec::new()),
        Json::Array(items) if items.is_empty() => Ok(Vec::new()),
        Json::Array(items) if kind == SearchType::KeywordList => keywords(&items),
        Json::Array(items) => match items.as_slice() {
            [item] => Ok(vec![scalar(kind, item)?]),
            items => Err(format!("expected one value, found a list of {}", items.len())),
        },
        item @ (Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => {
            Ok(vec![scalar(kind, &item)?])
        }
    }
}

/// Whatever the encoding: this is how SDKs take an attribute away.
fn is_unset(payload: &Payload) -> bool {
    matches!(payload.data.as_slice(), b"" | b"null" | b"[]")
}

fn check_encoding(payload: &Payload) -> Result<(), String> {
    match payload.metadata.get(ENCODING) {
        Some(encoding) if encoding != JSON.as_bytes() => {
            let encoding = String::from_utf8_lossy(encoding);
            Err(format!("expected the encoding {JSON}, found {encoding}"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Each once: a keyword list is a set.
fn keywords(items: &[Json]) -> Result<Vec<Value>, String> {
    let mut values = Vec::new();
    for item in items {
        let value = scalar(SearchType::KeywordList, item)?;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Ok(values)
}

fn scalar(kind: SearchType, item: &Json) -> Result<Value, String> {
    let (value, expected) = match kind {
        SearchType::Bool => (item.as_bool().map(Value::Bool), "true or false"),
        SearchType::Int => (item.as_i64().map(Value::Int), "a whole number"),
        SearchType::Double => (item.as_f64().map(Value::Double), "a number"),
        SearchType::Datetime => (instant(item), "an RFC 3339 time"),
        SearchType::Keyword | SearchType::KeywordList | SearchType::Text => {
            (item.as_str().map(|text| Value::Text(text.to_owned())), "a text")
        }
    };
    value.ok_or_else(|| format!("expected {expected}, found {item}"))
}

fn instant(item: &Json) -> Option<Value> {
    item.as_str().and_then(literal::instant).map(Value::Time)
}

fn invalid(name: &str, kind: SearchType, reason: &str) -> Error {
    let kind = schema::type_name(kind);
    Error::invalid(format!("invalid value for search attribute {name} of type {kind}: {reason}"))
}

fn check_count(found: usize) -> Result<(), Error> {
    if found <= SEARCH_KEYS_MAX {
        return Ok(());
    }
    let message = format!("number of search attributes {found} exceeds limit {SEARCH_KEYS_MAX}");
    Err(Error::invalid(message))
}

fn check_size(name: &str, payload: &Payload) -> Result<(), Error> {
    let found = payload.data.len();
    if found <= SEARCH_VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "search attribute {name} value size {found} exceeds size limit {SEARCH_VALUE_BYTES_MAX}"
    )))
}

fn check_total(found: usize) -> Result<(), Error> {
    if found <= SEARCH_TOTAL_BYTES_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "total size of search attributes {found} exceeds size limit {SEARCH_TOTAL_BYTES_MAX}"
    )))
}

const ENCODING: &str = "encoding";
const JSON: &str = "json/plain";
const TYPE: &str = "type";
