//! An explanation in a terminal.

use std::fmt;

use super::{Explanation, Row};
use crate::{
    policy::Policy,
    rule::{Action, Behaviour, Limits},
    span::Span,
};

/// The rules in order, each with the layer it came from; then the default, then the limits.
pub(super) fn rules(policy: &Policy) -> Vec<String> {
    let rules = policy.rules().iter();
    let mut lines: Vec<String> = (1..)
        .zip(rules)
        .map(|(number, placed)| {
            let then = behaviour(&placed.rule.then);
            format!("{number:>7}  {:<13}  {}: {then}", placed.layer, placed.rule.when)
        })
        .collect();
    let default = behaviour(policy.default_behaviour());
    lines.push(format!("default  {:<13}  any: {default}", policy.default_layer()));
    let (limits, ending) = (limits(policy.limits()), policy.on_exhausted());
    lines.push(format!("  limit  {limits}, then {ending}"));
    lines
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "policy {}", self.name)?;
        for rule in &self.rules {
            writeln!(f, "{rule}")?;
        }
        writeln!(f, "\nattempt        wait  with jitter           since start")?;
        writeln!(f, "      1           -  -                              0s")?;
        for row in &self.schedule {
            writeln!(f, "{row}")?;
        }
        writeln!(f, "\nsurvives an outage of  {}", self.horizon)?;
        match self.calls {
            Some(calls) => write!(f, "calls at most          {calls}")?,
            None => write!(f, "calls at most          without end")?,
        }
        if self.amplification != self.calls.map(u64::from) {
            let calls =
                self.amplification.map_or_else(|| "without end".to_owned(), |n| n.to_string());
            write!(f, "\nwith nested retries    {calls}")?;
        }
        self.lints.iter().try_for_each(|lint| write!(f, "\nwarning: {lint}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shortest, longest) = self.range;
        let range = format!("{} to {}", Span(shortest), Span(longest));
        let range = if shortest == longest { "-" } else { range.as_str() };
        let (wait, since) = (Span(self.wait), Span(self.since_start));
        write!(f, "{:>7}  {wait:>10}  {range:<20}  {since:>11}", self.attempt)
    }
}

fn behaviour(behaviour: &Behaviour) -> String {
    let mut text = behaviour.action.to_string();
    if behaviour.action == Action::Retry {
        text = format!("{text} {}", behaviour.backoff);
        if behaviour.limits.is_limited() {
            text = format!("{text}; {}", limits(behaviour.limits));
        }
        if !behaviour.counts {
            text = format!("{text}; not counted");
        }
    }
    match &behaviour.reason {
        Some(reason) => format!("{text} ({reason})"),
        None => text,
    }
}

fn limits(limits: Limits) -> String {
    let parts: Vec<String> = [
        limits.attempt_limit().map(|max| format!("{max} attempts")),
        limits.max_elapsed.map(|max| format!("{} in all", Span(max))),
        limits.max_execution.map(|max| format!("{} of running", Span(max))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}
