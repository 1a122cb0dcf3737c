//! Messages of any type with anything in them, drawn from a seed.

use std::collections::BTreeMap;

use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};
use steadfast_proto::{
    DESCRIPTORS,
    prost::{
        Message as _,
        encoding::{WireType, encode_key, encode_varint},
    },
};

/// Draws messages.
#[derive(Debug)]
pub(crate) struct Noise {
    state: u64,
    messages: BTreeMap<String, DescriptorProto>,
    enums: BTreeMap<String, EnumDescriptorProto>,
}

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        let set = FileDescriptorSet::decode(DESCRIPTORS).expect("descriptors");
        let mut noise = Self { state: seed, messages: BTreeMap::new(), enums: BTreeMap::new() };
        for file in set.file {
            let scope = format!(".{}", file.package());
            noise.learn(&scope, file.message_type, file.enum_type);
        }
        noise
    }

    fn learn(
        &mut self,
        scope: &str,
        messages: Vec<DescriptorProto>,
        enums: Vec<EnumDescriptorProto>,
    ) {
        for it in enums {
            self.enums.insert(format!("{scope}.{}", it.name()), it);
        }
        for mut it in messages {
            let name = format!("{scope}.{}", it.name());
            let (inner, enums) = (it.nested_type.split_off(0), it.enum_type.split_off(0));
            self.learn(&name, inner, enums);
            self.messages.insert(name, it);
        }
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        let count = u64::try_from(all.len()).expect("few");
        let number = usize::try_from(self.below(count)).expect("few");
        all.get(number).expect("below their number").clone()
    }

    pub(crate) fn bytes(&mut self, length_max: u64) -> Vec<u8> {
        let length = self.below(length_max);
        (0..length).map(|_| u8::try_from(self.below(256)).expect("a byte")).collect()
    }

    /// A message of this type, as bytes. Its fields are there or not, with anything in them.
    pub(crate) fn message(&mut self, name: &str, depth: u64) -> Vec<u8> {
        let fields = self.messages.get(name).map(|it| it.field.clone()).unwrap_or_default();
        let mut bytes = Vec::new();
        for field in fields {
            let wanted = field.name() == "namespace" || self.below(3) > 0;
            let times = match field.label() {
                _ if !wanted => 0,
                Label::Repeated => self.below(3),
                Label::Optional | Label::Required => 1,
            };
            for _ in 0..times {
                self.field(&field, depth, &mut bytes);
            }
        }
        bytes
    }

    fn field(&mut self, field: &FieldDescriptorProto, depth: u64, bytes: &mut Vec<u8>) {
        let tag = u32::try_from(field.number()).expect("a field number");
        match field.r#type() {
            Type::Message | Type::Group => {
                if depth > 0 {
                    let inner = self.message(field.type_name(), depth - 1);
                    write_bytes(tag, &inner, bytes);
                }
            }
            Type::String => {
                let text = self.text(field.name());
                write_bytes(tag, text.as_bytes(), bytes);
            }
            Type::Bytes => {
                let data = self.bytes(60);
                write_bytes(tag, &data, bytes);
            }
            Type::Double | Type::Fixed64 | Type::Sfixed64 => {
                encode_key(tag, WireType::SixtyFourBit, bytes);
                let value = self.one_of(&[0.0, 1.0, -1.0, 2.0, f64::NAN, f64::INFINITY, 1e300]);
                bytes.extend(value.to_le_bytes());
            }
            Type::Float | Type::Fixed32 | Type::Sfixed32 => {
                encode_key(tag, WireType::ThirtyTwoBit, bytes);
                let value = self.one_of(&[0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, 1e30]);
                bytes.extend(value.to_le_bytes());
            }
            Type::Enum => {
                let values = self.enums.get(field.type_name()).map_or(1, |it| it.value.len());
                let end = u64::try_from(values).expect("few") + 1;
                encode_key(tag, WireType::Varint, bytes);
                encode_varint(self.below(end), bytes);
            }
            Type::Bool => {
                encode_key(tag, WireType::Varint, bytes);
                encode_varint(self.below(2), bytes);
            }
            Type::Int32
            | Type::Int64
            | Type::Uint32
            | Type::Uint64
            | Type::Sint32
            | Type::Sint64 => {
                let any = self.below(1_000);
                let value =
                    self.one_of(&[0, 1, 2, 5, any, u64::MAX, i64::MAX.unsigned_abs(), 1 << 31]);
                encode_key(tag, WireType::Varint, bytes);
                encode_varint(value, bytes);
            }
        }
    }

    /// Text that often gets through the door, so that what is behind it is met, too.
    fn text(&mut self, field: &str) -> String {
        let usual = match field {
            "namespace" if self.below(8) > 0 => "default",
            "workflow_id" | "name" | "update_id" | "activity_id" | "id" if self.below(4) > 0 => {
                "it"
            }
            "run_id" | "first_execution_run_id" if self.below(4) > 0 => "",
            _ => return self.any_text(),
        };
        usual.to_owned()
    }

    fn any_text(&mut self) -> String {
        let long = "x".repeat(2_000);
        let number = self.below(5).to_string();
        self.one_of(&[
            String::new(),
            "default".to_owned(),
            "queue".to_owned(),
            "it".to_owned(),
            number,
            "00000000-0000-4000-8000-000000000000".to_owned(),
            "* * * * *".to_owned(),
            "WorkflowType = 'Order' ORDER BY".to_owned(),
            "'; DROP TABLE runs; --".to_owned(),
            "\u{0}\u{1f980}\u{202e}".to_owned(),
            long,
        ])
    }
}

fn write_bytes(tag: u32, data: &[u8], bytes: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, bytes);
    encode_varint(u64::try_from(data.len()).expect("a length"), bytes);
    bytes.extend(data);
}
