//! Generates the service traits from the descriptor set of the published protobuf crate.

use std::{env, fs, io, path::Path};

use prost::Message as _;
use prost_types::FileDescriptorSet;

/// The services that Steadfast serves; the other ones in the descriptor set are of no use here.
const SERVED: [&str; 2] = ["WorkflowService", "OperatorService"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_DESCRIBED").is_none() {
        return Ok(());
    }
    let path = env::var("DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH")
        .map_err(|missing| io::Error::new(io::ErrorKind::NotFound, missing))?;
    let mut set = FileDescriptorSet::decode(fs::read(path)?.as_slice())?;
    write_described(&set)?;
    if env::var_os("CARGO_FEATURE_SERVICES").is_none() {
        return Ok(());
    }
    set.file.retain_mut(keep_served);
    tonic_prost_build::configure()
        .build_client(false)
        .extern_path(".temporal.api", "::temporalio_protos::temporal::api")
        .compile_fds(set)
}

/// Messages come from the published crate, so only the services are generated.
fn keep_served(file: &mut prost_types::FileDescriptorProto) -> bool {
    file.service.retain(|service| SERVED.contains(&service.name()));
    file.message_type.clear();
    file.enum_type.clear();
    file.extension.clear();
    !file.service.is_empty()
}

/// What a client that asks for the API's description is given: the services and all that they
/// speak of, without the comments, and without what only SDKs say to themselves.
fn write_described(set: &FileDescriptorSet) -> io::Result<()> {
    let mut described = set.clone();
    described.file.retain(|file| {
        let package = file.package();
        (package.starts_with("temporal.api.")
            && !package.contains(".cloud.")
            && !package.contains(".testservice."))
            || package.starts_with("google.")
            // What the services' own file imports.
            || package.starts_with("nexusannotations.")
    });
    for file in &mut described.file {
        file.source_code_info = None;
    }
    let folder =
        env::var("OUT_DIR").map_err(|missing| io::Error::new(io::ErrorKind::NotFound, missing))?;
    fs::write(Path::new(&folder).join("described.bin"), described.encode_to_vec())
}
