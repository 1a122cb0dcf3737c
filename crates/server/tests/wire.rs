//! Compression, sizes, health, reflection, and many calls on one connection.

use std::time::Duration;

use steadfast_proto::{
    clients::{HealthClient, health::HealthCheckRequest},
    prost::Message as _,
    workflowservice as ws,
};
use steadfast_server::{OPERATOR, WORKFLOW};
use tonic::{Code, codec::CompressionEncoding::Gzip, transport::Endpoint};

use crate::common::{
    QUEUE, World, activity_poll, code_and_text, complete, history, payloads, soon, start, task_poll,
};

#[tokio::test]
async fn answers_are_compressed_for_those_who_ask_and_only_if_it_pays() {
    let world = World::new().await;
    let mut plain = world.client().await;
    let big = ws::StartWorkflowExecutionRequest {
        input: Some(payloads("a".repeat(100_000))),
        ..start("order-1")
    };
    plain.start_workflow_execution(big).await.expect("a start");
    let mut gzip = world.client().await.accept_compressed(Gzip);

    let answer = gzip.get_workflow_execution_history(history("order-1")).await.expect("a history");
    assert_eq!(answer.metadata().get("grpc-encoding").expect("compressed"), "gzip");
    let compressed = answer.into_inner();
    let answer = plain.get_workflow_execution_history(history("order-1")).await.expect("a history");
    assert!(answer.metadata().get("grpc-encoding").is_none(), "nobody asked for it");
    assert_eq!(answer.into_inner(), compressed);
}

#[tokio::test]
async fn requests_may_be_compressed() {
    let world = World::new().await;
    let mut client = world.client().await.send_compressed(Gzip);
    let big = ws::StartWorkflowExecutionRequest {
        input: Some(payloads("a".repeat(100_000))),
        ..start("order-1")
    };
    client.start_workflow_execution(big).await.expect("a start");
    let mut plain = world.client().await;
    let kept = plain.get_workflow_execution_history(history("order-1")).await.expect("a history");
    let events = kept.into_inner().history.expect("a history").events;
    let first = events.first().expect("an event");
    assert!(first.encoded_len() > 100_000, "the input is there");
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused_in_the_words_that_sdks_know() {
    let world = World::new().await;
    let of = |bytes: usize| ws::StartWorkflowExecutionRequest {
        input: Some(payloads("a".repeat(bytes))),
        ..start("order-1")
    };
    let size = of(5_000_000).encoded_len();
    let mut client = world.client().await;
    let status = client.start_workflow_execution(of(5_000_000)).await.expect_err("too large");
    let text = format!("grpc: received message larger than max ({size} vs. 4194304)");
    assert_eq!(code_and_text(&status), (Code::ResourceExhausted, text.as_str()));

    let mut client = world.client().await.send_compressed(Gzip);
    let status = client.start_workflow_execution(of(5_000_000)).await.expect_err("too large");
    let text = "grpc: received message after decompression larger than max (4194304)";
    assert_eq!(code_and_text(&status), (Code::ResourceExhausted, text));
    world.works("order-2").await;
}

#[tokio::test]
async fn health_is_told_for_three_names_and_no_other() {
    let world = World::new().await;
    let mut client = HealthClient::new(world.channel().await);
    for service in ["", WORKFLOW.service, OPERATOR.service] {
        let request = HealthCheckRequest { service: service.to_owned() };
        let answer = client.check(request).await.expect("known").into_inner();
        assert_eq!(answer.status, 1, "{service:?} serves");
    }
    let request = HealthCheckRequest { service: "coffee".to_owned() };
    assert_eq!(client.check(request).await.expect_err("unknown").code(), Code::NotFound);
}

#[tokio::test]
async fn reflection_lists_the_services() {
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let world = World::new().await;
    let mut client = ServerReflectionClient::new(world.channel().await);
    let request = ServerReflectionRequest {
        message_request: Some(MessageRequest::ListServices(String::new())),
        ..ServerReflectionRequest::default()
    };
    let asking = tokio_stream::once(request);
    let mut answers = client.server_reflection_info(asking).await.expect("answers").into_inner();
    let answer = answers.message().await.expect("an answer").expect("an answer");
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("not a list: {answer:?}")
    };
    let names: Vec<&str> = list.service.iter().map(|service| service.name.as_str()).collect();
    for name in [WORKFLOW.service, OPERATOR.service, "grpc.health.v1.Health"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_a_thousand_polls_on_one_connection_leave_room_for_the_rest() {
    let world = World::new().await;
    let client = world.client().await;
    let mut polls = tokio::task::JoinSet::new();
    for number in 0..1_500 {
        let mut client = client.clone();
        polls.spawn(async move {
            client.poll_activity_task_queue(activity_poll(&format!("queue {}", number % 7))).await
        });
    }
    world.until(WAITING, 1_500).await;
    let mut client = client;
    for number in 0..20 {
        let id = format!("order-{number}");
        soon(client.start_workflow_execution(start(&id))).await.expect("a start");
        let task = soon(client.poll_workflow_task_queue(task_poll(QUEUE))).await.expect("a task");
        let done = complete(&task.into_inner(), "done");
        soon(client.respond_workflow_task_completed(done)).await.expect("an answer");
    }
    assert_eq!(world.number(WAITING).await, 1_500, "they still wait");
}

const WAITING: &str = r#"steadfast_rpc_in_flight{method="PollActivityTaskQueue"}"#;

#[tokio::test]
async fn a_client_that_asks_often_whether_we_are_there_is_answered() {
    let world = World::new().await;
    let endpoint = Endpoint::from_shared(world.url())
        .expect("an address")
        .http2_keep_alive_interval(Duration::from_millis(2))
        .keep_alive_timeout(Duration::from_secs(5))
        .keep_alive_while_idle(true);
    let channel = endpoint.connect().await.expect("a connection");
    let mut client = steadfast_proto::clients::WorkflowServiceClient::new(channel);
    let poll = crate::common::within(Duration::from_secs(1), task_poll(QUEUE));
    // Several hundred pings pass meanwhile, some while a call waits and some while none does.
    client.poll_workflow_task_queue(poll).await.expect("an empty answer");
    idle(Duration::from_millis(500)).await;
    client.start_workflow_execution(start("order-1")).await.expect("the connection is the same");
    let connections = world.number("steadfast_grpc_connections").await;
    assert_eq!(connections, 1, "nobody had to connect again");
}

#[expect(clippy::disallowed_methods, reason = "that nothing happens for a while is what is tested")]
async fn idle(span: Duration) {
    tokio::time::sleep(span).await;
}
