//! A payload. It is written by hand because there are more of them than of anything else: the one that
//! would be generated has a hash table in each.

use prost::{
    DecodeError, Message, Name,
    bytes::{Buf, BufMut},
    encoding::{self, DecodeContext, WireType},
};

use crate::metadata::{KNOWN, Known, Metadata};

/// A value, as bytes, and what those are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Payload {
    /// What the bytes are: under `encoding`, how to read them.
    pub metadata: Metadata,
    /// The bytes.
    pub data: Vec<u8>,
    /// Of bytes that are kept elsewhere.
    pub external_payloads: Vec<ExternalPayloadDetails>,
}

/// Bytes that are kept elsewhere.
#[derive(Clone, Copy, Eq, Hash, Message, PartialEq)]
pub struct ExternalPayloadDetails {
    /// How many there are.
    #[prost(int64, tag = "1")]
    pub size_bytes: i64,
}

/// One name of the metadata and its value.
#[derive(Message)]
struct Entry {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

impl Message for Payload {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        if let Some(entry) = self.metadata.known_entry() {
            buf.put_slice(entry);
        } else {
            self.encode_entries(buf);
        }
        put(DATA, &self.data, buf);
        encoding::message::encode_repeated(EXTERNAL, &self.external_payloads, buf);
    }

