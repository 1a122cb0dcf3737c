//! The pages for a browser: what is on them, and who may see it.

use steadfast_engine::Limits;
use steadfast_proto::{
    common::{Payload, Payloads},
    enums::WorkerStatus,
    worker::WorkerHeartbeat,
    workflowservice as ws,
};
use steadfast_server::{Key, KeyHash, Keys, Options as Doors, Right};

use crate::{
    common::{NAMESPACE, World, doors, execution, queue, start},
    failures::rig::survives,
};

/// A page that must be there.
async fn page(world: &World, path: &str) -> String {
    let (head, body) = world.get(path, "accept: text/html\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{path}: {head}");
    assert!(head.contains("content-type: text/html; charset=utf-8"), "{head}");
    assert!(
        head.contains("content-security-policy: default-src 'none'; style-src 'self'"),
        "{head}"
    );
    body
}

/// What a page says, without its marks.
fn words(page: &str) -> String {
    let mut words = String::new();
    for part in page.split('<') {
        words.push_str(part.split_once('>').map_or("", |(_, text)| text));
        words.push(' ');
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn tells(page: &str, parts: &[&str]) {
    let words = words(page);
    for part in parts {
        assert!(words.contains(part), "no {part:?} in {words}");
    }
}

#[tokio::test]
async fn a_browser_is_led_to_the_pages_and_a_program_is_not() {
    let world = World::new().await;
    let (head, _) = world.get("/", "accept: text/html,*/*;q=0.8\r\n").await;
    assert!(head.starts_with("HTTP/1.1 303 See Other"), "{head}");
    assert!(head.contains("location: /namespaces"), "{head}");
    let (head, body) = world.get("/", "accept: */*\r\n").await;
    assert!(head.contains("text/plain"), "{head}");
    assert!(body.contains("/namespaces"), "{body}");
    let (head, _) = world.get("/namespaces/default", "").await;
    assert!(head.contains("location: /namespaces/default/workflows"), "{head}");
    let (head, style) = world.get("/style.css", "").await;
    assert!(head.contains("text/css"), "{head}");
    assert!(style.contains(".badge"), "{style}");
}

#[tokio::test]
async fn what_fails_is_seen_from_the_namespace_down_to_each_attempt() {
    survives(async |flow| {
        flow.start("order-7", "Patient").await;
        let first = flow.attempt_of("First", 1).await;
        flow.fail(&first, "no route to <host> 10.0.0.1").await;
        flow.pass(3_600);
        let second = flow.attempt_of("First", 2).await;
        flow.fail(&second, "no route to <host> 10.0.0.2").await;
        flow.point().await;
        flow.pass(60);
        let world = flow.world();
        tells(&page(world, "/namespaces").await, &["default 1 1"]);
        let errors = page(world, "/namespaces/default/errors").await;
        tells(
            &errors,
            &[
                "1 retrying 1 Patient · First",
                "no route to &lt;host&gt; 10.0.0.2",
                "1 h 1 min ago",
                "1 min ago",
            ],
        );
        let (_, link) = errors.split_once("errors?fingerprint=").expect("a link to those alike");
        let print = &link[..16];
        let alike = page(world, &format!("/namespaces/default/errors?fingerprint={print}")).await;
        let id = flow.error().await["id"].as_str().expect("an id").to_owned();
        tells(
            &alike,
            &[
                "retrying order-7 Patient · First 2",
                "in 59 min",
                &format!("steadfast retry now {id}"),
            ],
        );
        let run = page(world, "/namespaces/default/workflows/order-7").await;
        tells(
            &run,
            &[
                "order-7 Running",
                "Type Patient",
                "Scheduled 3 in 59 min worker",
                "1 Failed",
                "no route to &lt;host&gt; 10.0.0.1 retry in 1h: backoff",
                "next attempt:",
                "5",
                "ActivityTaskScheduled First",
            ],
        );
        assert!(!run.contains("<host>"), "what users say is not part of the page");
    })
    .await;
}

#[tokio::test]
async fn workflows_are_found_by_query_and_page_by_page() {
    let world = World::new().await;
    let mut client = world.client().await;
    for number in 0..60 {
        client
            .start_workflow_execution(start(&format!("order/{number:02} ?")))
            .await
            .expect("a start");
    }
    let list = "/namespaces/default/workflows";
    let newest = page(&world, list).await;
    tells(&newest, &["Running 60", "order/59 ?", "Older ones"]);
    let (_, link) = newest.split_once("workflows?page=").expect("a link to older ones");
    let token = link.split_once('"').expect("its end").0;
    let oldest = page(&world, &format!("{list}?page={token}")).await;
    tells(&oldest, &["order/09 ?", "order/00 ?"]);
    assert!(!words(&oldest).contains("Older ones"), "{oldest}");
    let found = page(&world, &format!("{list}?query=WorkflowId+%3D+%27order%2F07+%3F%27")).await;
    tells(&found, &["order/07 ?"]);
    assert!(!words(&found).contains("order/08 ?"), "{found}");
    tells(
        &page(&world, &format!("{list}?query=WorkflowId+%3D+%27x%27")).await,
        &["No workflow is like that."],
    );
    let (_, link) = found.split_once("workflows/order").expect("a link to it");
    let link = link.split_once('"').expect("its end").0;
    tells(
        &page(&world, &format!("{list}/order{link}")).await,
        &["order/07 ? Running", "WorkflowExecutionStarted"],
    );
}

#[tokio::test]
async fn workers_are_shown_with_the_way_to_what_they_work_for() {
    let world = World::new().await;
    let list = "/namespaces/default/workers";
    tells(&page(&world, list).await, &["No worker has told of itself"]);
    let heartbeat = WorkerHeartbeat {
        worker_instance_key: "key-1".to_owned(),
        worker_identity: "7@<host>".to_owned(),
        task_queue: "Ada's queue".to_owned(),
        sdk_name: "temporal-python".to_owned(),
        sdk_version: "1.31.0".to_owned(),
        status: WorkerStatus::Running.into(),
        ..WorkerHeartbeat::default()
    };
    let beat = ws::RecordWorkerHeartbeatRequest {
        namespace: NAMESPACE.to_owned(),
        worker_heartbeat: vec![heartbeat],
        ..ws::RecordWorkerHeartbeatRequest::default()
    };
    let mut client = world.client().await;
    client.record_worker_heartbeat(beat).await.expect("heard");
    let request = ws::StartWorkflowExecutionRequest {
        task_queue: Some(queue("Ada's queue")),
        ..start("order-1")
    };
    client.start_workflow_execution(request).await.expect("a start");
    client.start_workflow_execution(start("order-2")).await.expect("a start");
    let shown = page(&world, list).await;
    tells(&shown, &["Running 7@&lt;host&gt; Ada's queue temporal-python 1.31.0"]);
    let (_, link) = shown.split_once("/workflows?query=").expect("a link to its workflows");
    let link = link.split_once('"').expect("its end").0;
    let found = page(&world, &format!("/namespaces/default/workflows?query={link}")).await;
    tells(&found, &["order-1"]);
    assert!(!words(&found).contains("order-2"), "{found}");
}

#[tokio::test]
async fn a_run_shows_what_it_was_given_and_what_came_of_it() {
    let world = World::new().await;
    let request = ws::StartWorkflowExecutionRequest {
        input: Some(Payloads { payloads: vec![Payload::json("{\"item\":\"<b>lamp</b>\"}")] }),
        ..start("order-1")
    };
    let mut client = world.client().await;
    client.start_workflow_execution(request).await.expect("a start");
    let run = page(&world, "/namespaces/default/workflows/order-1?live=1").await;
    tells(
        &run,
        &[
            "Input {&quot;item&quot;:&quot;&lt;b&gt;lamp&lt;/b&gt;&quot;}",
            "A workflow task waits",
            "Unattended: no worker polls task queue &quot;queue&quot; for workflows.",
        ],
    );
    assert!(run.contains("http-equiv=\"refresh\""), "{run}");
    let request = ws::TerminateWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_execution: Some(execution("order-1")),
        reason: "enough".to_owned(),
        ..ws::TerminateWorkflowExecutionRequest::default()
    };
    client.terminate_workflow_execution(request).await.expect("terminated");
    let run = page(&world, "/namespaces/default/workflows/order-1?live=1").await;
    tells(&run, &["order-1 Terminated", "WorkflowExecutionTerminated", "enough"]);
    assert!(!run.contains("http-equiv=\"refresh\""), "it does not change any more");
}

#[tokio::test]
async fn a_run_that_failed_says_with_what_and_how_to_have_it_go_on() {
    survives(async |flow| {
        flow.fail_first("order-8", "Order", "no stock").await;
        flow.advance().await;
        flow.point().await;
        let id = flow.error().await["id"].as_str().expect("an id").to_owned();
        let run = page(flow.world(), "/namespaces/default/workflows/order-8").await;
        let resume = format!("steadfast resume {id}");
        let parts =
            ["order-8 Failed", "a step failed", &resume, "First First", "StepError: no stock"];
        tells(&run, &parts);
        let (_, result) = run.split_once("<h2>Result</h2>").expect("what came of it");
        tells(result, &["StepError: a step failed History"]);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_there_or_not_understood_is_told_on_a_page() {
    let world = World::new().await;
    for (path, status, told) in [
        ("/namespaces/nowhere/workflows", 404, "nowhere"),
        ("/namespaces/default/workflows/nobody", 404, "not found"),
        ("/namespaces/default/workflows?query=Colour+%3D", 400, "query"),
        ("/namespaces/default/workflows?page=%21", 200, ""),
        ("/namespaces/default/workflows?page=AAAA", 400, "oken"),
        ("/namespaces/default/errors?fingerprint=x", 400, "16 hexadecimal digits"),
        ("/namespaces/default/coffee", 404, "no such page"),
    ] {
        let (head, body) = world.get(path, "").await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {head}\n{body}");
        assert!(body.contains(told), "{path}: {body}");
    }
}

#[tokio::test]
async fn a_browser_is_asked_for_a_key_and_sees_what_that_opens() {
    let key = |secret: &str, namespace: Option<&str>| Key {
        hash: KeyHash::of(secret.as_bytes()),
        namespace: namespace.map(str::to_owned),
        right: Right::Read,
    };
    let keys = Keys::new(vec![key("reader", Some(NAMESPACE)), key("stranger", Some("other"))]);
    let world = World::with(Limits::default(), Doors { keys, ..doors() }).await;
    let basic = |login: &str| format!("authorization: Basic {login}\r\n");
    // `x:reader`, `x:stranger`, `x:nobody`
    let [reader, stranger, nobody] =
        ["eDpyZWFkZXI=", "eDpzdHJhbmdlcg==", "eDpub2JvZHk="].map(basic);
    for headers in ["", &nobody, "authorization: Basic ???\r\n"] {
        let (head, _) = world.get("/namespaces", headers).await;
        assert!(head.starts_with("HTTP/1.1 401 Unauthorized"), "{head}");
        assert!(head.contains("www-authenticate: Basic realm="), "{head}");
    }
    let (_, body) = world.get("/namespaces", &reader).await;
    assert!(body.contains("/namespaces/default/workflows"), "{body}");
    let (_, body) = world.get("/namespaces", &stranger).await;
    assert!(!body.contains("/namespaces/default/workflows"), "{body}");
    let list = "/namespaces/default/workflows";
    assert!(world.get(list, &reader).await.0.starts_with("HTTP/1.1 200 OK"));
    assert!(
        world.get(list, "authorization: Bearer reader\r\n").await.0.starts_with("HTTP/1.1 200 OK")
    );
    let (head, _) = world.get(list, &stranger).await;
    assert!(head.starts_with("HTTP/1.1 403 Forbidden"), "{head}");
    assert!(!head.contains("www-authenticate"), "asking again would not help: {head}");
}
