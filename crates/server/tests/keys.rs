//! Keys: who may do what, over the wire.

use steadfast_engine::Limits;
use steadfast_proto::{
    command::{
        Command, RequestCancelExternalWorkflowExecutionCommandAttributes,
        SignalExternalWorkflowExecutionCommandAttributes,
        StartChildWorkflowExecutionCommandAttributes,
    },
    common::WorkflowType,
    errordetails::PermissionDeniedFailure,
    workflowservice as ws,
};
use steadfast_server::{Key, KeyHash, Keys, OpenError, Options as Doors, Right, Server, Strangers};
use tonic::{Code, Request};

use crate::{
    common::{NAMESPACE, QUEUE, World, answer, doors, execution, queue, seconds, start, task_poll},
    details::detail,
};

fn keys() -> Keys {
    let key = |secret: &str, namespace: Option<&str>, right| Key {
        hash: KeyHash::of(secret.as_bytes()),
        namespace: namespace.map(str::to_owned),
        right,
    };
    Keys::new(vec![
        key("reader", Some(NAMESPACE), Right::Read),
        key("worker", Some(NAMESPACE), Right::Write),
        key("stranger", Some("other"), Right::Admin),
        key("root", None, Right::Admin),
    ])
}

async fn world() -> World {
    World::with(Limits::default(), Doors { keys: keys(), ..doors() }).await
}

fn with<M>(secret: &str, message: M) -> Request<M> {
    let mut request = Request::new(message);
    let value = format!("Bearer {secret}").parse().expect("a header");
    request.metadata_mut().insert("authorization", value);
    request
}

#[expect(deprecated, reason = "what older SDKs still send")]
fn child(namespace: &str) -> Command {
    let attributes = StartChildWorkflowExecutionCommandAttributes {
        namespace: namespace.to_owned(),
        workflow_id: format!("child in {namespace}"),
        workflow_type: Some(WorkflowType { name: "Child".to_owned() }),
        task_queue: Some(queue(QUEUE)),
        ..StartChildWorkflowExecutionCommandAttributes::default()
    };
    Command::of(attributes)
}

#[expect(deprecated, reason = "what older SDKs still send")]
fn signal(namespace: &str) -> Command {
    let attributes = SignalExternalWorkflowExecutionCommandAttributes {
        namespace: namespace.to_owned(),
        execution: Some(execution("order-2")),
        signal_name: "go".to_owned(),
        ..SignalExternalWorkflowExecutionCommandAttributes::default()
    };
    Command::of(attributes)
}

#[expect(deprecated, reason = "what older SDKs still send")]
fn cancel(namespace: &str) -> Command {
    let attributes = RequestCancelExternalWorkflowExecutionCommandAttributes {
        namespace: namespace.to_owned(),
        workflow_id: "order-2".to_owned(),
        ..RequestCancelExternalWorkflowExecutionCommandAttributes::default()
    };
    Command::of(attributes)
}

#[tokio::test]
async fn without_a_known_key_nobody_is_let_in() {
    let world = world().await;
    let mut client = world.client().await;
    let ask = ws::GetSystemInfoRequest::default;
    let status = client.get_system_info(ask()).await.expect_err("no key");
    assert_eq!(status.code(), Code::Unauthenticated);
    assert!(status.message().contains("authorization: Bearer"), "{status}");
    let status = client.get_system_info(with("guess", ask())).await.expect_err("unknown");
    assert_eq!((status.code(), status.message()), (Code::Unauthenticated, "the key is not known"));
    client.get_system_info(with("reader", ask())).await.expect("any key will do");
}

#[tokio::test]
async fn a_key_opens_what_it_is_for() {
    let world = world().await;
    let mut client = world.client().await;
    for secret in ["reader", "stranger"] {
        let request = with(secret, start("order-1"));
        let status = client.start_workflow_execution(request).await.expect_err("not enough");
        assert_eq!(status.code(), Code::PermissionDenied);
        let told: PermissionDeniedFailure = detail(&status);
        assert_eq!(told.reason, "the key may not write namespace \"default\"");
    }
    client.start_workflow_execution(with("worker", start("order-1"))).await.expect("it may");
    client.start_workflow_execution(with("root", start("order-2"))).await.expect("it may");

    let list = ws::ListNamespacesRequest::default;
    let status = client.list_namespaces(with("worker", list())).await.expect_err("not enough");
    assert_eq!(status.code(), Code::PermissionDenied);
    client.list_namespaces(with("root", list())).await.expect("it may");

    let describe = || ws::DescribeNamespaceRequest {
        namespace: NAMESPACE.to_owned(),
        ..ws::DescribeNamespaceRequest::default()
    };
    client.describe_namespace(with("reader", describe())).await.expect("its own");
    client.describe_namespace(with("stranger", describe())).await.expect_err("not its own");
}

