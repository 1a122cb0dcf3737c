//! `steadfast namespace`, `task-queue` and `operator`.

use insta::assert_snapshot;
use serde_json::json;

use crate::{rig::Dev, worker::charge};

#[test]
fn namespaces_are_made_changed_and_listed() {
    let dev = Dev::start();
    let said = dev.says(&[
        "namespace",
        "create",
        "shop",
        "--retention",
        "2d",
        "--description",
        "orders",
        "--data",
        "team=a",
    ]);
    assert_snapshot!(said, @"made namespace shop");
    dev.says(&["namespace", "update", "shop", "--email", "shop@example.com"]);
    assert_snapshot!(dev.says(&["namespace", "describe", "shop"]), @r"
    Name         shop
    Id           <id>
    State        Registered
    Description  orders
    Email        shop@example.com
    Retention    48h
    Data         team = a
    ");
    assert_snapshot!(dev.says(&["operator", "namespace", "list"]), @r"
    NAME     STATE       RETENTION  DESCRIPTION
    default  Registered  72h        The namespace for whoever names no other.
    shop     Registered  48h        orders
    ");
    let (code, error) = dev.refuses(&["workflow", "list", "-n", "nowhere"]);
    assert_eq!((code, error.as_str()), (3, "error: Namespace nowhere is not found\n"));
}

#[test]
fn a_task_queue_shows_who_polls_it() {
    let dev = Dev::start();
    dev.start_order("order-1");
    dev.worker().step(vec![charge()]);
    let told = dev.says(&["task-queue", "describe", "-t", "orders"]);
    assert!(told.contains("Workflow  worker-1"), "{told}");
    assert!(told.lines().any(|line| line.starts_with("Activity  1 ")), "{told}");
    let told = dev.json(&["task-queue", "describe", "-t", "orders"]);
    assert_eq!(told["workflow"]["pollers"][0]["identity"], "worker-1");
}

#[test]
fn the_server_tells_that_it_is_well_and_what_it_can_do() {
    let dev = Dev::start();
    assert_eq!(dev.says(&["operator", "cluster", "health"]), "SERVING\n");
    assert_eq!(dev.json(&["operator", "cluster", "health"]), json!({ "status": "SERVING" }));
    let system = dev.says(&["operator", "cluster", "system"]);
    assert!(system.contains("Can      upsertMemo"), "{system}");
}

#[test]
fn search_attributes_are_added_used_and_removed() {
    let dev = Dev::start();
    let family = ["operator", "search-attribute"];
    let call = |more: &[&str]| dev.says(&[&family[..], more].concat());
    let create =
        ["create", "--name", "Colour", "--type", "Keyword", "--name", "Size", "--type", "int"];
    assert_snapshot!(call(&create), @"added Colour, Size");
    let listed = call(&["list"]);
    assert!(listed.contains("Colour                "), "{listed}");
    assert!(listed.lines().any(|line| line.starts_with("Size") && line.ends_with("namespace")));
    dev.says(&[
        "workflow",
        "start",
        "--type",
        "Order",
        "-t",
        "orders",
        "-w",
        "order-1",
        "--search-attribute",
        "Colour=red",
        "--search-attribute",
        "Size=3",
    ]);
    let red = ["workflow", "count", "-q", "Colour = 'red' AND Size > 2"];
    assert_eq!(dev.says(&red), "1\n");
    assert_snapshot!(call(&["remove", "--name", "Size", "--yes"]), @"removed Size");
    assert_eq!(dev.refuses(&red).0, 1);
    let uneven = dev.refuses(&[
        "operator",
        "search-attribute",
        "create",
        "--name",
        "A",
        "--name",
        "B",
        "--type",
        "Int",
    ]);
    assert_eq!(uneven, (2, "error: give one --type for each --name\n".to_owned()));
}

#[test]
fn a_namespace_is_deleted_only_when_that_is_meant() {
    let dev = Dev::start();
    dev.says(&["namespace", "create", "shop"]);
    let (code, error) = dev.refuses(&["namespace", "delete", "shop"]);
    assert_eq!(code, 2);
    assert!(error.contains("say --yes"), "{error}");
    dev.says(&["namespace", "delete", "shop", "--yes"]);
    assert_eq!(dev.refuses(&["namespace", "describe", "shop"]).0, 3);
}

#[test]
fn a_batch_job_acts_on_all_that_a_filter_matches() {
    let dev = Dev::start();
    dev.start_order("order-1");
    dev.start_order("order-2");
    let filter = "WorkflowType = 'Order'";
    let job =
        dev.json(&["workflow", "terminate", "--query", filter, "--yes", "--reason", "end of sale"]);
    let id = job["batchJobId"].as_str().expect("an id").to_owned();
    for name in ["order-1", "order-2"] {
        let (code, error) = dev.refuses(&["workflow", "result", "-w", name]);
        assert_eq!(
            (code, error),
            (5, format!("error: workflow {name} was terminated: end of sale\n"))
        );
    }
    let told = dev.says(&["batch", "describe", "--job-id", &id]);
    assert!(told.contains("Operation  Terminate"), "{told}");
    assert!(told.contains("end of sale"), "{told}");
    let listed = dev.json(&["batch", "list"]);
    assert_eq!(listed[0]["jobId"], id.as_str());
    assert_eq!(dev.refuses(&["batch", "describe", "--job-id", "none"]).0, 3);
}
