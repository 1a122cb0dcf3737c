//! Messages as JSON: the standard mapping of protobuf, with payloads decoded.
//!
//! The shape is the API's own, so it changes only when the API does: names in lowerCamelCase,
//! enumerations by their names, 64-bit numbers and times as text. A payload that holds JSON is
//! printed as that JSON; any other one, or all of them if asked for, as `metadata` and `data`.

use std::sync::OnceLock;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use prost::{Message, Name};
use prost_reflect::{
    DescriptorError, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey,
    MessageDescriptor, ReflectMessage as _, SerializeOptions, Value as Field,
};
use serde_json::{Map, Value, json};

use crate::{described::DESCRIPTORS, payload::Payload};

/// How payloads are printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Payloads {
    /// JSON as JSON.
    Decoded,
    /// As they are on the wire. What SDKs read a history from.
    Raw,
}

/// Why a message could not be made JSON: it is not as its description says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotJson {
    /// The description of the API cannot be read.
    #[error("the description of the API cannot be read: {0}")]
    Description(&'static DescriptorError),
    /// The API has no such message.
    #[error("the API has no message {0}")]
    Unknown(String),
    /// The message cannot be read by its description.
    #[error("a message cannot be read by its own description: {0}")]
    Message(#[from] prost::DecodeError),
    /// One of the well-known messages is not well-formed.
    #[error(transparent)]
    WellKnown(#[from] serde_json::Error),
}

/// A message as JSON.
pub fn message<M: Message + Name>(message: &M, payloads: Payloads) -> Result<Value, NotJson> {
    let kind = descriptor(&M::full_name())?;
    let dynamic = DynamicMessage::decode(kind, message.encode_to_vec().as_slice())?;
    value(&dynamic, payloads)
}

fn descriptor(name: &str) -> Result<MessageDescriptor, NotJson> {
    static POOL: OnceLock<Result<DescriptorPool, DescriptorError>> = OnceLock::new();
    let pool = POOL.get_or_init(|| DescriptorPool::decode(DESCRIPTORS));
    let pool = pool.as_ref().map_err(NotJson::Description)?;
    pool.get_message_by_name(name).ok_or_else(|| NotJson::Unknown(name.to_owned()))
}

fn value(message: &DynamicMessage, payloads: Payloads) -> Result<Value, NotJson> {
    let kind = message.descriptor();
    let name = kind.full_name();
    if name.starts_with("google.protobuf.") {
        return Ok(message.serialize_with_options(serde_json::value::Serializer, &OPTIONS)?);
    }
    if payloads == Payloads::Decoded {
        match name {
            "temporal.api.common.v1.Payload" => return Ok(payload(message)),
            // A list of payloads is a list.
            "temporal.api.common.v1.Payloads" => {
                let list = kind.fields().next().map(|list| message.get_field(&list).into_owned());
                return list.map_or(Ok(Value::Null), |list| field(&list, None, payloads));
            }
            _ => {}
        }
    }
    let mut object = Map::new();
    for (descriptor, content) in message.fields() {
        let name = descriptor.json_name().to_owned();
        object.insert(name, field(content, Some(&descriptor), payloads)?);
    }
    Ok(Value::Object(object))
}

fn field(
    content: &Field,
    kind: Option<&FieldDescriptor>,
    payloads: Payloads,
) -> Result<Value, NotJson> {
    Ok(match content {
        Field::Bool(it) => json!(it),
        Field::I32(it) => json!(it),
        Field::U32(it) => json!(it),
        Field::I64(it) => json!(it.to_string()),
        Field::U64(it) => json!(it.to_string()),
        Field::F32(it) => json!(it),
        Field::F64(it) => json!(it),
        Field::String(it) => json!(it),
        Field::Bytes(it) => json!(BASE64.encode(it)),
        Field::EnumNumber(number) => enumeration(*number, kind),
        Field::Message(it) => value(it, payloads)?,
        Field::List(list) => {
            let list: Result<Vec<_>, _> = list.iter().map(|it| field(it, kind, payloads)).collect();
            Value::Array(list?)
        }
        Field::Map(map) => {
            let mut entries: Vec<(String, Value)> = Vec::new();
            let kind = kind.and_then(map_value);
            for (key, content) in map {
                entries.push((map_key(key), field(content, kind.as_ref(), payloads)?));
            }
            // Maps have no order on the wire; the same answer is to be the same text.
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(entries.into_iter().collect())
        }
    })
}

/// A payload as what it holds, if that can be read.
fn payload(message: &DynamicMessage) -> Value {
    let raw = || value(message, Payloads::Raw).unwrap_or_default();
    let bytes = message.encode_to_vec();
    let Ok(payload) = Payload::decode(bytes.as_slice()) else {
        return raw();
    };
    match payload.metadata.get("encoding") {
        Some(b"binary/null") => Value::Null,
        Some(b"json/plain" | b"json/protobuf") => {
            serde_json::from_slice(&payload.data).unwrap_or_else(|_| raw())
        }
        _ => raw(),
    }
}

fn enumeration(number: i32, kind: Option<&FieldDescriptor>) -> Value {
    let kind = kind.map(FieldDescriptor::kind);
    let values = kind.as_ref().and_then(Kind::as_enum);
    let named = values.and_then(|values| values.get_value(number));
    let named = named.map(|value| value.name().to_owned());
    // A value of a newer API has no name here.
    named.map_or_else(|| json!(number), Value::String)
}

fn map_value(kind: &FieldDescriptor) -> Option<FieldDescriptor> {
    let kind = kind.kind();
    let entry = kind.as_message().filter(|entry| entry.is_map_entry());
    entry.map(MessageDescriptor::map_entry_value_field)
}

fn map_key(key: &MapKey) -> String {
    match key {
        MapKey::Bool(it) => it.to_string(),
        MapKey::I32(it) => it.to_string(),
        MapKey::I64(it) => it.to_string(),
        MapKey::U32(it) => it.to_string(),
        MapKey::U64(it) => it.to_string(),
        MapKey::String(it) => it.clone(),
    }
}

const OPTIONS: SerializeOptions = SerializeOptions::new();

#[cfg(test)]
mod tests {
    use prost_types::Timestamp;

    use super::*;
    use crate::generated::temporal::api::{
        common::v1::{Memo, WorkflowExecution},
        workflow::v1::WorkflowExecutionInfo,
    };

    fn info() -> WorkflowExecutionInfo {
        let execution = WorkflowExecution { workflow_id: "w".into(), run_id: "r".into() };
        let fields = [
            ("text".to_owned(), Payload::json(r#"{"b":1,"a":[true]}"#)),
            ("bytes".to_owned(), Payload::encoded("binary/plain", "xyz")),
        ];
        WorkflowExecutionInfo {
            execution: Some(execution),
            start_time: Some(Timestamp { seconds: 60, nanos: 5_000_000 }),
            status: 2,
            history_length: 7,
            memo: Some(Memo { fields: fields.into() }),
            ..WorkflowExecutionInfo::default()
        }
    }

    #[test]
    fn the_shape_is_the_apis_with_payloads_decoded() {
        let json = message(&info(), Payloads::Decoded).expect("JSON");
        insta::assert_snapshot!(json, @r#"{"execution":{"workflowId":"w","runId":"r"},"startTime":"1970-01-01T00:01:00.005Z","status":"WORKFLOW_EXECUTION_STATUS_COMPLETED","historyLength":"7","memo":{"fields":{"bytes":{"metadata":{"encoding":"YmluYXJ5L3BsYWlu"},"data":"eHl6"},"text":{"b":1,"a":[true]}}}}"#);
    }

    #[test]
    fn raw_payloads_are_as_on_the_wire() {
        let json = message(&info(), Payloads::Raw).expect("JSON");
        assert_eq!(json["memo"]["fields"]["text"]["data"], "eyJiIjoxLCJhIjpbdHJ1ZV19");
    }
}
