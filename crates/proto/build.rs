//! Cuts the description of the API out of the descriptor set of the published protobuf crate.

use std::{env, fs, io, path::Path};

use prost::Message as _;
use prost_types::FileDescriptorSet;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_DESCRIBED").is_none() {
        return Ok(());
    }
    let path = env::var("DEP_TEMPORALIO_PROTOS_DESCRIPTOR_PATH")
        .map_err(|missing| io::Error::new(io::ErrorKind::NotFound, missing))?;
    write_described(FileDescriptorSet::decode(fs::read(path)?.as_slice())?)
}

/// What a client that asks for the API's description is given: the services and all that they
/// speak of, without the comments, and without what only SDKs say to themselves.
fn write_described(mut described: FileDescriptorSet) -> io::Result<()> {
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
