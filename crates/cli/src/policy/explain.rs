//! `steadfast policy explain`: what a policy means, before it matters.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use steadfast_retry::{
    Decision, Layer, Policy, Seed, Signals, State, Timestamp, decide,
    explain::{Explanation, Horizon, Row, Setting, explain},
};

use super::{
    draw,
    occasion::{OccasionArgs, no_such_attempt},
};
use crate::{
    file,
    output::{Paint, View},
    time,
    trouble::Trouble,
};

/// Which policy, and what it is asked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The policy, a JSON or YAML file; `-` is standard input
    file: String,

    /// An operator's policy that is asked before it; once for each
    #[arg(long, value_name = "FILE")]
    operator: Vec<String>,

    #[command(flatten)]
    occasion: OccasionArgs,

    /// How long one attempt may take
    #[arg(long, value_name = "DURATION")]
    start_to_close: Option<time::Span>,

    /// How long all attempts may take together
    #[arg(long, value_name = "DURATION")]
    schedule_to_close: Option<time::Span>,

    /// How long the other side remembers an idempotency key
    #[arg(long, value_name = "DURATION")]
    idempotency_ttl: Option<time::Span>,

    /// Many retry against the same other side
    #[arg(long)]
    shared: bool,

    /// Attempts that a layer around or below makes of each of these; once for each layer
    #[arg(long, value_name = "NUMBER")]
    nested: Vec<u32>,
}

/// Does it.
pub(super) fn run(args: &ExplainArgs, view: &View) -> Result<()> {
    let policy = policy(args)?;
    let span = |span: Option<time::Span>| span.map(time::Span::duration);
    let setting = Setting {
        failure: args.occasion.failure(),
        place: args.occasion.place(),
        start_to_close: span(args.start_to_close),
        schedule_to_close: span(args.schedule_to_close),
        idempotency_ttl: span(args.idempotency_ttl),
        is_shared: args.shared,
        nested_attempts: &args.nested,
    };
    let explanation = explain(&policy, &setting);
    let decided = match &args.occasion.error {
        Some(_) => Some(decided(&policy, &setting, args.occasion.attempt)?),
        None => None,
    };
    let value = value(&policy, &explanation, decided.as_ref());
    view.answer_value(&value, || {
        let paint = view.paint();
        let decided = decided.map(|decision| format!("\n{}", told(&policy, &decision)));
        text(&explanation, paint) + &decided.unwrap_or_default()
    })
}

/// The policy with the operator's on top.
fn policy(args: &ExplainArgs) -> Result<Policy> {
    let mut drafts = vec![(Layer::CallSite, file::draft(&args.file)?)];
    for name in &args.operator {
        drafts.push((Layer::Operator, file::draft(name)?));
    }
    Policy::merge(drafts).map_err(|invalid| Trouble::usage(format!("{}: {invalid}", args.file)))
}

/// What is decided when the attempt of this number fails, and those before it failed alike.
fn decided(policy: &Policy, setting: &Setting<'_>, attempt: u32) -> Result<Decision> {
    let start = Timestamp::default();
    let signals = Signals {
        deadline: setting.schedule_to_close.map(|limit| start.after(limit)),
        place: setting.place,
        ..Signals::default()
    };
    let (mut state, mut now) = (State::started(start), start);
    for number in 1.. {
        state.deliver();
        let seed = Seed::new(&[]);
        let decision = decide(Some(policy), &state, &setting.failure, &signals, now, seed);
        if number == attempt {
            return Ok(decision);
        }
        let Some(at) = decision.retry_at() else { return Err(no_such_attempt(attempt, number)) };
        state.record(&decision);
        now = at;
    }
    unreachable!("the numbers do not end before the attempt's")
}

fn text(explanation: &Explanation, paint: Paint) -> String {
    let mut lines = vec![format!("policy {}", explanation.name)];
    lines.extend(explanation.rules.iter().cloned());
    lines.push("\nattempt        wait  with jitter           since start".to_owned());
    lines.push("      1           -  -                              0s".to_owned());
    let longest = explanation.schedule.iter().map(|row| row.wait).max().unwrap_or_default();
    for row in &explanation.schedule {
        lines.push(format!("{row}  {}", paint.faint(&draw::bar(row.wait, longest))));
    }
    let shown = u32::try_from(explanation.schedule.len()).unwrap_or(u32::MAX).saturating_add(1);
    match explanation.calls {
        Some(calls) if calls > shown => lines.push(format!("      …  {} more", calls - shown)),
        None => lines.push("      …  and so on".to_owned()),
        Some(_) => {}
    }
    lines.push(format!("\nsurvives an outage of  {}", explanation.horizon));
    let count =
        |calls: Option<u64>| calls.map_or_else(|| "without end".to_owned(), |n| n.to_string());
    let calls = explanation.calls.map(u64::from);
    lines.push(format!("calls at most          {}", count(calls)));
    if explanation.amplification != calls {
        lines.push(format!("with nested retries    {}", count(explanation.amplification)));
    }
    let warnings = explanation.lints.iter().map(|lint| format!("{} {lint}", paint.odd("warning:")));
    lines.extend(warnings);
    lines.join("\n") + "\n"
}

