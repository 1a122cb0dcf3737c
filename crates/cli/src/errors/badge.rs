//! What becomes of an error next, in words.

use jiff::Timestamp;
use serde_json::Value;

use crate::time;

/// What becomes of an error next.
pub(super) fn next(error: &Value, now: Timestamp) -> String {
    if let Some(acknowledged) = error["acknowledged"].as_object() {
        let said = |name: &str| acknowledged.get(name).and_then(Value::as_str).unwrap_or_default();
        let reason = said("reason");
        let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        return format!("acknowledged by {}{why}", said("by"));
    }
    let at = error["nextAt"].as_str().unwrap_or_default();
    match error["state"].as_str().unwrap_or_default() {
        "parked" | "failed" if error["nextAutoResume"].is_string() => {
            let at = error["nextAutoResume"].as_str().unwrap_or_default();
            auto_resume(at, error["nextAutoResumeReason"].as_str(), now)
        }
        "parked" => "waits for a resume".to_owned(),
        "retrying" if at.is_empty() => "is being tried".to_owned(),
        "retrying" => format!("next attempt {}", time::distance(at, now)),
        "failed" => "can be resumed".to_owned(),
        _ => "given up".to_owned(),
    }
}

/// When a policy resumes it, and which.
fn auto_resume(at: &str, policy: Option<&str>, now: Timestamp) -> String {
    let policy = policy.map(|name| format!(", policy {name}")).unwrap_or_default();
    let Ok(time) = at.parse::<Timestamp>() else { return format!("auto resume at {at}{policy}") };
    let away = time.duration_since(now);
    let when = time::short(at);
    if away.is_negative() {
        return format!("Scheduled for auto resume at {when}{policy}");
    }
    let seconds = away.as_secs();
    let unit = if seconds == 1 { "second" } else { "seconds" };
    format!("Next auto resume in {seconds} {unit} (at {when}){policy}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parked(seconds: i64) -> Value {
        let at = Timestamp::from_second(1_000_000 + seconds).expect("a time").to_string();
        json!({ "state": "parked", "nextAt": at, "nextAutoResume": at, "nextAutoResumeReason": "stripe" })
    }

    #[test]
    fn d_116_the_badge_says_when_and_by_which_policy_it_is_resumed() {
        let now = Timestamp::from_second(1_000_000).expect("a time");
        assert_eq!(
            next(&parked(42), now),
            "Next auto resume in 42 seconds (at 1970-01-12T13:47:22Z), policy stripe"
        );
        assert_eq!(
            next(&parked(-5), now),
            "Scheduled for auto resume at 1970-01-12T13:46:35Z, policy stripe"
        );
    }

    #[test]
    fn what_is_not_scheduled_says_what_it_waits_for() {
        let now = Timestamp::from_second(1_000_000).expect("a time");
        let said = |value: Value| next(&value, now);
        assert_eq!(said(json!({ "state": "parked" })), "waits for a resume");
        assert_eq!(said(json!({ "state": "retrying" })), "is being tried");
        assert_eq!(said(json!({ "state": "failed" })), "can be resumed");
        assert_eq!(said(json!({ "state": "dead" })), "given up");
        let seen = json!({ "state": "parked", "acknowledged": { "by": "ann", "reason": "known" } });
        assert_eq!(said(seen), "acknowledged by ann: known");
        let waits = json!({ "state": "retrying", "nextAt": "1970-01-12T13:46:52Z" });
        assert_eq!(said(waits), "next attempt in 12s");
    }
}
