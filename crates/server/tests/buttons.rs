//! The buttons on the pages, pressed as a browser presses them.

use serde_json::json;
use steadfast_engine::Limits;
use steadfast_proto::{
    history::history_event::Attributes as Event,
    schedule::{IntervalSpec, Schedule, ScheduleSpec},
    workflowservice as ws,
};
use steadfast_server::{Key, KeyHash, Keys, Options as Doors, Right};

use crate::{
    common::{NAMESPACE, World, doors, seconds, start, starting},
    failures::rig::survives,
};

const ERRORS: &str = "/namespaces/default/errors";

/// A form as it is on a page.
struct Form {
    action: String,
    /// What it sends without being asked.
    hidden: Vec<(String, String)>,
}

impl Form {
    /// The first form on a page with a button that sends this.
    fn with(page: &str, deed: &str) -> Option<Self> {
        let forms = page.split("<form").skip(1).map(|it| it.split("</form>").next().unwrap_or(it));
        let has = format!("<button name=\"do\" value=\"{deed}\">");
        let form = forms.into_iter().find(|form| form.contains(&has))?;
        let hidden = form.split("<input type=\"hidden\"").skip(1);
        let hidden = hidden.map(|it| (said(it, "name"), said(it, "value"))).collect();
        Some(Self { action: said(form, "action"), hidden })
    }

    /// What is sent if a button is pressed.
    fn sends(&self, deed: &str, typed: &[(&str, &str)]) -> String {
        let hidden = self.hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let typed = typed.iter().copied().chain([("do", deed)]);
        form_urlencoded::Serializer::new(String::new()).extend_pairs(hidden.chain(typed)).finish()
    }
}

