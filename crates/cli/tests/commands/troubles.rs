//! What goes wrong: one line that says what to do, and an exit code that says what kind.

use std::{net::TcpListener, process::Stdio};

use crate::rig::{Dev, command, refusal};

#[test]
fn nobody_there_exits_with_4_and_names_the_command_to_start_one() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
    let address = format!("127.0.0.1:{port}");
    let output = command(&["workflow", "list", "--address", &address]).output().expect("starts");
    let (code, error) = refusal(&output);
    assert_eq!(code, 4);
    assert!(error.starts_with(&format!("error: cannot reach the server at {address}")), "{error}");
    assert!(error.contains("`steadfast serve`"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn the_address_comes_from_a_flag_or_either_variable() {
    let dev = Dev::start();
    for (name, value) in [("STEADFAST_ADDRESS", &dev.address), ("TEMPORAL_ADDRESS", &dev.address)] {
        let status = command(&["workflow", "list"])
            .env(name, value)
            .stdout(Stdio::null())
            .status()
            .expect("starts");
        assert!(status.success(), "{name}");
    }
    let status = command(&["workflow", "list", "--address", &dev.address])
        .env("STEADFAST_ADDRESS", "127.0.0.1:1")
        .stdout(Stdio::null())
        .status()
        .expect("starts");
    assert!(status.success(), "the flag goes first");
}

#[test]
fn wrong_values_exit_with_2_and_name_the_flag() {
    let dev = Dev::start();
    for (args, says) in [
        (&["workflow", "list", "--address", "nowhere"][..], "--address \"nowhere\""),
        (&["workflow", "start", "--type", "T", "-t", "q", "-i", "hello"], "--input is not JSON"),
        (
            &["workflow", "start", "--type", "T", "-t", "q", "--run-timeout", "soon"],
            "write it like 90s",
        ),
        (
            &["workflow", "start", "--type", "T", "-t", "q", "--id-reuse-policy", "x"],
            "AllowDuplicate",
        ),
        (&["workflow", "start", "--type", "T", "-t", "q", "--memo", "x"], "key=value"),
        (&["workflow", "terminate", "--query", "WorkflowType = 'T'"], "say --yes"),
        (&["workflow", "list", "--tls-ca-path", "no/such.pem"], "--tls-ca-path no/such.pem"),
        (&["activity", "pause", "-w", "x"], "--activity-id"),
    ] {
        let (code, error) = dev.refuses(args);
        assert_eq!(code, 2, "{args:?}: {error}");
        assert!(error.contains(says), "{args:?}: {error}");
    }
}

#[test]
fn what_is_not_there_exits_with_3_and_what_the_server_refuses_with_1() {
    let dev = Dev::start();
    let (code, error) = dev.refuses(&["workflow", "describe", "-w", "nobody"]);
    assert_eq!((code, error.as_str()), (3, "error: workflow not found for ID: nobody\n"));
    let (code, error) = dev.refuses(&["workflow", "list", "-q", "Colour = 'red'"]);
    assert_eq!(code, 1);
    assert!(error.contains("Colour"), "{error}");
    dev.start_order("order-1");
    let again = ["workflow", "start", "--type", "Order", "-t", "orders", "-w", "order-1"];
    assert_eq!(dev.refuses(&again).0, 1);
}
