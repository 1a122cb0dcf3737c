//! `steadfast attempts`: every attempt of a workflow.

use anyhow::Result;
use serde_json::Value;

use crate::{
    caller::escaped,
    family::HttpOptions,
    output::{Paint, Table, cut},
    time,
};

/// Tell every attempt of a workflow: how it ended, what was decided, by which rule, and when the
/// next one comes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    options: HttpOptions,

    /// The workflow's id
    workflow: String,

    /// The run's id; without it, the latest run
    #[arg(long, short, value_name = "ID")]
    run_id: Option<String>,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (caller, view) = args.options.open()?;
    let query: Vec<_> = args.run_id.clone().map(|id| ("runId", id)).into_iter().collect();
    let path = format!("workflows/{}/attempts", escaped(&args.workflow));
    let answer = caller.get(&path, &query).await?;
    view.answer_value(&answer, || text(&answer, view.paint()))
}

fn text(answer: &Value, paint: Paint) -> String {
    let tried = answer["tried"].as_array().map_or(&[][..], Vec::as_slice);
    if tried.is_empty() {
        return "nothing has been tried more than once\n".to_owned();
    }
    let parts: Vec<String> = tried.iter().map(|tried| part(tried, paint)).collect();
    parts.join("\n")
}

fn part(tried: &Value, paint: Paint) -> String {
    let said = |name: &str| tried[name].as_str().unwrap_or_default();
    let name = match said("subject") {
        "run" => "the run".to_owned(),
        "workflow_task" => "its workflow task".to_owned(),
        _ => format!("activity {} {}", said("activityType"), said("activityId")),
    };
    let mut table =
        Table::new(["ATTEMPT", "OUTCOME", "ENDED", "WORKER", "ERROR", "DECIDED", "BY", "NEXT"]);
    for attempt in tried["attempts"].as_array().map_or(&[][..], Vec::as_slice) {
        table.row(row(attempt));
    }
    let dropped: u64 = tried["dropped"]
        .as_object()
        .map_or(0, |counts| counts.values().filter_map(Value::as_u64).sum());
    let note = if dropped == 0 {
        String::new()
    } else {
        format!("{dropped} attempts between the first and the last are counted, not kept\n")
    };
    format!("{}\n{}{note}", paint.faint(&name), table.text_or("no attempts"))
}

fn row(attempt: &Value) -> [String; 8] {
    let said = |name: &str| attempt[name].as_str().unwrap_or_default().to_owned();
    let error = match said("errorType").as_str() {
        "" => said("message"),
        kind => format!("{kind}: {}", said("message")),
    };
    let next = match (attempt["parked"].as_bool(), said("nextAt").as_str()) {
        (Some(true), "") => "parked".to_owned(),
        (Some(true), at) => format!("parked until {}", time::short(at)),
        (_, at) => time::short(at),
    };
    let by: Vec<String> = [said("layer"), said("policy"), said("rule")]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    [
        attempt["attempt"].to_string(),
        said("outcome"),
        time::short(&said("endedAt")),
        cut(&said("worker"), 24),
        cut(&error, 48),
        cut(&said("why"), 48),
        cut(&by.join(" "), 48),
        next,
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_attempt_is_a_line() {
        let answer = json!({ "tried": [{
            "subject": "activity", "activityId": "1", "activityType": "Charge",
            "attempts": [
                { "attempt": 1, "outcome": "failed", "endedAt": "2026-01-31T08:00:00.5Z", "worker": "w",
                  "errorType": "CardError", "message": "no money", "why": "retry in 2s: backoff",
                  "layer": "operator", "policy": "stripe@3", "rule": "type=CardError",
                  "nextAt": "2026-01-31T08:00:02.5Z", "parked": false },
                { "attempt": 2, "outcome": "timed_out", "endedAt": "2026-01-31T08:01:02Z", "worker": "w",
                  "why": "exhausted", "parked": true },
            ],
            "dropped": { "00000000000000ff": 7 },
        }]});
        insta::assert_snapshot!(text(&answer, Paint::plain()), @r"
        activity Charge 1
        ATTEMPT  OUTCOME    ENDED                 WORKER  ERROR                DECIDED               BY                                NEXT
        1        failed     2026-01-31T08:00:00Z  w       CardError: no money  retry in 2s: backoff  operator stripe@3 type=CardError  2026-01-31T08:00:02Z
        2        timed_out  2026-01-31T08:01:02Z  w                            exhausted                                               parked
        7 attempts between the first and the last are counted, not kept
        ");
        assert_eq!(
            text(&json!({ "tried": [] }), Paint::plain()),
            "nothing has been tried more than once\n"
        );
    }
}
