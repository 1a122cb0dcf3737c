//! Settings by the names that SDK test suites know them by.
//!
//! Those that have a counterpart here are applied. Those that turn on what is always on here, or
//! tune machinery that is not here, are taken silently. Any other one gets a warning, as does one
//! that turns off what is always on: a suite must not fail for a setting that a newer server has.

use std::{fmt::Display, time::Duration};

use anyhow::{Error, Result};
use steadfast_engine::Limits;

use crate::{input::Pair, time::Span, trouble::Trouble};

/// Applies the settings and gives those that are not known here.
pub(super) fn apply(pairs: &[Pair], limits: &mut Limits) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    for pair in pairs {
        // Values are JSON for some tools: "5s" comes with its quotes.
        let value = pair.value.trim().trim_matches('"');
        if set(&pair.key, value, limits)? {
            continue;
        }
        if !is_without_effect(&pair.key) {
            unknown.push(format!("--dynamic-config-value {}", pair.key));
        } else if value == "false" && is_always_on(&pair.key) {
            unknown.push(format!("--dynamic-config-value {}=false", pair.key));
        }
    }
    Ok(unknown)
}

/// Sets what has a counterpart here; `false` for anything else.
fn set(key: &str, value: &str, limits: &mut Limits) -> Result<bool> {
    let run = &mut limits.run;
    match key.to_lowercase().as_str() {
        "limit.historycount.suggestcontinueasnew" => {
            run.history_events_suggest = count(key, value)?;
        }
        "limit.historysize.suggestcontinueasnew" => run.history_bytes_suggest = count(key, value)?,
        "limit.historycount.error" => run.history_events_max = count(key, value)?,
        "limit.historysize.error" => run.history_bytes_max = count(key, value)?,
        "limit.blobsize.error" => run.blob_bytes_max = count(key, value)?,
        "limit.memosize.error" => run.memo_bytes_max = count(key, value)?,
        "limit.maxidlength" => run.id_bytes_max = count(key, value)?,
        "limit.numpendingactivities.error"
        | "limit.numpendingchildexecutions.error"
        | "limit.numpendingsignals.error"
        | "limit.numpendingcancelrequests.error" => run.pending_max = count(key, value)?,
        "history.maximumsignalsperexecution" => run.signals_max = count(key, value)?,
        "history.maximumbufferedeventsbatch" => run.buffered_events_max = count(key, value)?,
        "history.maximumbufferedeventssizeinbytes" => {
            run.buffered_bytes_max = count(key, value)?;
        }
        "history.maxinflightupdates" => run.updates_in_flight_max = count(key, value)?,
        "history.maxtotalupdates" => run.updates_max = count(key, value)?,
        "history.maxbufferedquerycount" => limits.queries_max = count(key, value)?,
        "history.continueasnewmininterval" => run.continue_as_new_interval = span(key, value)?,
        "frontend.enablecancelworkerpollsonshutdown" => {
            limits.polls_end_at_shutdown = switch(key, value)?;
        }
        "matching.longpollexpirationinterval" => limits.poll_wait = span(key, value)?,
        "history.longpollexpirationinterval" => limits.read_wait = span(key, value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn count<N: TryFrom<u32>>(key: &str, value: &str) -> Result<N> {
    let number = value.parse::<u32>().ok().and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| wrong(key, value, &"not a whole number"))
}

fn switch(key: &str, value: &str) -> Result<bool> {
    value.parse().map_err(|_| wrong(key, value, &"neither true nor false"))
}

fn span(key: &str, value: &str) -> Result<Duration> {
    let parsed = value.parse::<Span>().map(Span::wire);
    let parsed = parsed.map_err(|error| wrong(key, value, &error))?;
    let (seconds, nanos) = (u64::try_from(parsed.seconds), u32::try_from(parsed.nanos));
    Ok(Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default()))
}

fn wrong(key: &str, value: &str, why: &dyn Display) -> Error {
    Trouble::usage(format!("--dynamic-config-value {key}={value}: {why}"))
}

fn is_always_on(key: &str) -> bool {
    ALWAYS_ON.contains(&key.to_lowercase().as_str())
}

fn is_without_effect(key: &str) -> bool {
    let key = key.to_lowercase();
    WITHOUT_EFFECT.iter().any(|known| match known.strip_suffix('*') {
        Some(beginning) => key.starts_with(beginning),
        None => key == *known,
    })
}

/// What suites turn on, and nothing turns off here.
const ALWAYS_ON: &[&str] = &[
    "frontend.activityapisenabled",
    "frontend.enablebatcher",
    "frontend.enableexecutemultioperation",
    "frontend.enableschedules",
    "frontend.enableupdateworkflowexecution",
    "frontend.enableupdateworkflowexecutionasyncaccepted",
    "frontend.listworkersenabled",
    "frontend.workerheartbeatsenabled",
    "system.enableactivityeagerexecution",
    "system.enableeagerworkflowstart",
];

/// What suites set and what needs no setting here. A star stands for any ending.
const WITHOUT_EFFECT: &[&str] = &[
    "activity.enable*",
    "activity.longpoll*",
    "activity.startdelayenabled",
    "callback.*",
    "component.*",
    "frontend.activityapisenabled",
    "frontend.allowed*",
    "frontend.enable*",
    "frontend.global*",
    "frontend.keepalive*",
    "frontend.list*",
    "frontend.namespace*",
    "frontend.persistence*",
    "frontend.rps*",
    "frontend.worker*",
    "frontend.workflow*",
    "history.defaultactivityretrypolicy*",
    "history.enable*",
    "history.workflowtaskretrymaxinterval",
    "limit.blobsize.warn",
    "limit.historycount.warn",
    "limit.historysize.warn",
    "limit.memosize.warn",
    "matching.max*",
    "matching.num*",
    "matching.rps",
    "matching.usenewmatcher",
    "matching.wv.*",
    "nexusoperation.*",
    "system.enable*",
    "system.force*",
    "system.namespacecacherefreshinterval",
    "system.refreshnexusendpoints*",
    "system.secondaryvisibility*",
    "system.visibility*",
    "worker.*",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(pairs: &[&str]) -> (Limits, Result<Vec<String>>) {
        let pairs: Vec<Pair> = pairs.iter().map(|it| it.parse().expect("a pair")).collect();
        let mut limits = Limits::default();
        let warnings = apply(&pairs, &mut limits);
        (limits, warnings)
    }

    #[test]
    fn known_settings_are_applied() {
        let (limits, warnings) = applied(&[
            "limit.historyCount.suggestContinueAsNew=50",
            "limit.blobSize.error=10240",
            "matching.longPollExpirationInterval=\"2s\"",
            "frontend.enableCancelWorkerPollsOnShutdown=false",
        ]);
        assert_eq!(warnings.expect("taken"), Vec::<String>::new());
        assert_eq!(limits.run.history_events_suggest, 50);
        assert_eq!(limits.run.blob_bytes_max, 10_240);
        assert_eq!(limits.poll_wait, Duration::from_secs(2));
        assert!(!limits.polls_end_at_shutdown);
    }

    #[test]
    fn settings_without_effect_are_silent_and_unknown_ones_are_not() {
        let (limits, warnings) =
            applied(&["system.enableEagerWorkflowStart=true", "frontend.colour=blue"]);
        assert_eq!(warnings.expect("taken"), ["--dynamic-config-value frontend.colour"]);
        assert_eq!(limits.run, Limits::default().run);
    }

    #[test]
    fn what_is_always_on_is_not_turned_off_in_silence() {
        let (_, warnings) = applied(&[
            "system.enableEagerWorkflowStart=false",
            // There is none to turn off.
            "frontend.enableServerVersionCheck=false",
        ]);
        let told = ["--dynamic-config-value system.enableEagerWorkflowStart=false"];
        assert_eq!(warnings.expect("taken"), told);
    }

    #[test]
    fn a_value_that_cannot_be_is_refused() {
        let refused = applied(&["frontend.enableCancelWorkerPollsOnShutdown=no"]).1;
        let refused = refused.expect_err("refused").to_string();
        assert!(refused.contains("Shutdown=no: neither true nor false"), "{refused}");
        let refused = applied(&["limit.historyCount.error=many"]).1.expect_err("refused");
        assert!(refused.to_string().contains("limit.historyCount.error=many: not a whole number"));
    }
}
