//! Generates the messages from the description that the published protobuf crate carries.

use std::{env, fs, io, path::PathBuf};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use tonic_prost_build::Config;

/// Messages whose `attributes` are in a box, because the largest are many times the usual ones: an
/// event would take 2 KiB wherever it is kept, and as much would be copied for each move.
const BOXED: [&str; 2] = [EVENT, "temporal.api.command.v1.Command"];
const EVENT: &str = "temporal.api.history.v1.HistoryEvent";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let mut api = FileDescriptorSet::decode(
        fs::read(variable("DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH")?)?.as_slice(),
    )?;
    // Their comments are not written as documentation of Rust items.
    for file in &mut api.file {
        file.source_code_info = None;
    }
    if env::var_os("CARGO_FEATURE_DESCRIBED").is_some() {
        write_described(&api)?;
    }
    write("attributes.rs", BOXED.map(|message| attributes(&api, message)).concat())?;
    write_messages(api)
}

/// The messages, and the clients if they are wanted.
fn write_messages(mut api: FileDescriptorSet) -> io::Result<()> {
    api.file.retain(|file| is_spoken(file) || is_around(file));
    let mut config = Config::new();
    config.enable_type_names();
    config.include_file("messages.rs");
    for message in BOXED {
        config.boxed(format!(".{message}.attributes"));
    }
    tonic_prost_build::configure()
        .build_server(false)
        .build_client(env::var_os("CARGO_FEATURE_CLIENTS").is_some())
        .compile_fds_with_config(api, config)
}

/// What makes the attributes of a message of [`BOXED`], and tells which type of it they are of.
fn attributes(api: &FileDescriptorSet, message: &str) -> String {
    let (package, name) = message.rsplit_once('.').unwrap_or_default();
    let module = package.replace('.', "::");
    // A command's type is a `CommandType`, and its attributes are `…CommandAttributes`.
    let (whole, role) = match message {
        EVENT => (format!("{module}::history_event::Attributes"), "Event"),
        _ => (format!("{module}::command::Attributes"), "Command"),
    };
    let mut from = String::new();
    let mut types = String::new();
    for kind in kinds(api, package, name) {
        from += &format!(
            "impl From<{module}::{kind}> for {whole} {{\n    \
                 fn from(it: {module}::{kind}) -> Self {{ Self::{kind}(Box::new(it)) }}\n}}\n\
             impl From<Box<{module}::{kind}>> for {whole} {{\n    \
                 fn from(it: Box<{module}::{kind}>) -> Self {{ Self::{kind}(it) }}\n}}\n"
        );
        let variant = kind.trim_end_matches("Attributes").trim_end_matches(role);
        types += &format!("            Self::{kind}(_) => Type::{variant},\n");
    }
    let method = format!("{}_type", role.to_lowercase());
    format!(
        "{from}impl {whole} {{\n    \
             pub fn {method}(&self) -> temporal::api::enums::v1::{role}Type {{\n        \
                 use temporal::api::enums::v1::{role}Type as Type;\n        \
                 match self {{\n{types}        }}\n    }}\n}}\n"
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

/// What a client that asks for the API's description is given: the services and all that they
/// speak of, without what only SDKs say to themselves.
fn write_described(api: &FileDescriptorSet) -> io::Result<()> {
    let described = api.file.iter().filter(|file| {
        is_spoken(file)
            || file.package().starts_with("google.")
            // What the services' own file imports.
            || file.package().starts_with("nexusannotations.")
    });
    let described = FileDescriptorSet { file: described.cloned().collect() };
    write("described.bin", described.encode_to_vec())
}

/// Whether it is of the API that Steadfast speaks.
fn is_spoken(file: &FileDescriptorProto) -> bool {
    let package = file.package();
    package.starts_with("temporal.api.")
        && !package.contains(".cloud.")
        && !package.contains(".testservice.")
}

/// Whether it is what every gRPC server speaks: health, an error's details, times and spans.
fn is_around(file: &FileDescriptorProto) -> bool {
    ["grpc.health.v1", "google.rpc", "google.protobuf"].contains(&file.package())
}

fn write(name: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
    fs::write(PathBuf::from(variable("OUT_DIR")?).join(name), content)
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|missing| io::Error::new(io::ErrorKind::NotFound, missing))
}