/// What an attribute of the first mark that has it says.
fn said(marks: &str, name: &str) -> String {
    let (_, rest) = marks.split_once(&format!("{name}=\"")).expect("such an attribute");
    let value = rest.split_once('"').expect("its end").0;
    value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The server's own page as the sender.
fn from_here(world: &World) -> String {
    format!("origin: http://{}\r\n", world.server.http().expect("an HTTP door"))
}

/// Presses a button on a page, and returns where that leads.
async fn press(world: &World, page: &str, deed: &str, typed: &[(&str, &str)]) -> String {
    let (_, body) = world.get(page, "accept: text/html\r\n").await;
    let form = Form::with(&body, deed).unwrap_or_else(|| panic!("no button {deed} on {body}"));
    let sent = form.sends(deed, typed);
    let (head, body) = world.post(&form.action, &from_here(world), &sent).await;
    assert!(head.starts_with("HTTP/1.1 303 See Other"), "{head}\n{body}");
    let (_, place) = head.split_once("location: ").expect("a place to go to");
    place.lines().next().unwrap_or_default().to_owned()
}

/// The page of those that fail alike.
async fn alike(world: &World) -> String {
    let (_, page) = world.get(ERRORS, "").await;
    let (_, link) = page.split_once("errors?fingerprint=").expect("a link to those alike");
    format!("{ERRORS}?fingerprint={}", &link[..16])
}

#[tokio::test]
async fn what_waits_is_tried_at_once_or_parked_and_resumed() {
    survives(async |flow| {
        flow.start("order-7", "Patient").await;
        flow.fail(&flow.attempt_of("First", 1).await, "no route").await;
        flow.point().await;
        let run = "/namespaces/default/workflows/order-7";
        assert_eq!(press(flow.world(), run, "retry-now", &[]).await, run, "back to the page");
        flow.fail(&flow.attempt_of("First", 2).await, "no route").await;
        flow.point().await;
        press(flow.world(), run, "park", &[]).await;
        assert_eq!(flow.error().await["state"], "parked");
        flow.point().await;
        press(flow.world(), run, "resume", &[]).await;
        flow.point().await;
        let third = flow.attempt().await;
        flow.complete(&third).await;
        flow.is_well().await;
    })
    .await;
}

#[tokio::test]
async fn what_is_parked_is_seen_to_or_given_up() {
    survives(async |flow| {
        flow.park_what_is_given_up().await;
        flow.fail_first("order-8", "Order", "no stock").await;
        press(flow.world(), ORDER_8, "acknowledge", &[("reason", "Ada looks at it")]).await;
        flow.point().await;
        let seen = &flow.error().await["acknowledged"];
        assert_eq!((&seen["by"], &seen["reason"]), (&json!("browser"), &json!("Ada looks at it")));
        let (_, page) = flow.world().get(ORDER_8, "").await;
        assert!(Form::with(&page, "acknowledge").is_none(), "once is enough: {page}");
        press(flow.world(), ORDER_8, "fail", &[]).await;
        flow.advance().await;
        flow.point().await;
        let last = flow.last_event("order-8").await;
        assert!(matches!(last, Event::WorkflowExecutionFailedEventAttributes(_)), "{last:?}");
    })
    .await;
}

const ORDER_8: &str = "/namespaces/default/workflows/order-8";

#[tokio::test]
async fn all_alike_go_on_with_one_button() {
    survives(async |flow| {
        flow.park_what_is_given_up().await;
        for order in ["order-1", "order-2", "order-3"] {
            flow.fail_first(order, "Order", "no stock").await;
        }
        flow.point().await;
        let alike = alike(flow.world()).await;
        let typed = [("reason", "the shelf is full again"), ("spread", "0")];
        assert_eq!(press(flow.world(), &alike, "resume", &typed).await, alike);
        flow.point().await;
        for _ in 0..3 {
            flow.complete(&flow.attempt().await).await;
        }
        flow.is_well().await;
    })
    .await;
}

#[tokio::test]
async fn what_somebody_has_seen_to_is_not_among_all_alike() {
    survives(async |flow| {
        flow.park_what_is_given_up().await;
        flow.fail_first("order-8", "Order", "no stock").await;
        let alike = alike(flow.world()).await;
        press(flow.world(), &alike, "acknowledge", &[]).await;
        flow.point().await;
        let (_, page) = flow.world().get(&alike, "").await;
        assert!(page.contains("seen by browser") && !page.contains("All of them"), "{page}");
        press(flow.world(), &alike, "resume", &[]).await;
        flow.complete(&flow.attempt().await).await;
        flow.is_well().await;
    })
    .await;
}

#[tokio::test]
async fn a_run_that_was_stopped_waits_for_nothing() {
    survives(async |flow| {
        flow.start("order-7", "Patient").await;
        flow.fail(&flow.attempt_of("First", 1).await, "no route").await;
        let run = "/namespaces/default/workflows/order-7";
        let (_, before) = flow.world().get(run, "").await;
        assert!(before.contains("Activities under way") && before.contains("in 1 h"), "{before}");
        let led = press(flow.world(), run, "terminate", &[]).await;
        flow.point().await;
        let (_, after) = flow.world().get(&led, "").await;
        assert!(after.contains("no route"), "{after}");
        assert!(!after.contains("Activities under way") && !after.contains("in 1 h"), "{after}");
        assert!(!after.contains("next attempt:"), "{after}");
    })
    .await;
}

#[tokio::test]
async fn a_run_is_stopped_with_a_reason() {
    let world = World::new().await;
    let mut client = world.client().await;
    for (deed, event) in [
        ("cancel", "WorkflowExecutionCancelRequested"),
        ("terminate", "WorkflowExecutionTerminated"),
    ] {
        let id = format!("order/{deed} ?");
        client.start_workflow_execution(start(&id)).await.expect("a start");
        let page = format!("/namespaces/default/workflows/order%2F{deed}%20%3F");
        let led = press(&world, &page, deed, &[("reason", "wrong <address>")]).await;
        let (_, after) = world.get(&led, "").await;
        assert!(after.contains(event), "{after}");
        assert!(after.contains("wrong &lt;address&gt;"), "{after}");
    }
}

#[tokio::test]
async fn a_schedule_is_paused_set_going_and_triggered() {
    let world = World::new().await;
    let mut client = world.client().await;
    let schedules = "/namespaces/default/schedules";
    let (_, page) = world.get(schedules, "").await;
    assert!(page.contains("There are no schedules"), "{page}");
    let action = starting("scheduled");
    let hourly = IntervalSpec { interval: Some(seconds(3_600)), phase: None };
    let spec = ScheduleSpec { interval: vec![hourly], ..ScheduleSpec::default() };
    let create = ws::CreateScheduleRequest {
        namespace: NAMESPACE.to_owned(),
        schedule_id: "hourly <1>".to_owned(),
        schedule: Some(Schedule { spec: Some(spec), action: Some(action), ..Schedule::default() }),
        request_id: "create".to_owned(),
        ..ws::CreateScheduleRequest::default()
    };
    client.create_schedule(create).await.expect("created");
    let (_, page) = world.get(schedules, "").await;
    assert!(page.contains("hourly &lt;1&gt;"), "{page}");
    assert!(page.contains(r#":00:00.000Z">in "#), "when it comes next, on the hour: {page}");
    assert_eq!(press(&world, schedules, "pause", &[]).await, schedules);
    let (_, page) = world.get(schedules, "").await;
    assert!(page.contains(">Paused<") && page.contains("paused in the browser"), "{page}");
    assert!(Form::with(&page, "pause").is_none(), "{page}");
    press(&world, schedules, "unpause", &[]).await;
    press(&world, schedules, "trigger", &[]).await;
    let (_, page) = world.get(schedules, "").await;
    assert!(page.contains(">Running<"), "{page}");
    let (_, link) = page.split_once("/workflows/scheduled").expect("a link to what it started");
    let link = link.split_once('"').expect("its end").0;
    let run = format!("/namespaces/default/workflows/scheduled{link}");
    let (head, page) = world.get(&run, "").await;
    assert!(head.starts_with("HTTP/1.1 200 OK") && page.contains("Running"), "{head}\n{page}");
}

#[tokio::test]
async fn what_cannot_be_done_is_told_and_changes_nothing() {
    let world = World::new().await;
    let here = from_here(&world);
    for (path, sent, status, told) in [
        (ERRORS, "do=resume&id=x", 400, "ids look like 812-5"),
        (ERRORS, "do=resume", 400, "id: "),
        (ERRORS, "do=explode&id=1-5", 400, "&quot;explode&quot; is nothing that can be done"),
        (ERRORS, "do=resume&fingerprint=zz", 400, "16 hexadecimal digits"),
        (ERRORS, "do=resume&fingerprint=%2B0000000000000aa", 400, "16 hexadecimal digits"),
        (ERRORS, "do=resume&fingerprint=00000000000000aa&spread=-1", 400, "spread: "),
        (ERRORS, "do=resume&fingerprint=00000000000000aa", 409, "nothing was done"),
        ("/namespaces/nowhere/errors", "do=resume&id=1-5", 404, "nowhere"),
        ("/namespaces/default/schedules", "do=trigger&id=none", 404, "none"),
        ("/namespaces/default/schedules", "do=dance&id=none", 400, "&quot;dance&quot;"),
        ("/namespaces/default/workflows/nobody/", "do=cancel", 404, "no such page"),
        ("/namespaces/default/workflows/nobody/0", "do=dance", 400, "&quot;dance&quot;"),
    ] {
        let (head, body) = world.post(path, &here, sent).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{path} {sent}: {head}\n{body}");
        assert!(body.contains(told), "{path} {sent}: {body}");
    }
    let (head, _) = world.post(ERRORS, &here, &"x".repeat(70_000)).await;
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
}

#[tokio::test]
async fn only_pages_of_the_server_can_send_forms() {
    let world = World::new().await;
    world.client().await.start_workflow_execution(start("order-1")).await.expect("a start");
    let run = "/namespaces/default/workflows/order-1";
    let (head, page) = world.get(run, "").await;
    // Without this a browser would not say that the form is from here.
    assert!(head.contains("referrer-policy: same-origin"), "{head}");
    let form = Form::with(&page, "terminate").expect("a button");
    let sent = form.sends("terminate", &[]);
    for origin in ["", "origin: null\r\n", "origin: http://evil.test\r\n"] {
        let (head, body) = world.post(&form.action, origin, &sent).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{origin}: {head}");
        assert!(body.contains("not sent by a page of this server"), "{body}");
    }
    let (_, page) = world.get(run, "").await;
    assert!(page.contains("Running"), "{page}");
    // Nor are they led away by one.
    let sent = "do=acknowledge&id=1-5&back=https%3A%2F%2Fevil.test";
    let (head, _) = world.post(ERRORS, &from_here(&world), sent).await;
    assert!(!head.contains("evil.test"), "{head}");
}

#[tokio::test]
async fn a_key_that_may_only_look_has_no_buttons() {
    let key = |secret: &str, right| Key {
        hash: KeyHash::of(secret.as_bytes()),
        namespace: Some(NAMESPACE.to_owned()),
        right,
    };
    let keys = Keys::new(vec![key("reader", Right::Read), key("writer", Right::Write)]);
    let world = World::with(Limits::default(), Doors { keys, ..doors() }).await;
    let authorized = |secret: &str| format!("authorization: Bearer {secret}\r\n");
    let mut client = world.client().await;
    let mut request = tonic::Request::new(start("order-1"));
    request.metadata_mut().insert("authorization", "Bearer writer".parse().expect("a value"));
    client.start_workflow_execution(request).await.expect("a start");
    let run = "/namespaces/default/workflows/order-1";
    let (_, page) = world.get(run, &authorized("reader")).await;
    assert!(Form::with(&page, "terminate").is_none(), "{page}");
    let (_, page) = world.get(run, &authorized("writer")).await;
    let form = Form::with(&page, "terminate").expect("a button");
    let sent = form.sends("terminate", &[]);
    let here = from_here(&world);
    for (headers, status) in [
        (here.clone(), "401"),
        (here.clone() + &authorized("reader"), "403"),
        (here + &authorized("writer"), "303"),
    ] {
        let (head, _) = world.post(&form.action, &headers, &sent).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{headers}: {head}");
    }
}
