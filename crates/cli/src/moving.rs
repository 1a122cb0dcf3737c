//! Changing what is already being retried, or saying what that would move.

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::{
    act::{ActArgs, tell},
    caller::Caller,
    output::{Table, View},
    time,
};

/// When a change holds.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Moving {
    /// Reckon waits that are under way anew; otherwise the change holds from the next failure on
    #[arg(long)]
    now: bool,

    /// Only say what the change would move
    #[arg(long)]
    dry_run: bool,
}

/// Changes errors, or says what that would move.
pub(crate) async fn carry_out(
    act: &ActArgs,
    change: Map<String, Value>,
    how: &Moving,
    caller: &Caller,
    view: &View,
) -> Result<()> {
    let body = json!({
        "select": act.select.value()?,
        "reason": act.reason,
        "change": change,
        "now": how.now,
    });
    if how.dry_run {
        let preview = caller.post("errors/preview-change", &body).await?;
        return view.answer_value(&preview, || preview_text(&preview));
    }
    tell(&caller.post("errors/change", &body).await?, "changed", view)
}

/// What a change would move, in words.
pub(crate) fn preview_text(preview: &Value) -> String {
    let peak = match preview["peak"]["rate"].as_u64() {
        Some(rate) => {
            let after = preview["peak"]["after"].as_str().unwrap_or_default();
            format!("; at most {rate} in a second, in {after}")
        }
        None => String::new(),
    };
    let head = format!(
        "of {} pending, {} would be tried sooner, {} later, {} not again, {} parked{peak}\n",
        preview["pending"],
        preview["sooner"],
        preview["later"],
        preview["ended"],
        preview["parked"]
    );
    let mut table = Table::new(["WORKFLOW", "ACTIVITY", "NEXT NOW", "NEXT THEN"]);
    for moved in preview["moved"].as_array().map_or(&[][..], Vec::as_slice) {
        let said = |name: &str| moved[name].as_str().unwrap_or_default();
        table.row([
            said("workflowId").to_owned(),
            format!("{} {}", said("activityType"), said("activityId")),
            time::short(said("from")),
            time::short(said("to")),
        ]);
    }
    head + &table.text_or("")
}
