//! A way to every payload: for each message that can hold one, a walk through the fields that lead there.

use std::collections::{BTreeMap, BTreeSet};

use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorSet, MessageOptions, OneofDescriptorProto,
};

/// Where a way ends. How to walk these is written by hand.
const ENDS: [&str; 2] = [".temporal.api.common.v1.Payload", ".google.protobuf.Any"];
/// Where no way goes: an engine reads what is in there.
const CLOSED: [&str; 2] =
    [".temporal.api.common.v1.Header", ".temporal.api.common.v1.SearchAttributes"];
/// All messages of these packages can be walked, even if there is nothing to be found.
const CALLS: [&str; 3] =
    [".temporal.api.workflowservice.v1.", ".temporal.api.operatorservice.v1.", ".grpc.health.v1."];

/// Messages by their full names, with what a Rust path to them is made of.
type Messages<'a> = BTreeMap<String, Message<'a>>;

struct Message<'a> {
    /// The module that it is in.
    module: String,
    message: &'a DescriptorProto,
}

pub(crate) fn code(api: &FileDescriptorSet) -> String {
    let mut messages = Messages::new();
    for file in &api.file {
        let module = file.package().replace('.', "::");
        collect(&mut messages, &format!(".{}", file.package()), &module, &file.message_type);
    }
    let leading = leading(&messages);
    let wanted = messages.iter().filter(|(name, _)| {
        !ENDS.contains(&name.as_str())
            && (leading.contains(*name) || CALLS.iter().any(|package| name.starts_with(package)))
    });
    wanted
        .filter(|(_, it)| !is_entry(it.message))
        .map(|(_, it)| walk(it, &messages, &leading))
        .collect()
}

fn collect<'a>(all: &mut Messages<'a>, scope: &str, module: &str, here: &'a [DescriptorProto]) {
    for message in here {
        let name = format!("{scope}.{}", message.name());
        let inner = format!("{module}::{}", snake(message.name()));
        collect(all, &name, &inner, &message.nested_type);
        all.insert(name, Message { module: module.to_owned(), message });
    }
}

/// The messages from which a way leads to a payload.
fn leading(messages: &Messages<'_>) -> BTreeSet<String> {
    let mut leading: BTreeSet<String> = ENDS.map(str::to_owned).into();
    loop {
        let more: Vec<String> = messages
            .iter()
            .filter(|(name, _)| !leading.contains(*name) && !CLOSED.contains(&name.as_str()))
            .filter(|(_, it)| it.message.field.iter().any(|it| leading.contains(it.type_name())))
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return leading;
        }
        leading.extend(more);
    }
}

/// The walk through one message.
fn walk(it: &Message<'_>, messages: &Messages<'_>, leading: &BTreeSet<String>) -> String {
    let Message { module, message } = it;
    let fields = message.field.iter().filter(|field| leading.contains(field.type_name()));
    let (choices, plain): (Vec<_>, Vec<_>) = fields.partition(|field| field.oneof_index.is_some());
    let plain: String = plain.into_iter().map(|field| step(field, messages)).collect();
    let mut by_choice = BTreeMap::<i32, Vec<&FieldDescriptorProto>>::new();
    for field in choices {
        by_choice.entry(field.oneof_index()).or_default().push(field);
    }
    let choices: String =
        by_choice.into_iter().map(|(choice, fields)| choose(it, choice, &fields)).collect();
    let unused = if plain.is_empty() && choices.is_empty() { "_" } else { "" };
    format!(
        "impl crate::EachPayload for {module}::{} {{\n    \
             fn each_payload(&mut self, {unused}see: &mut dyn FnMut(&mut crate::common::Payload)) {{\n\
         {plain}{choices}    }}\n}}\n",
        message.name(),
    )
}

/// Through one field: a message, a list of them, or a map to them.
fn step(field: &FieldDescriptorProto, messages: &Messages<'_>) -> String {
    let name = field.name();
    let of_map = messages.get(field.type_name()).is_some_and(|it| is_entry(it.message));
    let values = if of_map { ".values_mut()" } else { ".iter_mut()" };
    format!("        self.{name}{values}.for_each(|it| it.each_payload(see));\n")
}

/// Through what one oneof holds.
fn choose(it: &Message<'_>, choice: i32, fields: &[&FieldDescriptorProto]) -> String {
    let Message { module, message } = it;
    let declared = usize::try_from(choice).ok().and_then(|index| message.oneof_decl.get(index));
    let name = declared.map(OneofDescriptorProto::name).unwrap_or_default();
    let kind = format!("{module}::{}::{}", snake(message.name()), camel(name));
    let arm = |field: &&FieldDescriptorProto| {
        let variant = camel(field.name());
        format!(
            "            Some({kind}::{variant}(it)) => it.each_payload(see),
"
        )
    };
    let arms: String = fields.iter().map(arm).collect();
    // Without it, if there is nothing else that the oneof can be.
    let all = message.field.iter().filter(|field| field.oneof_index == Some(choice)).count();
    let rest = if all == fields.len() { "None" } else { "_" };
    format!("        match &mut self.{name} {{\n{arms}            {rest} => {{}}\n        }}\n")
}

fn is_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(MessageOptions::map_entry)
}

/// `HistoryEvent` as `history_event`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// `history_event` as `HistoryEvent`.
fn camel(name: &str) -> String {
    let words = name.split('_').filter_map(|word| word.split_at_checked(1));
    words.map(|(first, rest)| first.to_uppercase() + rest).collect()
}
