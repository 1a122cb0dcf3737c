//! What operators do about failures, from words: inputs, and the rules of a namespace.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    AcknowledgeError, ActivityChange, ChangeActivity, ClearResume, Company, EndingRule,
    GiveUpActivity, Input, KeyRule, ParkActivity, ResumeActivity, ResumeTask, RetryNow, Rulebook,
    Run, ScheduleResume, Selector,
};
use steadfast_proto::common;
use steadfast_retry::{Ending, Layer, PlacedRule, Timestamp, pattern::NamePattern, resume};

use super::{
    commands::payload,
    inputs::{options, selector},
    words::{Call, length},
    world::BEGIN,
};

/// `park a`, `resume a`, `retry-now a`, `change a`, `acknowledge a` …
pub(crate) fn input(run: &Run, call: &Call) -> Input {
    if call.name == "resume-task" {
        return Input::ResumeTask(ResumeTask {
            request_id: call.text("id"),
            identity: call.get("by").unwrap_or("operator").to_owned(),
            reason: call.text("why"),
        });
    }
    let selector = selector(call);
    let identity = call.get("by").unwrap_or("operator").to_owned();
    let reason = call.text("why");
    match call.name.as_str() {
        "park" => Input::ParkActivity(ParkActivity { selector, identity, reason }),
        "resume" => Input::ResumeActivity(Box::new(ResumeActivity {
            selector,
            request_id: call.text("id"),
            identity,
            reason,
            reset_attempts: call.has("reset-attempts"),
            reset_heartbeat: call.has("reset-heartbeat"),
            rekey: call.has("rekey"),
            delay: call.get("delay").map(length).unwrap_or_default(),
            header: call.get("header").map(field).into_iter().collect(),
            change: change(call),
        })),
        "schedule-resume" => Input::ScheduleResume(ScheduleResume {
            selector,
            at: BEGIN.after(length(call.arg(1))),
            reason: call.arg(2).to_owned(),
        }),
        "clear-resume" => Input::ClearResume(ClearResume { selector, identity, reason }),
        "give-up" => Input::GiveUpActivity(GiveUpActivity { selector, identity, reason }),
        "retry-now" => Input::RetryNow(RetryNow { selector, identity, reason }),
        "change" => Input::ChangeActivity(Box::new(ChangeActivity {
            selector,
            change: change(call),
            identity,
            reason,
            now: call.has("now"),
        })),
        _ => Input::AcknowledgeError(AcknowledgeError {
            subject: subject(run, call.arg(0)),
            identity,
            reason,
        }),
    }
}

/// What the engine knows of the workers, in words: `workers tenants=5 well=no since=8s`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    tenants: Option<u32>,
    well: Option<bool>,
    since: Duration,
}

impl Known {
    pub(crate) fn of(call: &Call) -> Self {
        let tenants = call.get("tenants").map(|it| it.parse().expect("a number of attempts"));
        let since = call.get("since").map(length).unwrap_or_default();
        Self { tenants, well: call.get("well").map(|it| it == "yes"), since }
    }
}

impl Company for Known {
    fn tenants(&self, _: i64) -> Option<u32> {
        self.tenants
    }

    fn is_well(&self, _: i64) -> Option<bool> {
        self.well
    }

    fn listened_to_since(&self) -> Timestamp {
        BEGIN.after(self.since)
    }
}

/// The rules of the namespace from now on, in words:
/// `rules ending=park ttl=1m then=dead_letter before={…} after={…} resume={…} poison=3 tasks=5`.
pub(crate) fn rulebook(call: &Call) -> Rulebook {
    let mut book = Rulebook { version: 1, ..Rulebook::default() };
    let mut policies = Vec::new();
    for (key, value) in call.pairs() {
        match key {
            "before" => place(&mut book.before, Layer::Operator, value),
            "after" => place(&mut book.after, Layer::Namespace, value),
            "ending" => book.endings.push(ending_rule(call, value)),
            "poison" => book.poison_after = value.parse().expect("a number of workers"),
            "key-ttl" => book.keys.push(KeyRule { ttl: length(value), ..KeyRule::default() }),
            "tasks" => book.tasks_park_after = value.parse().expect("a number of failures"),
            "ttl" | "then" | "activity" => {}
            "sweep" => {
                book.sweep = Some(resume::Sweep { period: length(value), since: BEGIN });
            }
            name if name.starts_with("resume") => {
                let draft: resume::Draft = serde_json::from_str(value).expect("a resume policy");
                policies.push(draft.create(7).expect("a valid resume policy"));
            }
            other => panic!("no such rule: {other:?}"),
        }
    }
    book.resume = resume::Policies::new(policies);
    book
}

fn place(all: &mut Vec<PlacedRule>, layer: Layer, json: &str) {
    let rule = serde_json::from_str(json).expect("a rule");
    PlacedRule::place(all, rule, layer, Arc::from("ops@1"));
}

fn ending_rule(call: &Call, ending: &str) -> EndingRule {
    let activity = call.get("activity").map(|name| NamePattern::new(name).expect("a pattern"));
    EndingRule {
        workflow_type: None,
        activity,
        ending: named(ending),
        ttl: call.get("ttl").map(length),
        then: call.get("then").map_or(Ending::Fail, named),
    }
}

fn named(ending: &str) -> Ending {
    serde_json::from_value(ending.into()).expect("an ending")
}

fn change(call: &Call) -> ActivityChange {
    let changed = options(Selector::All, call);
    ActivityChange {
        policy: call.get("policy").map(str::to_owned),
        options: changed.options,
        mask: changed.mask,
        input: payload(call.get("input")),
    }
}

fn field(text: &str) -> (String, common::Payload) {
    let (name, value) = text.split_once(':').expect("a name and a value");
    let data = value.as_bytes().to_vec();
    (name.to_owned(), common::Payload { data, ..common::Payload::default() })
}

fn subject(run: &Run, name: &str) -> i64 {
    match (name, name.strip_prefix('#')) {
        ("run", _) => steadfast_core::RUN,
        ("task", _) => steadfast_core::TASK,
        (_, Some(number)) => number.parse().expect("an event id"),
        (name, None) => run.activities().named(name).copied().unwrap_or(99),
    }
}
