//! The HTTP door: health, numbers, and a page that says what this is.

use std::time::Duration;

use crate::common::{NAMESPACE, QUEUE, World, query, start, task_poll, within};

#[tokio::test]
async fn the_front_page_says_what_this_is_and_where_things_are() {
    let world = World::new().await;
    let (head, body) = world.get("/", "").await;
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    for part in ["Steadfast", "/healthz", "/metrics", &world.server.grpc().to_string()] {
        assert!(body.contains(part), "no {part} in {body}");
    }
    let (head, body) = world.get("/coffee", "").await;
    assert!(head.starts_with("HTTP/1.1 404 Not Found"), "{head}");
    assert_eq!(body, "there is no such page; / lists those that there are\n");
}

#[tokio::test]
async fn health_is_ok_until_another_process_takes_the_data_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data.db");
    let world = World::on_file(&path).await;
    let (head, body) = world.get("/healthz", "").await;
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert_eq!(body, "ok\n");

    world.engine.store().acquire(4, "somebody else".to_owned()).await.expect("taken over");
    // What is not durable is not acknowledged; that it never will be shows at the first commit.
    let start = within(Duration::from_secs(1), start("order-1"));
    let _ = world.client().await.start_workflow_execution(start).await;
    let (head, body) = world.get("/healthz", "").await;
    assert!(head.starts_with("HTTP/1.1 503 Service Unavailable"), "{head}");
    assert!(body.starts_with("the data was opened again, by another process or"), "{body}");
    assert!(body.ends_with("; this process is of no more use\n"), "{body}");
}

#[tokio::test]
async fn health_says_why_the_store_does_not_take_what_is_written() {
    let world = World::new().await;
    world.engine.store().close().await.expect("closed");
    let (head, body) = world.get("/healthz", "").await;
    assert!(head.starts_with("HTTP/1.1 503 Service Unavailable"), "{head}");
    assert!(body.starts_with("the store does not take what is written: "), "{body}");
}

#[tokio::test]
async fn calls_of_the_http_api_are_counted_like_others() {
    let world = World::new().await;
    let path = |rest: &str| format!("/api/v1/namespaces/{NAMESPACE}/{rest}");
    assert_eq!(world.ask("GET", &path("errors"), "").await.0, 200);
    assert_eq!(world.ask("GET", &path("errors"), "").await.0, 200);
    assert_eq!(world.ask("GET", &path("errors/99-5"), "").await.0, 404);
    for (name, number) in [
        (r#"steadfast_http_seconds_count{operation="listErrors",status="200"}"#, 2),
        (r#"steadfast_http_seconds_count{operation="getError",status="404"}"#, 1),
        ("steadfast_http_in_flight", 0),
    ] {
        assert_eq!(world.number(name).await, number, "{name}");
    }
}

#[tokio::test]
async fn calls_commits_and_what_waits_are_counted() {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    client.query_workflow(query("nobody")).await.expect_err("not there");
    let waiting = r#"steadfast_backlog_tasks{kind="workflow"}"#;
    assert_eq!(world.number(waiting).await, 1);
    client.poll_workflow_task_queue(task_poll(QUEUE)).await.expect("a task");
    assert_eq!(world.number(waiting).await, 0);

    let (head, page) = world.get("/metrics", "").await;
    assert!(head.contains("application/openmetrics-text"), "{head}");
    assert!(page.ends_with("# EOF\n"), "the page is whole");
    for (name, number) in [
        (r#"steadfast_rpc_seconds_count{method="StartWorkflowExecution",code="OK"}"#, 1),
        (r#"steadfast_rpc_seconds_count{method="QueryWorkflow",code="NOT_FOUND"}"#, 1),
        (r#"steadfast_rpc_in_flight{method="StartWorkflowExecution"}"#, 0),
        ("steadfast_grpc_connections", 1),
        ("steadfast_fenced", 0),
    ] {
        assert_eq!(world.number(name).await, number, "{name} in\n{page}");
    }
    assert!(world.number("steadfast_commits_total").await >= 1);
    assert!(world.number("steadfast_commit_size_count").await >= 1);
    assert!(world.number("steadfast_commit_seconds_count").await >= 1);
    for name in ["process_start_time_seconds ", "steadfast_build_info{version=\""] {
        assert!(page.contains(name), "no {name} in\n{page}");
    }
    #[cfg(target_os = "linux")]
    for name in
        ["process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_open_fds "]
    {
        assert!(page.contains(name), "no {name} in\n{page}");
    }
    assert!(!page.contains(NAMESPACE), "names of users' things are not told");
}