#[tokio::test]
async fn a_task_token_does_not_lead_around_the_key() {
    let world = world().await;
    let mut client = world.client().await;
    let other = ws::RegisterNamespaceRequest {
        namespace: "other".to_owned(),
        workflow_execution_retention_period: Some(seconds(86_400)),
        ..ws::RegisterNamespaceRequest::default()
    };
    client.register_namespace(with("root", other)).await.expect("registered");
    client.start_workflow_execution(with("worker", start("order-1"))).await.expect("a start");
    let poll = with("worker", task_poll(QUEUE));
    let task = client.poll_workflow_task_queue(poll).await.expect("a task").into_inner();
    for (namespace, code) in [("", Code::PermissionDenied), ("other", Code::InvalidArgument)] {
        let mut answer = crate::common::complete(&task, "stolen");
        answer.namespace = namespace.to_owned();
        let answer = with("stranger", answer);
        let status = client.respond_workflow_task_completed(answer).await.expect_err("not its own");
        assert_eq!(status.code(), code, "{status}");
    }
}

#[tokio::test]
async fn a_command_reaches_no_other_namespace_whatever_the_key() {
    let world = world().await;
    let mut client = world.client().await;
    let other = ws::RegisterNamespaceRequest {
        namespace: "other".to_owned(),
        workflow_execution_retention_period: Some(seconds(86_400)),
        ..ws::RegisterNamespaceRequest::default()
    };
    client.register_namespace(with("root", other)).await.expect("registered");
    for (secret, command) in
        [("worker", child("other")), ("worker", signal("other")), ("root", cancel("other"))]
    {
        // Each with a workflow of its own: a failed task comes again only after a while.
        let start = start(&format!("order-{}", command.command_type));
        client.start_workflow_execution(with(secret, start)).await.expect("a start");
        let poll = with(secret, task_poll(QUEUE));
        let task = client.poll_workflow_task_queue(poll).await.expect("a task").into_inner();
        let answer = with(secret, answer(&task, vec![command]));
        let status = client.respond_workflow_task_completed(answer).await.expect_err("too far");
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains("in namespace \"other\""), "{status}");
    }
}

#[tokio::test]
async fn numbers_are_for_those_who_may_read_everything() {
    let world = world().await;
    let (head, _) = world.get("/metrics", "").await;
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let (head, _) = world.get("/metrics", "authorization: Bearer worker\r\n").await;
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let (head, _) = world.get("/metrics", "authorization: Bearer root\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let (head, _) = world.get("/healthz", "").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[tokio::test]
async fn a_door_to_other_machines_opens_only_if_it_asks_who_calls() {
    let world = World::new().await;
    let everywhere = "0.0.0.0:0".parse().expect("an address");
    for options in
        [Doors { grpc: everywhere, ..doors() }, Doors { http: vec![everywhere], ..doors() }]
    {
        let refused = Server::open(world.engine.clone(), options.clone()).await;
        let refused = refused.expect_err("nobody asks who calls");
        assert!(matches!(refused, OpenError::Exposed { address } if address == everywhere));
        let text = refused.to_string();
        for part in ["0.0.0.0:0", "127.0.0.1", "steadfast key create", "--tls-client-ca"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        let asking = Doors { keys: keys(), ..options.clone() };
        Server::open(world.engine.clone(), asking).await.expect("keys are asked for");
        let careless = Doors { strangers: Strangers::Welcome, ..options };
        Server::open(world.engine.clone(), careless).await.expect("it is meant so");
    }
}

#[tokio::test]
async fn without_keys_and_tls_nobody_reads_by_a_name_that_is_led_here() {
    let names = vec!["flows.example".to_owned()];
    let world = World::with(Limits::default(), Doors { http_names: names, ..doors() }).await;
    let paths = ["/namespaces", "/namespaces/default/errors", "/api/v1/namespaces/default/errors"];
    let status = async |world: &World, path: &str, headers: &str| {
        let (head, body) = world.get(path, headers).await;
        (head.split(' ').nth(1).expect("a status").to_owned(), body)
    };
    for path in paths {
        for host in ["localhost:1", "[::1]:8233", "127.0.0.1", "flows.example:8233"] {
            let (status, body) = status(&world, path, &format!("host: {host}\r\n")).await;
            assert_eq!(status, "200", "{path} at {host}: {body}");
        }
        let (status, body) = status(&world, path, "host: evil.test:8233\r\n").await;
        assert_eq!(status, "403", "{path}: {body}");
        assert!(body.contains("--http-names evil.test"), "{body}");
    }
    let (health, _) = status(&world, "/healthz", "host: evil.test\r\n").await;
    assert_eq!(health, "200", "whoever watches the server may call it as they like");

    let world = self::world().await;
    for path in paths {
        let key = "host: any.test\r\nauthorization: Bearer root\r\n";
        let (status, body) = status(&world, path, key).await;
        assert_eq!(status, "200", "a browser gives no key to another's page: {path}: {body}");
    }
}
