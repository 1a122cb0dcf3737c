//! The table of RPCs against the public definition, the server, and the documentation.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use prost_types::FileDescriptorSet;
use steadfast_proto::{DESCRIPTORS, prost::Message as _};
use steadfast_server::{OPERATOR, Right, Rpcs, State, WORKFLOW};
use tonic::Code;

use crate::common::{World, code_and_text, raw};

const SERVICES: [Rpcs; 2] = [WORKFLOW, OPERATOR];

#[test]
fn every_rpc_of_the_public_definition_is_in_the_table_once() {
    let set = FileDescriptorSet::decode(DESCRIPTORS).expect("descriptors");
    for rpcs in SERVICES {
        let (package, name) = rpcs.service.rsplit_once('.').expect("a full name");
        let files = set.file.iter().filter(|file| file.package() == package);
        let mut services = files.flat_map(|file| &file.service);
        let service = services.find(|service| service.name() == name).expect("it is defined");
        let defined: BTreeSet<&str> =
            service.method.iter().map(prost_types::MethodDescriptorProto::name).collect();
        let listed: BTreeSet<&str> = rpcs.rpcs.iter().map(steadfast_server::Rpc::name).collect();
        assert_eq!(listed, defined);
        assert_eq!(listed.len(), rpcs.rpcs.len(), "none is listed twice");
    }
}

#[tokio::test]
async fn what_is_refused_says_so_and_what_is_served_does_not() {
    let world = World::new().await;
    let channel = world.channel().await;
    for rpcs in SERVICES {
        for rpc in rpcs.rpcs {
            let path = format!("/{}/{}", rpcs.service, rpc.name());
            let answer = raw::call(&channel, path, Vec::new()).await;
            let code = answer.as_ref().map_or_else(tonic::Status::code, |_| Code::Ok);
            match rpc.state {
                State::Refused => {
                    let status = answer.expect_err("it is refused");
                    let text = format!("{} is not supported by this server", rpc.name());
                    assert_eq!(code_and_text(&status), (Code::Unimplemented, text.as_str()));
                }
                State::Served(_) => assert_ne!(code, Code::Unimplemented, "{}", rpc.name()),
            }
        }
    }
}

#[tokio::test]
async fn what_nobody_knows_is_not_implemented() {
    let world = World::new().await;
    let channel = world.channel().await;
    let paths = [
        format!("/{}/BrewCoffee", WORKFLOW.service),
        "/temporal.api.coffee.v1.CoffeeService/Brew".to_owned(),
        "/temporal.api.cloud.cloudservice.v1.CloudService/GetUsers".to_owned(),
        "/".to_owned(),
    ];
    for path in paths {
        let status = raw::call(&channel, path.clone(), Vec::new()).await.expect_err("unknown");
        assert_eq!(status.code(), Code::Unimplemented, "{path}");
    }
    world.works("order-1").await;
}

/// The page is checked against the code. `cargo xtask compatibility --write` writes it anew.
#[test]
fn the_page_about_compatibility_says_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    let page = page();
    if std::env::var_os("STEADFAST_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("writable");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/compatibility.md is not what the code says: run `cargo xtask compatibility --write`"
    );
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for rpcs in SERVICES {
        let served = rpcs.rpcs.iter().filter(|rpc| rpc.state != State::Refused).count();
        let name = rpcs.service.rsplit('.').next().unwrap_or_default();
        let all = rpcs.rpcs.len();
        writeln!(page, "\n## {name}: {served} of {all} served\n\n| RPC | state |\n|---|---|")
            .expect("text grows");
        let mut rows: Vec<_> = rpcs.rpcs.iter().collect();
        rows.sort_by_key(|rpc| rpc.name());
        for rpc in rows {
            let state = match rpc.state {
                State::Served(Right::Read) => "served, asks for `read`",
                State::Served(Right::Write) => "served, asks for `write`",
                State::Served(Right::Admin) => "served, asks for `admin`",
                State::Refused => "UNIMPLEMENTED",
            };
            writeln!(page, "| `{}` | {state} |", rpc.name()).expect("text grows");
        }
    }
    page
}

const HEAD: &str = "\
# What of the Temporal API is served

Written from the code by `cargo xtask compatibility --write`; a test holds the two together.

Every RPC of the public definition is listed. One that is served does what its public description
says, or answers with the error that says why not. One that is not answers `UNIMPLEMENTED`, which
SDKs and tools report at once. The right is what a key must have, where keys are asked for; see
[configuration](configuration.md).

On the same port there are `grpc.health.v1.Health` and `grpc.reflection.v1` (and `v1alpha`).
";
