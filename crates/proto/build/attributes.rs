//! The attributes of events and commands: what makes them, and which type they are of.

use prost_types::FileDescriptorSet;

/// Messages whose `attributes` are in a box, because the largest are many times the usual ones: an
/// event would take 2 KiB wherever it is kept, and as much would be copied for each move.
pub(crate) const BOXED: [&str; 2] =
    ["temporal.api.history.v1.HistoryEvent", "temporal.api.command.v1.Command"];

pub(crate) fn code(api: &FileDescriptorSet) -> String {
    let [event, command] = BOXED;
    of(api, event, "history_event", "Event") + &of(api, command, "command", "Command")
}

/// Of one message, in whose module the attributes are. The type of a `Command` is a `CommandType`, and
/// its attributes are `…CommandAttributes`.
fn of(api: &FileDescriptorSet, message: &str, own_module: &str, role: &str) -> String {
    let (package, name) = message.rsplit_once('.').unwrap_or_default();
    let module = package.replace('.', "::");
    let whole = format!("{module}::{own_module}::Attributes");
    let kinds: Vec<&str> = kinds(api, package, name).collect();
    let from = |kind: &&str| {
        format!(
            "impl From<{module}::{kind}> for {whole} {{\n    \
                 fn from(it: {module}::{kind}) -> Self {{ Self::{kind}(Box::new(it)) }}\n}}\n\
             impl From<Box<{module}::{kind}>> for {whole} {{\n    \
                 fn from(it: Box<{module}::{kind}>) -> Self {{ Self::{kind}(it) }}\n}}\n"
        )
    };
    let arm = |kind: &&str| {
        let variant = kind.trim_end_matches("Attributes").trim_end_matches(role);
        format!("            Self::{kind}(_) => Type::{variant},\n")
    };
    format!(
        "{}impl {whole} {{\n    \
             pub fn {}_type(&self) -> temporal::api::enums::v1::{role}Type {{\n        \
                 use temporal::api::enums::v1::{role}Type as Type;\n        \
                 match self {{\n{}        }}\n    }}\n}}\n",
        kinds.iter().map(from).collect::<String>(),
        role.to_lowercase(),
        kinds.iter().map(arm).collect::<String>(),
    )
}

/// The messages that the attributes of a message can be, which has no other oneof.
fn kinds<'a>(
    api: &'a FileDescriptorSet,
    package: &'a str,
    message: &'a str,
) -> impl Iterator<Item = &'a str> {
    api.file
        .iter()
        .filter(move |file| file.package() == package)
        .flat_map(|file| &file.message_type)
        .filter(move |found| found.name() == message)
        .flat_map(|found| &found.field)
        .filter(|field| field.oneof_index.is_some())
        .filter_map(|field| field.type_name().rsplit('.').next())
}
