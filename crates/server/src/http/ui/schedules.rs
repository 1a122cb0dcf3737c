//! Schedules: what they start and when; they are paused, set going again and triggered here.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use steadfast_engine::Error;
use steadfast_proto::{
    schedule::{
        ScheduleActionResult, ScheduleListEntry, ScheduleListInfo, SchedulePatch,
        TriggerImmediatelyRequest,
    },
    workflowservice::{ListSchedulesRequest, ListSchedulesResponse, PatchScheduleRequest},
};

use super::{
    deeds::unknown,
    form::{Form, posting},
    frame::{Section, rest},
    link,
    run::SAID,
    visit::{Visit, answered, refused},
    words,
};

/// Shows them.
pub(super) async fn show(visit: Visit) -> Response {
    answered(&visit, Section::Schedules, "Schedules", all(&visit).await)
}

async fn all(visit: &Visit) -> Result<Markup, Error> {
    let found = found(visit).await?;
    Ok(html! {
        h1 { "Schedules" }
        @if found.schedules.is_empty() {
            p.empty { "There are no schedules. " code { "steadfast schedule create --help" } " tells how to make one." }
        } @else {
            table {
                thead { tr { th { "State" } th { "Schedule" } th { "Starts" } th { "Next" } th { "Last" } th { "Note" } th { "To do" } } }
                tbody { @for schedule in &found.schedules { (line(visit, schedule)) } }
            }
        }
        (rest(&link::schedules(&visit.namespace), &[], &found.next_page_token, "Older ones"))
    })
}

async fn found(visit: &Visit) -> Result<ListSchedulesResponse, Error> {
    let request = ListSchedulesRequest {
        namespace: visit.namespace.clone(),
        maximum_page_size: PAGE,
        next_page_token: visit.token("page"),
        query: String::new(),
    };
    visit.engine.list_schedules(request).await
}

fn line(visit: &Visit, schedule: &ScheduleListEntry) -> Markup {
    let nothing = ScheduleListInfo::default();
    let info = schedule.info.as_ref().unwrap_or(&nothing);
    html! {
        tr {
            td { (words::badge(if info.paused { "Paused" } else { "Running" })) }
            td { (schedule.schedule_id) }
            td { (info.workflow_type.as_ref().map_or("", |kind| &kind.name)) }
            td { @if !info.paused { (words::moment_of(visit.now, info.future_action_times.first())) } }
            td { @if let Some(last) = info.recent_actions.last() { (started(visit, last)) } }
            td.said { (words::cut(&info.notes, SAID)) }
            td { (buttons(visit, &schedule.schedule_id, info.paused)) }
        }
    }
}

/// When it last started something, and what that is.
fn started(visit: &Visit, last: &ScheduleActionResult) -> Markup {
    let when = words::moment_of(visit.now, last.actual_time.as_ref());
    html! {
        @match &last.start_workflow_result {
            Some(run) => { a href=(link::run(&visit.namespace, &run.workflow_id, &run.run_id)) { (when) } }
            None => { (when) }
        }
    }
}

fn buttons(visit: &Visit, schedule_id: &str, is_paused: bool) -> Markup {
    let fields = html! {
        input type="hidden" name="id" value=(schedule_id);
        button name="do" value="trigger" { "Start now" }
        @if is_paused { button name="do" value="unpause" { "Unpause" } }
        @else { button name="do" value="pause" { "Pause" } }
    };
    posting(visit, &link::schedules(&visit.namespace), &fields)
}

/// Carries out what a form asks of a schedule.
pub(super) async fn change(form: Form) -> Response {
    match changed(&form).await {
        Ok(()) => Redirect::to(&link::schedules(&form.visit.namespace)).into_response(),
        Err(error) => refused(&form.visit, &error),
    }
}

async fn changed(form: &Form) -> Result<(), Error> {
    let Visit { engine, namespace, .. } = &form.visit;
    let none = SchedulePatch::default();
    let now = Some(TriggerImmediatelyRequest::default());
    let patch = match form.field("do") {
        "trigger" => SchedulePatch { trigger_immediately: now, ..none },
        "pause" => SchedulePatch { pause: "paused in the browser".to_owned(), ..none },
        "unpause" => SchedulePatch { unpause: "unpaused in the browser".to_owned(), ..none },
        other => return Err(unknown(other)),
    };
    let request = PatchScheduleRequest {
        namespace: namespace.clone(),
        schedule_id: form.field("id").to_owned(),
        patch: Some(patch),
        identity: form.who().identity,
        ..PatchScheduleRequest::default()
    };
    engine.patch_schedule(request).await.map(drop)
}

/// Schedules on a page.
const PAGE: i32 = 100;
