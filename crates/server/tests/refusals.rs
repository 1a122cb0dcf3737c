//! Requests that lack something: made from the public definition, and what they are told is a
//! snapshot.

use std::{fmt::Write as _, time::Duration};

use steadfast_proto::prost::Message as _;
use steadfast_server::{OPERATOR, State, WORKFLOW};
use tonic::Code;

use crate::common::{
    NAMESPACE, QUEUE, World, code_and_text, complete, raw, request, start, task_poll,
};

/// Those that wait for somebody else end soon, with an answer.
const SOON: Duration = Duration::from_millis(300);

/// Of each RPC: what is said without a namespace, with one that is not there, and with nothing else.
#[tokio::test]
async fn bad_requests_are_told_what_they_lack() {
    let world = World::new().await;
    let channel = world.channel().await;
    let mut told = String::new();
    for rpcs in [WORKFLOW, OPERATOR] {
        let mut served: Vec<_> =
            rpcs.rpcs.iter().filter(|rpc| rpc.state != State::Refused).collect();
        served.sort_by_key(|rpc| rpc.name());
        for rpc in served {
            writeln!(told, "{}", rpc.name()).expect("text grows");
            let (package, _) = rpcs.service.rsplit_once('.').expect("a full name");
            let field = namespace_field(&format!(".{package}.{}Request", rpc.name()));
            for namespace in ["", "nowhere", NAMESPACE] {
                let message = match field {
                    // Its work would be done, and all others would miss the namespace.
                    Some(_) if namespace == NAMESPACE && rpc.name() == "DeleteNamespace" => {
                        continue;
                    }
                    None if namespace.is_empty() => Vec::new(),
                    None => continue,
                    Some(field) => named(field, namespace),
                };
                let path = format!("/{}/{}", rpcs.service, rpc.name());
                let answer = raw::call_within(&channel, path, message, SOON).await;
                let (code, text) = match &answer {
                    Ok(_) => (Code::Ok, ""),
                    Err(status) => code_and_text(status),
                };
                writeln!(told, "  {namespace:<8} {code:?}: {text}").expect("text grows");
            }
        }
    }
    insta::assert_snapshot!(told);
}

/// The number of a request's field `namespace`, if it has one.
fn namespace_field(message: &str) -> Option<i32> {
    let set = prost_types::FileDescriptorSet::decode(steadfast_proto::DESCRIPTORS);
    let files = set.expect("descriptors").file;
    let (package, name) = message.trim_start_matches('.').rsplit_once('.').expect("a full name");
    let mut messages =
        files.iter().filter(|file| file.package() == package).flat_map(|file| &file.message_type);
    let it = messages.find(|message| message.name() == name).expect("it is defined");
    it.field
        .iter()
        .find(|field| field.name() == "namespace")
        .map(prost_types::FieldDescriptorProto::number)
}

/// A message with a namespace and nothing else.
fn named(field: i32, namespace: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let tag = u32::try_from(field).expect("a field number");
    steadfast_proto::prost::encoding::string::encode(tag, &namespace.to_owned(), &mut bytes);
    bytes
}

#[tokio::test]
async fn a_bad_request_changes_nothing() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("it")).await.expect("a start");
    let task =
        client.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a task").into_inner();
    let mut elsewhere = complete(&task, "");
    elsewhere.namespace = "nowhere".to_owned();
    let status = client.respond_workflow_task_completed(elsewhere).await.expect_err("not there");
    assert_eq!(status.code(), Code::NotFound);
    let broken = request!(RespondWorkflowTaskCompletedRequest { task_token: vec![1, 2, 3] });
    let status = client.respond_workflow_task_completed(broken).await.expect_err("no token");
    assert_eq!(code_and_text(&status), (Code::InvalidArgument, "Invalid TaskToken."));
    client.respond_workflow_task_completed(complete(&task, "")).await.expect("it is still ours");
}