    fn encoded_len(&self) -> usize {
        let known = self.metadata.known_entry();
        known.map_or_else(|| self.entries_len(), <[u8]>::len)
            + put_len(DATA, &self.data)
            + encoding::message::encoded_len_repeated(EXTERNAL, &self.external_payloads)
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            METADATA => self.merge_entry(wire_type, buf, ctx),
            DATA => encoding::bytes::merge(wire_type, &mut self.data, buf, ctx),
            EXTERNAL => {
                let external = &mut self.external_payloads;
                encoding::message::merge_repeated(wire_type, external, buf, ctx)
            }
            _ => encoding::skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Payload {
    /// Bytes, and how to read them.
    pub fn encoded(encoding: &str, data: impl Into<Vec<u8>>) -> Self {
        let metadata = Metadata::encoding(encoding);
        Self { metadata, data: data.into(), external_payloads: Vec::new() }
    }

    /// A JSON document.
    pub fn json(document: impl Into<Vec<u8>>) -> Self {
        Self::encoded("json/plain", document)
    }

    fn encode_entries(&self, buf: &mut impl BufMut) {
        for (name, value) in self.metadata.iter() {
            encoding::encode_key(METADATA, WireType::LengthDelimited, buf);
            encoding::encode_varint(wide(entry_len(name, value)), buf);
            put(NAME, name.as_bytes(), buf);
            put(VALUE, value, buf);
        }
    }

    fn entries_len(&self) -> usize {
        let entries = self.metadata.iter().map(|(name, value)| {
            let entry = entry_len(name, value);
            encoding::key_len(METADATA) + encoding::encoded_len_varint(wide(entry)) + entry
        });
        entries.sum()
    }

    /// Reads an entry of the metadata.
    fn merge_entry(
        &mut self,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        encoding::check_wire_type(WireType::LengthDelimited, wire_type)?;
        if self.metadata.is_empty()
            && let Some((known, length)) = known_entry(buf.chunk())
        {
            buf.advance(length);
            self.metadata = Metadata::of_known(known);
            return Ok(());
        }
        let mut entry = Entry::default();
        encoding::message::merge(wire_type, &mut entry, buf, ctx)?;
        self.metadata.insert(entry.name, entry.value);
        Ok(())
    }
}

/// Which known encoding these bytes begin with, behind the key of its entry, and how long that is.
fn known_entry(bytes: &[u8]) -> Option<(&'static Known, usize)> {
    let behind_key = |known: &'static Known| known.entry.get(1..).unwrap_or_default();
    let known = KNOWN.iter().find(|known| bytes.starts_with(behind_key(known)))?;
    Some((known, behind_key(known).len()))
}

fn entry_len(name: &str, value: &[u8]) -> usize {
    put_len(NAME, name.as_bytes()) + put_len(VALUE, value)
}

/// Bytes under a number; none are not written.
fn put(tag: u32, bytes: &[u8], buf: &mut impl BufMut) {
    if !bytes.is_empty() {
        encoding::encode_key(tag, WireType::LengthDelimited, buf);
        encoding::encode_varint(wide(bytes.len()), buf);
        buf.put_slice(bytes);
    }
}

fn put_len(tag: u32, bytes: &[u8]) -> usize {
    if bytes.is_empty() {
        return 0;
    }
    let length = bytes.len();
    encoding::key_len(tag) + encoding::encoded_len_varint(wide(length)) + length
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl Name for Payload {
    const NAME: &'static str = "Payload";
    const PACKAGE: &'static str = "temporal.api.common.v1";
}

const METADATA: u32 = 1;
const NAME: u32 = 1;
const VALUE: u32 = 2;
const DATA: u32 = 2;
const EXTERNAL: u32 = 3;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The same, as it would be generated.
    #[derive(Clone, Message, PartialEq)]
    struct Generated {
        #[prost(btree_map = "string, bytes", tag = "1")]
        metadata: BTreeMap<String, Vec<u8>>,
        #[prost(bytes = "vec", tag = "2")]
        data: Vec<u8>,
        #[prost(message, repeated, tag = "3")]
        external_payloads: Vec<ExternalPayloadDetails>,
    }

    fn both(metadata: &[(&str, &str)], data: &[u8], external: &[i64]) -> (Payload, Generated) {
        let metadata = metadata.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        let external = external.iter().map(|size| ExternalPayloadDetails { size_bytes: *size });
        let (data, external_payloads) = (data.to_vec(), external.collect::<Vec<_>>());
        let payload = Payload {
            metadata: metadata.clone().collect(),
            data: data.clone(),
            external_payloads: external_payloads.clone(),
        };
        (payload, Generated { metadata: metadata.collect(), data, external_payloads })
    }

    #[test]
    fn it_is_read_and_written_as_the_generated_one_is() {
        let cases = [
            both(&[], b"", &[]),
            both(&[], b"x", &[]),
            both(&[("encoding", "json/plain")], b"{}", &[]),
            both(&[("encoding", "json/plain")], b"", &[7, 0]),
            both(&[("encoding", "binary/null")], b"", &[]),
            both(&[("encoding", "binary/plain")], b"1", &[]),
            both(&[("encoding", "json/protobuf")], b"{}", &[]),
            both(&[("encoding", "binary/protobuf")], b"1", &[]),
            both(&[("encoding", "binary/encrypted")], &[0; 300], &[]),
            both(&[("encoding", "json/plain, nearly")], b"1", &[]),
            both(&[("encoding", "")], b"1", &[]),
            both(&[("", "")], b"", &[]),
            both(&[("", "v")], b"", &[]),
            both(&[("encoding", "json/plain"), ("messageType", "a.B"), ("z", "")], b"{}", &[]),
            both(&[("messageType", "a.B")], b"{}", &[]),
        ];
        for (ours, generated) in cases {
            let (written, expected) = (ours.encode_to_vec(), generated.encode_to_vec());
            assert_eq!(written.len(), ours.encoded_len(), "{ours:?}");
            assert_eq!(written.len(), expected.len(), "{ours:?}");
            assert_eq!(Generated::decode(written.as_slice()), Ok(generated), "{ours:?}");
            assert_eq!(Payload::decode(expected.as_slice()), Ok(ours.clone()), "{ours:?}");
            // In pieces, as a network brings it.
            for cut in 0..expected.len() {
                let (head, tail) = expected.split_at(cut);
                assert_eq!(
                    Payload::decode(head.chain(tail)),
                    Ok(ours.clone()),
                    "{ours:?} at {cut}"
                );
                let broken = Payload::decode(head).is_err();
                assert_eq!(broken, Generated::decode(head).is_err(), "{ours:?} cut off at {cut}");
            }
        }
    }
}
