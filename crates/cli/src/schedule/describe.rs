//! `schedule describe`.

use anyhow::Result;
use jiff::Timestamp;
use steadfast_proto::{
    enums::ScheduleOverlapPolicy,
    schedule::{Schedule, ScheduleInfo, ScheduleSpec, schedule_action::Action},
    workflowservice::{DescribeScheduleRequest, DescribeScheduleResponse},
};

use crate::{
    client::Client,
    names,
    output::{Card, Payloads, View, message, show_all},
    time,
};

pub(super) async fn run(id: &str, client: &Client, view: &View) -> Result<()> {
    let request =
        DescribeScheduleRequest { namespace: client.namespace.clone(), schedule_id: id.to_owned() };
    let answer = client.answer(client.workflow.clone().describe_schedule(request)).await?;
    let rules = rules(answer.schedule.as_ref().and_then(|it| it.spec.as_ref()))?;
    view.answer(&answer, |answer| text(id, answer, &rules, Timestamp::now()))
}

fn text(id: &str, answer: &DescribeScheduleResponse, rules: &[String], now: Timestamp) -> String {
    let schedule = answer.schedule.clone().unwrap_or_default();
    let mut card = Card::default();
    card.line("Schedule id", id);
    about(&mut card, &schedule);
    for rule in rules {
        card.line("When", rule.clone());
    }
    history(&mut card, &answer.info.clone().unwrap_or_default(), now);
    card.text()
}

fn about(card: &mut Card, schedule: &Schedule) {
    let state = schedule.state.clone().unwrap_or_default();
    card.line("State", if state.paused { "Paused" } else { "Running" }).line("Notes", state.notes);
    if state.limited_actions {
        card.line("Actions left", state.remaining_actions.to_string());
    }
    let action = schedule.action.clone().and_then(|it| it.action);
    if let Some(Action::StartWorkflow(workflow)) = action {
        card.line("Starts", workflow.workflow_type.unwrap_or_default().name)
            .line("Workflow id", workflow.workflow_id)
            .line("Task queue", workflow.task_queue.unwrap_or_default().name)
            .line("Input", show_all(workflow.input.as_ref()));
    }
    let policies = schedule.policies.unwrap_or_default();
    let overlap = ScheduleOverlapPolicy::try_from(policies.overlap_policy).unwrap_or_default();
    card.line("Overlap", names::shown(overlap.as_str_name(), "SCHEDULE_OVERLAP_POLICY_"))
        .line("Catch-up window", time::lasting(policies.catchup_window.as_ref()));
    if policies.pause_on_failure {
        card.line("On failure", "rests");
    }
}

fn history(card: &mut Card, info: &ScheduleInfo, now: Timestamp) {
    card.line("Made", time::relative(info.create_time.as_ref(), now))
        .line("Changed", time::relative(info.update_time.as_ref(), now))
        .line("Actions", info.action_count.to_string());
    for (name, count) in [
        ("Missed", info.missed_catchup_window),
        ("Skipped", info.overlap_skipped),
        ("Dropped", info.buffer_dropped),
        ("Waiting", info.buffer_size),
    ] {
        if count > 0 {
            card.line(name, count.to_string());
        }
    }
    for running in &info.running_workflows {
        card.line("Running", format!("{} {}", running.workflow_id, running.run_id));
    }
    for done in info.recent_actions.iter().rev().take(SHOWN) {
        let started = done.start_workflow_result.clone().unwrap_or_default();
        let when = time::relative(done.actual_time.as_ref(), now);
        card.line("Did", format!("{when}  {}", started.workflow_id));
    }
    for next in info.future_action_times.iter().take(SHOWN) {
        card.line("Next", time::relative(Some(next), now));
    }
}

/// The rules of when it acts, as they are on the wire: those of each kind, one a line.
fn rules(spec: Option<&ScheduleSpec>) -> Result<Vec<String>> {
    let Some(spec) = spec else { return Ok(Vec::new()) };
    let json = message(spec, Payloads::Decoded)?;
    let fields = json.as_object().into_iter().flatten();
    let rules = fields.flat_map(|(name, value)| match value.as_array() {
        Some(list) => list.iter().map(|it| format!("{name} {it}")).collect(),
        None => vec![format!("{name} {value}")],
    });
    Ok(rules.collect())
}

const SHOWN: usize = 5;
