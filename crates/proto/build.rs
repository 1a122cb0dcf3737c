//! Generates the service traits from the descriptor set of the published protobuf crate.

use std::{env, fs, io};

use prost::Message as _;
use prost_types::FileDescriptorSet;

/// The services that Steadfast serves; the other ones in the descriptor set are of no use here.
const SERVED: [&str; 2] = ["WorkflowService", "OperatorService"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_SERVICES").is_none() {
        return Ok(());
    }
    let path = env::var("DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH")
        .map_err(|missing| io::Error::new(io::ErrorKind::NotFound, missing))?;
    let mut set = FileDescriptorSet::decode(fs::read(path)?.as_slice())?;
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
