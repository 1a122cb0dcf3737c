//! Generates the messages from the description that the published protobuf crate carries.

mod attributes;
mod payloads;

use std::{
    env, fs,
    io::{self, Write as _},
    path::PathBuf,
};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use tonic_prost_build::Config;

/// What is written by hand.
const PAYLOAD: &str = ".temporal.api.common.v1.Payload";

#[expect(clippy::print_stdout, reason = "that is how a build is told")]
fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build");
    let mut api = FileDescriptorSet::decode(
        fs::read(variable("DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH")?)?.as_slice(),
    )?;
    // Their comments are not written as documentation of Rust items.
    for file in &mut api.file {
        file.source_code_info = None;
    }
    if has_feature("DESCRIBED") {
        write("described.bin", described(&api).encode_to_vec())?;
    }
    api.file.retain(|file| is_spoken(file) || is_around(file));
    write("attributes.rs", attributes::code(&api))?;
    if has_feature("PAYLOADS") {
        write("payloads.rs", payloads::code(&api))?;
    }
    write_messages(api)
}

/// The messages, and the clients if they are wanted.
fn write_messages(api: FileDescriptorSet) -> io::Result<()> {
    let mut config = Config::new();
    config.enable_type_names();
    config.include_file("messages.rs");
    config.extern_path(PAYLOAD, "crate::payload::Payload");
    for message in attributes::BOXED {
        config.boxed(format!(".{message}.attributes"));
    }
    tonic_prost_build::configure()
        .build_server(false)
        .build_client(has_feature("CLIENTS"))
        .compile_fds_with_config(api, config)?;
    // It is where those look for it who know the protocol.
    let mut common =
        fs::OpenOptions::new().append(true).open(path("temporal.api.common.v1.rs")?)?;
    common.write_all(b"pub use crate::{metadata::Metadata, payload::{self, Payload}};\n")
}

/// What a client that asks for the API's description is given: the services and all that they
/// speak of, without what only SDKs say to themselves.
fn described(api: &FileDescriptorSet) -> FileDescriptorSet {
    let described = api.file.iter().filter(|file| {
        is_spoken(file)
            || file.package().starts_with("google.")
            // What the services' own file imports.
            || file.package().starts_with("nexusannotations.")
    });
    FileDescriptorSet { file: described.cloned().collect() }
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

fn has_feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
}

fn write(name: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
    fs::write(path(name)?, content)
}

/// Of something that is generated.
fn path(name: &str) -> io::Result<PathBuf> {
    Ok(PathBuf::from(variable("OUT_DIR")?).join(name))
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|missing| io::Error::new(io::ErrorKind::NotFound, missing))
}