/// Which rule decided, and from which layer.
fn told(policy: &Policy, decision: &Decision) -> String {
    let rule = decision
        .why()
        .rule
        .and_then(|rule| policy.rules().get(rule.index).map(|placed| (rule, placed)));
    let who = match rule {
        Some((rule, placed)) => {
            format!("rule {} ({}): {}", rule.index + 1, placed.layer, placed.rule.when)
        }
        None => format!("the default ({})", policy.default_layer()),
    };
    format!("this failure  {decision}\ndecided by    {who}\n")
}

fn value(policy: &Policy, explanation: &Explanation, decided: Option<&Decision>) -> Value {
    let rules: Vec<Value> = (1..)
        .zip(policy.rules())
        .map(|(number, placed)| {
            json!({
                "rule": number,
                "layer": placed.layer,
                "match": placed.rule.when,
                "action": placed.rule.then.action,
            })
        })
        .collect();
    let mut value = json!({
        "name": explanation.name,
        "rules": rules,
        "schedule": explanation.schedule.iter().map(row).collect::<Vec<_>>(),
        "survives": horizon(explanation.horizon),
        "calls": explanation.calls,
        "amplification": explanation.amplification,
        "lints": explanation.lints.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    if let Some(decision) = decided {
        value["decision"] = decision_value(policy, decision);
    }
    value
}

fn decision_value(policy: &Policy, decision: &Decision) -> Value {
    let rule = decision.why().rule;
    let placed = rule.and_then(|rule| policy.rules().get(rule.index));
    let delay = match decision {
        Decision::RetryAt { delay, .. } => Some(seconds(*delay)),
        Decision::Park { .. } | Decision::Exhausted { .. } | Decision::Fail { .. } => None,
    };
    json!({
        "text": decision.to_string(),
        "retries": decision.retry_at().is_some(),
        "delaySeconds": delay,
        "rule": rule.map(|rule| rule.index + 1),
        "layer": placed.map_or_else(|| policy.default_layer(), |placed| placed.layer),
    })
}

fn row(row: &Row) -> Value {
    json!({
        "attempt": row.attempt,
        "waitSeconds": seconds(row.wait),
        "shortestSeconds": seconds(row.range.0),
        "longestSeconds": seconds(row.range.1),
        "sinceStartSeconds": seconds(row.since_start),
        "rule": row.rule,
    })
}

fn horizon(horizon: Horizon) -> Value {
    match horizon {
        Horizon::Endless => json!({ "endless": true }),
        Horizon::Exact(span) => {
            let span = seconds(span);
            json!({ "p5Seconds": span, "p50Seconds": span, "p95Seconds": span })
        }
        Horizon::Jittered { p5, p50, p95 } => json!({
            "p5Seconds": seconds(p5),
            "p50Seconds": seconds(p50),
            "p95Seconds": seconds(p95),
        }),
    }
}

fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use steadfast_retry::Draft;

    use super::*;

    fn stripe() -> Policy {
        let draft: Draft = serde_json::from_str(
            r#"{"name": "stripe", "rules": [
                {"match": {"code": 429}, "counts": false, "backoff": {"kind": "constant", "initial": "5s"}},
                {"match": {"type": "CardDeclined"}, "action": "fail"},
                {"match": {"code": 429}, "action": "park"}
            ], "default": {"backoff": {"kind": "exponential", "initial": "1s", "coef": 2, "max": "30s", "jitter": "none"}},
            "max_attempts": 8}"#,
        )
        .expect("a policy");
        Policy::new(draft).expect("a right one")
    }

    #[test]
    fn the_schedule_is_drawn() {
        let explanation = explain(&stripe(), &Setting::default());
        insta::assert_snapshot!(text(&explanation, Paint::plain()));
    }

    #[test]
    fn the_rule_that_decides_is_named() {
        let parts: super::super::occasion::Parts =
            "type=CardDeclined,message=no".parse().expect("a failure");
        let args = |attempt| OccasionArgs::asking(parts.clone(), attempt);
        let (policy, first) = (stripe(), args(1));
        let setting = Setting { failure: first.failure(), ..Setting::default() };
        let decision = decided(&policy, &setting, 1).expect("decided");
        insta::assert_snapshot!(told(&policy, &decision), @r"
        this failure  fail: the rule says so (rule 2)
        decided by    rule 2 (call site): type=CardDeclined
        ");
        let refused = decided(&policy, &setting, 2).expect_err("there is no second");
        assert_eq!(refused.to_string(), "--attempt 2: the policy makes 1 at most");
    }
}
