//! `steadfast schedule`.

use insta::assert_snapshot;

use crate::rig::Dev;

const NIGHTLY: [&str; 2] = ["-s", "nightly"];
const WORKFLOW: [&str; 6] = ["--type", "Order", "-t", "orders", "-w", "night"];

fn call(dev: &Dev, command: &str, more: &[&str]) -> String {
    dev.says(&[&["schedule", command][..], &NIGHTLY, more].concat())
}

#[test]
fn a_schedule_is_made_looked_at_changed_and_removed() {
    let dev = Dev::start();
    let when = ["--interval", "24h/2h", "--overlap-policy", "buffer-one", "--notes", "as agreed"];
    let made = call(&dev, "create", &[&WORKFLOW[..], &when, &["-i", "{\"n\":1}"]].concat());
    assert_snapshot!(made, @"made schedule nightly");
    assert_snapshot!(call(&dev, "describe", &[]), @r#"
    Schedule id      nightly
    State            Running
    Notes            as agreed
    Starts           Order
    Workflow id      night
    Task queue       orders
    Input            {"n":1}
    Overlap          BufferOne
    Catch-up window  8760h
    When             interval {"interval":"86400s","phase":"7200s"}
    Made             <time> (<distance>)
    Actions          0
    Next             <time> (<distance>)
    Next             <time> (<distance>)
    Next             <time> (<distance>)
    Next             <time> (<distance>)
    Next             <time> (<distance>)
    "#);
    assert_snapshot!(dev.says(&["schedule", "list"]), @r"
    SCHEDULE ID  STATE    WORKFLOW TYPE  NEXT                      LAST  NOTES
    nightly      Running  Order          <time>        as agreed
    ");
    assert_snapshot!(call(&dev, "delete", &[]), @"removed schedule nightly");
    assert_eq!(dev.refuses(&["schedule", "describe", "-s", "nightly"]).0, 3);
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let dev = Dev::start();
    let made = [
        &WORKFLOW[..],
        &["--interval", "24h/2h", "--jitter", "5m", "--notes", "as agreed", "-i", "{\"n\":1}"],
        &["--overlap-policy", "buffer-one", "--pause-on-failure", "--remaining-actions", "7"],
        &["--run-timeout", "1h", "--retry-maximum-attempts", "3", "--memo", "team=blue"],
    ];
    call(&dev, "create", &made.concat());
    let schedule = || dev.json(&["schedule", "describe", "-s", "nightly"])["schedule"].clone();
    let mut expected = schedule();

    assert_snapshot!(call(&dev, "update", &["--notes", "moved"]), @"changed schedule nightly");
    expected["state"]["notes"] = "moved".into();
    assert_eq!(schedule(), expected);

    call(&dev, "update", &["-t", "slow", "--retry-initial-interval", "5s", "--paused"]);
    let workflow = &mut expected["action"]["startWorkflow"];
    workflow["taskQueue"]["name"] = "slow".into();
    workflow["retryPolicy"]["initialInterval"] = "5s".into();
    expected["state"]["paused"] = true.into();
    assert_eq!(schedule(), expected);

    call(&dev, "update", &["--paused=false", "--interval", "12h"]);
    expected["state"].as_object_mut().expect("an object").remove("paused");
    let interval = &mut expected["spec"]["interval"][0];
    interval["interval"] = "43200s".into();
    interval.as_object_mut().expect("an object").remove("phase");
    assert_eq!(schedule(), expected);

    call(&dev, "update", &["--cron", "30 12 * * Fri"]);
    let changed = schedule();
    assert_eq!(changed["spec"]["interval"], serde_json::Value::Null, "{changed}");
    assert_eq!(changed["spec"]["jitter"], "300s");
    assert_eq!(changed["spec"]["structuredCalendar"][0]["hour"][0]["start"], 12, "{changed}");
}

#[test]
fn a_schedule_rests_goes_on_and_acts_when_told() {
    let dev = Dev::start();
    call(&dev, "create", &[&WORKFLOW[..], &["--interval", "24h"]].concat());
    assert_snapshot!(call(&dev, "pause", &["--reason", "holidays"]), @"paused schedule nightly");
    let told = dev.json(&["schedule", "describe", "-s", "nightly"]);
    assert_eq!(told["schedule"]["state"]["paused"], true);
    assert_eq!(told["schedule"]["state"]["notes"], "holidays");
    assert_snapshot!(call(&dev, "unpause", &[]), @"unpaused schedule nightly");
    assert_snapshot!(call(&dev, "trigger", &["--overlap-policy", "AllowAll"]), @"triggered schedule nightly");
    let past = ["--start-time", "2026-01-01T00:00:00Z", "--end-time", "2026-01-02T12:00:00Z"];
    let more = [&past[..], &["--overlap-policy", "AllowAll"]].concat();
    assert_snapshot!(call(&dev, "backfill", &more), @"backfilled schedule nightly");
    // The schedule acts by itself; what it did shows in what runs.
    while dev.says(&["workflow", "count", "-q", "WorkflowType = 'Order'"]) != "3\n" {}
    let (code, error) =
        dev.refuses(&["schedule", "backfill", "-s", "nightly", "--start-time", "x"]);
    assert_eq!(code, 2);
    assert!(error.contains("not a time; write it like"), "{error}");
}
