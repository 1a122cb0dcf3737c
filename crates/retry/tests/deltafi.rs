//! What `DeltaFi` promises of automatic resume, as far as it is a matter of rules and not of storage.

use std::time::Duration;

use steadfast_retry::{
    Failure, Place, Policy as RetryPolicy, Reason, Seed, Signals, State, Timestamp, Unit, decide,
    preset,
    resume::{
        ActionError, BackOff, BackOffDraft, Draft, Fault, NO_EGRESS, Policies, Policy, Sweep,
    },
};

/// Reads a policy and checks it.
fn policy(json: &str) -> Policy {
    draft(json).create(0).expect("a valid policy")
}

fn draft(json: &str) -> Draft {
    serde_json::from_str(json).expect("a policy in JSON")
}

/// A policy for flow F with this wait.
fn waiting(back_off: &str) -> Result<BackOff, Vec<Fault>> {
    let json = format!(r#"{{"name": "n", "flow": "F", "maxAttempts": 99, "backOff": {back_off}}}"#);
    draft(&json).create(0).map(|policy| policy.back_off).map_err(|invalid| invalid.faults)
}

/// The waits after attempts 1, 2, 3, …, in seconds.
fn waits(back_off: &str, attempts: u32) -> Vec<u64> {
    let back_off = waiting(back_off).expect("a valid wait");
    (1..=attempts).map(|attempt| back_off.wait(attempt, Unit::ZERO).as_secs()).collect()
}

const ERROR: ActionError<'static> = ActionError {
    cause: "read timeout after 5s",
    flow: "F",
    action: "F.Fetch",
    action_type: "TRANSFORM",
    attempts: 1,
    stopped_at: Timestamp::from_secs(1_000),
};

fn takes(json_criteria: &str, error: &ActionError<'_>) -> bool {
    let json = format!(
        r#"{{"name": "n", {json_criteria}, "maxAttempts": 9, "backOff": {{"delay": 10}}}}"#
    );
    policy(&json).takes(error)
}

fn priority(criteria: &str) -> i64 {
    let json =
        format!(r#"{{"name": "n", {criteria}, "maxAttempts": 9, "backOff": {{"delay": 10}}}}"#);
    policy(&json).priority
}

fn named(name: &str, priority: i64, max_attempts: u32) -> Policy {
    let json = format!(
        r#"{{"name": "{name}", "flow": "F", "maxAttempts": {max_attempts},
            "priority": {priority}, "backOff": {{"delay": 10}}}}"#
    );
    policy(&json)
}

fn found<'a>(policies: &'a Policies, error: &ActionError<'_>) -> Option<&'a str> {
    policies.find(error).map(|policy| policy.name.as_str())
}

const EXAMPLE_1: &str = r#"{
    "id": "88bc7429-7adf-4bb1-b23f-3922993e0a1a", "name": "auto-resume-passthrough",
    "flow": "passthrough", "maxAttempts": 10,
    "backOff": {"delay": 60, "maxDelay": 300, "multiplier": 1}
}"#;

const EXAMPLE_2: &str = r#"{
    "id": "a2b08968-866a-4080-bc28-1d7e7c81ada8", "name": "resume-json-errors",
    "errorSubstring": "JsonException", "actionType": "TRANSFORM", "maxAttempts": 4,
    "backOff": {"delay": 60, "maxDelay": 120, "random": true}
}"#;

#[test]
fn d_05_the_id_is_a_uuid_unless_given() {
    let bare = r#"{"name": "n", "flow": "F", "maxAttempts": 2, "backOff": {"delay": 1}}"#;
    for random in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef] {
        let id = draft(bare).create(random).expect("valid").id;
        let parts: Vec<&str> = id.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(id.chars().all(|c| c == '-' || c.is_ascii_hexdigit()), "{id}");
        assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
    }
    let ids = [1, 2].map(|random| draft(bare).create(random).expect("valid").id);
    assert_ne!(ids[0], ids[1]);
    assert_eq!(policy(EXAMPLE_1).id, "88bc7429-7adf-4bb1-b23f-3922993e0a1a");
}

#[test]
fn d_06_a_policy_holds_what_it_was_given() {
    let policy = policy(
        r#"{"id": "i", "name": "n", "errorSubstring": "e", "flow": "f", "action": "f.a",
            "actionType": "t", "maxAttempts": 3, "priority": 7, "backOff": {"delay": 1}}"#,
    );
    let text = serde_json::to_string(&policy).expect("JSON");
    insta::assert_snapshot!(text, @r#"{"id":"i","name":"n","errorSubstring":"e","flow":"f","action":"f.a","actionType":"t","maxAttempts":3,"priority":7,"backOff":{"delay":1,"random":false}}"#);
    assert_eq!(draft(&text).create(0), Ok(policy));
}

#[test]
fn d_07_the_back_off_holds_what_it_was_given() {
    let full = waiting(r#"{"delay": 1, "maxDelay": 9, "multiplier": 3, "random": true}"#);
    let expected = BackOff { delay: 1, max_delay: Some(9), multiplier: Some(3), random: true };
    assert_eq!(full, Ok(expected));
    let unset = BackOff { delay: 1, max_delay: None, multiplier: None, random: false };
    assert_eq!(waiting(r#"{"delay": 1}"#), Ok(unset));
}

#[test]
fn d_08_policies_are_asked_in_decreasing_priority() {
    for (a, b, first) in [(50, 60, "b"), (60, 50, "a")] {
        let policies = Policies::new([named("a", a, 9), named("b", b, 9)]);
        assert_eq!(found(&policies, &ERROR), Some(first));
    }
}

#[test]
fn d_09_all_given_criteria_must_match() {
    let both = r#""errorSubstring": "timeout", "flow": "F""#;
    assert!(takes(both, &ERROR));
    assert!(!takes(both, &ActionError { flow: "G", ..ERROR }));
    assert!(!takes(both, &ActionError { cause: "broken pipe", ..ERROR }));
}

#[test]
fn d_10_criteria_not_given_do_not_restrict() {
    let other = ActionError { cause: "x", action: "F.Other", action_type: "EGRESS", ..ERROR };
    assert!(takes(r#""flow": "F""#, &ERROR));
    assert!(takes(r#""flow": "F""#, &other));
}

#[test]
fn d_11_the_cause_is_searched_for_a_substring() {
    let timeout = r#""errorSubstring": "timeout""#;
    assert!(takes(timeout, &ERROR));
    assert!(!takes(timeout, &ActionError { cause: "TIMEOUT", ..ERROR }));
    assert!(!takes(timeout, &ActionError { cause: "", action: "F.timeout", ..ERROR }));
}

#[test]
fn d_12_the_flow_matches_exactly() {
    let error = ActionError { flow: "passthrough", ..ERROR };
    assert!(!takes(r#""flow": "pass""#, &error));
    assert!(takes(r#""flow": "passthrough""#, &error));
}

#[test]
fn d_13_the_action_matches_exactly() {
    let error = ActionError { action: "smoke.FormatAction", ..ERROR };
    assert!(!takes(r#""action": "smoke.Format""#, &error));
    assert!(takes(r#""action": "smoke.FormatAction""#, &error));
}

#[test]
fn d_14_the_action_type_matches_exactly() {
    assert!(!takes(
        r#""actionType": "TRANSFORM""#,
        &ActionError { action_type: "EGRESS", ..ERROR }
    ));
    assert!(takes(r#""actionType": "TRANSFORM""#, &ERROR));
}

#[test]
fn d_15_attempts_must_be_below_the_maximum() {
    let policies = Policies::new([named("a", 50, 4)]);
    let scheduled = |attempts| found(&policies, &ActionError { attempts, ..ERROR }).is_some();
    assert_eq!([1, 2, 3, 4, 5].map(scheduled), [true, true, true, false, false]);
}

#[test]
fn d_16_a_used_up_policy_lets_the_next_one_have_its_turn() {
    let policies = Policies::new([named("A", 100, 2), named("B", 50, 5)]);
    let turns: Vec<_> = (1..=5)
        .map(|attempts| found(&policies, &ActionError { attempts, ..ERROR }).unwrap_or("none"))
        .collect();
    assert_eq!(turns, ["A", "B", "B", "B", "none"]);
}

#[test]
fn d_17_the_action_carries_its_flow_in_front() {
    let bare = draft(
        r#"{"name": "n", "action": "SmokeFormatAction", "maxAttempts": 2,
            "backOff": {"delay": 1}}"#,
    );
    let faults = bare.create(0).expect_err("no prefix").faults;
    assert_eq!(faults, [Fault::NoFlowPrefix { action: "SmokeFormatAction".to_owned() }]);
    let error = ActionError { action: "smoke.SmokeFormatAction", ..ERROR };
    assert!(takes(r#""action": "smoke.SmokeFormatAction""#, &error));
}

#[test]
fn d_18_no_egress_needs_no_prefix() {
    let criteria = format!(r#""action": "{NO_EGRESS}""#);
    assert!(takes(&criteria, &ActionError { action: NO_EGRESS, ..ERROR }));
    let prefixed = format!("smoke.{NO_EGRESS}");
    assert!(takes(&criteria, &ActionError { action: &prefixed, ..ERROR }));
    assert!(!takes(&criteria, &ERROR));
}

#[test]
fn d_19_only_the_first_match_is_applied() {
    let policies = Policies::new([named("c", 10, 9), named("a", 30, 9), named("b", 20, 9)]);
    let resume = policies.resume(&ERROR, Unit::ZERO).expect("a match");
    assert_eq!(resume.reason, "a");
}

#[test]
fn d_20_priority_is_computed_unless_given() {
    assert_eq!(priority(r#""flow": "F""#), 50);
    assert_eq!(priority(r#""flow": "F", "priority": 7"#), 7);
}

#[test]
fn d_21_computed_priorities_range_from_50_to_250() {
    let all: Vec<i64> = combinations().iter().map(|draft| created(draft).priority).collect();
    assert_eq!(all.len(), 15);
    assert_eq!((all.iter().min(), all.iter().max()), (Some(&50), Some(&250)));
}

#[test]
fn d_22_a_long_substring_is_worth_100() {
    assert_eq!(priority(r#""errorSubstring": "JsonExcepti""#), 100);
}

#[test]
fn d_23_a_short_substring_is_worth_50() {
    assert_eq!(priority(r#""errorSubstring": "JsonExcept""#), 50);
    // Characters count, not bytes.
    assert_eq!(priority(r#""errorSubstring": "ééééééé""#), 50);
}

#[test]
fn d_24_an_action_is_worth_100() {
    assert_eq!(priority(r#""action": "F.A""#), 100);
}

#[test]
fn d_25_an_action_type_counts_only_without_an_action() {
    assert_eq!(priority(r#""actionType": "TRANSFORM""#), 50);
    assert_eq!(priority(r#""action": "F.A", "actionType": "TRANSFORM""#), 100);
}

#[test]
fn d_26_a_flow_is_worth_50() {
    assert_eq!(priority(r#""flow": "passthrough""#), 50);
}

#[test]
fn d_27_the_values_add_up() {
    assert_eq!(priority(r#""errorSubstring": "JsonException", "action": "F.A", "flow": "F""#), 250);
    assert_eq!(priority(r#""errorSubstring": "Json", "actionType": "T", "flow": "F""#), 150);
    assert_eq!(priority(r#""errorSubstring": "JsonException", "actionType": "T""#), 150);
}

#[test]
fn d_28_more_specific_is_higher() {
    let drafts = combinations();
    let criteria = |draft: &Draft| {
        [
            draft.error_substring.is_some(),
            draft.flow.is_some(),
            draft.action.is_some(),
            draft.action_type.is_some(),
        ]
    };
    let mut compared = 0;
    for wide in &drafts {
        for narrow in &drafts {
            let (few, many) = (criteria(wide), criteria(narrow));
            let contains = few.iter().zip(many).all(|(few, many)| !few || many);
            let adds_only_type = few[..3] == many[..3] && many[2];
            if few == many || !contains || adds_only_type {
                continue;
            }
            compared += 1;
            assert!(created(narrow).priority > created(wide).priority, "{narrow:?} {wide:?}");
        }
    }
    assert!(compared > 30, "{compared} pairs");
}

#[test]
fn d_29_a_match_sets_a_resume_time() {
    let policies = Policies::new([policy(
        r#"{"name": "n", "flow": "F", "maxAttempts": 9, "backOff": {"delay": 100}}"#,
    )]);
    let resume = policies.resume(&ERROR, Unit::ZERO).expect("a match");
    assert_eq!(resume.at, Timestamp::from_secs(1_100));
    assert_eq!(policies.resume(&ActionError { flow: "G", ..ERROR }, Unit::ZERO), None);
}

#[test]
fn d_30_the_reason_is_the_policys_name() {
    let policies = Policies::new([policy(EXAMPLE_1)]);
    let error = ActionError { flow: "passthrough", ..ERROR };
    let resume = policies.resume(&error, Unit::ZERO).expect("a match");
    assert_eq!(resume.reason, "auto-resume-passthrough");
}

#[test]
fn d_31_only_the_delay_is_required() {
    assert_eq!(waiting("{}"), Err(vec![Fault::NoDelay]));
    assert!(waiting(r#"{"delay": 0}"#).is_ok());
    let nothing = BackOffDraft { delay: Some(0), ..BackOffDraft::default() };
    assert_eq!(BackOff::from(nothing).wait(3, Unit::MAX), Duration::ZERO);
}

#[test]
fn d_32_the_wait_begins_when_the_action_stopped() {
    let policies = Policies::new([named("n", 50, 9)]);
    for stopped in [0, 1_000, 1_234_567_890] {
        let error = ActionError { stopped_at: Timestamp::from_secs(stopped), ..ERROR };
        let resume = policies.resume(&error, Unit::ZERO).expect("a match");
        assert_eq!(resume.at, Timestamp::from_secs(stopped + 10));
    }
}

#[test]
fn d_33_the_delay_is_in_seconds() {
    let wait = waiting(r#"{"delay": 90}"#).expect("valid").wait(1, Unit::ZERO);
    assert_eq!(wait, Duration::from_secs(90));
}

#[test]
fn d_34_random_is_uniform_between_delay_and_maximum() {
    let back_off = waiting(r#"{"delay": 60, "maxDelay": 120, "random": true}"#).expect("valid");
    let draws: Vec<u64> = (0..10_000)
        .map(|number| back_off.wait(1, Seed::new(&["d-34"]).unit(number, 0)).as_secs())
        .collect();
    assert!(draws.iter().all(|wait| (60..=120).contains(wait)));
    assert!(draws.contains(&60) && draws.contains(&120));
    let sum: u64 = draws.iter().sum();
    assert!((890_000..=910_000).contains(&sum), "mean {}", sum / 10_000);
}

#[test]
fn d_35_random_needs_a_maximum() {
    let faults = waiting(r#"{"delay": 60, "random": true}"#).expect_err("no maximum");
    assert_eq!(faults, [Fault::RandomWithoutMaxDelay]);
    assert!(faults[0].to_string().contains("maxDelay required"), "{}", faults[0]);
}

#[test]
fn d_36_the_multiplier_multiplies_delay_and_attempts() {
    assert_eq!(waits(r#"{"delay": 100, "multiplier": 2}"#, 3), [200, 400, 600]);
}

#[test]
fn d_37_the_multiplied_wait_is_capped() {
    let capped = r#"{"delay": 100, "maxDelay": 250, "multiplier": 2}"#;
    assert_eq!(waits(capped, 3), [200, 250, 250]);
}

#[test]
fn d_38_the_cap_is_optional_with_a_multiplier() {
    assert_eq!(waits(r#"{"delay": 100, "multiplier": 2}"#, 50).last(), Some(&10_000));
}

#[test]
fn d_39_the_worked_example() {
    let example = r#"{"delay": 100, "maxDelay": 500, "multiplier": 2, "random": false}"#;
    assert_eq!(waits(example, 3), [200, 400, 500]);
}

#[test]
fn d_40_searches_are_one_period_apart_and_a_change_holds_from_the_next() {
    let at = Timestamp::from_secs;
    let sweep = Sweep { period: Duration::from_secs(5), since: at(0) };
    assert_eq!([0, 4, 5, 7].map(|now| sweep.next(at(now))), [5, 5, 10, 10].map(at));
    let slower = sweep.with_period(Duration::from_secs(60), at(7));
    assert_eq!(slower.next(at(7)), at(65), "a minute after the last one");
    let faster = slower.with_period(Duration::from_secs(5), at(30));
    assert_eq!((faster.last(at(30)), faster.next(at(30))), (at(30), at(35)));
    // A clock that was set back, and one at the end of time.
    assert_eq!(sweep.next(at(-9)), at(5));
    assert_eq!(sweep.last(Timestamp(i64::MAX)).max(at(0)), sweep.last(Timestamp(i64::MAX)));
}

#[test]
fn d_41_a_resume_is_never_early_and_late_by_one_period_at_most() {
    let at = Timestamp::from_secs;
    let sweep = Sweep { period: Duration::from_secs(60), since: at(0) };
    assert_eq!(sweep.holds(at(100), at(60)), Some(at(120)), "it is not due yet");
    assert_eq!(sweep.holds(at(100), at(100)), Some(at(120)));
    assert_eq!(sweep.holds(at(100), at(120)), None);
    assert_eq!(sweep.holds(at(120), at(120)), None, "due at the very search");
    assert_eq!(sweep.holds(at(100), at(500)), None, "nobody was there at 120");
    for due in 0..300 {
        let mut a_period = due..due + 60;
        let seen = a_period.any(|now| sweep.holds(at(due), at(now)).is_none());
        assert!(seen, "due at {due}, not seen within a period");
    }
}

#[test]
fn d_42_example_1_waits_a_minute_more_each_time() {
    let policies = Policies::new([policy(EXAMPLE_1)]);
    let mut attempts = 1;
    let mut delays = Vec::new();
    while let Some(resume) =
        policies.resume(&ActionError { flow: "passthrough", attempts, ..ERROR }, Unit::ZERO)
    {
        delays.push(resume.delay.as_secs());
        attempts += 1;
    }
    assert_eq!(delays, [60, 120, 180, 240, 300, 300, 300, 300, 300]);
    assert_eq!(attempts, 10);
}

#[test]
fn d_43_example_1_takes_every_action_of_the_flow() {
    let policies = Policies::new([policy(EXAMPLE_1)]);
    let actions = [("passthrough.A", 1, 60), ("passthrough.B", 2, 120), ("passthrough.C", 4, 240)];
    for (action, attempts, delay) in actions {
        let error = ActionError { flow: "passthrough", action, attempts, ..ERROR };
        let resume = policies.resume(&error, Unit::ZERO).expect("a match");
        assert_eq!(resume.delay.as_secs(), delay, "{action}");
    }
}

#[test]
fn d_44_example_2_takes_json_errors_of_transforms() {
    let policies = Policies::new([policy(EXAMPLE_2)]);
    let json = ActionError { cause: "com.x.JsonException: eof", ..ERROR };
    for number in 0..100 {
        let unit = Seed::new(&["d-44"]).unit(number, 0);
        let delay = policies.resume(&json, unit).expect("a match").delay.as_secs();
        assert!((60..=120).contains(&delay), "{delay}");
    }
    assert!(policies.find(&ActionError { action_type: "EGRESS", ..json }).is_none());
    assert!(policies.find(&ActionError { attempts: 3, ..json }).is_some());
    assert!(policies.find(&ActionError { attempts: 4, ..json }).is_none());
}

#[test]
fn d_45_the_examples_priorities_are_computed() {
    assert_eq!(policy(EXAMPLE_1).priority, 50);
    assert_eq!(policy(EXAMPLE_2).priority, 150);
}

#[test]
fn d_101_all_faults_are_returned_together() {
    let wrong =
        draft(r#"{"maxAttempts": 1, "backOff": {"delay": -1, "maxDelay": -5, "multiplier": 0}}"#);
    let faults = wrong.create(0).expect_err("faults").faults;
    assert_eq!(
        faults,
        [
            Fault::NoName,
            Fault::NoCriterion,
            Fault::MaxAttempts { attempts: 1 },
            Fault::Delay { seconds: -1 },
            Fault::MaxDelay { seconds: -5 },
            Fault::MaxDelayBelowDelay { max_delay: -5, delay: -1 },
            Fault::Multiplier { multiplier: 0 },
        ]
    );
    let empty = draft(r#"{"id": ""}"#).create(0).expect_err("faults").faults;
    assert_eq!(
        empty,
        [
            Fault::NoId,
            Fault::NoName,
            Fault::NoCriterion,
            Fault::MaxAttempts { attempts: 0 },
            Fault::NoBackOff
        ]
    );
}

#[test]
fn d_103_random_wins_and_a_lone_maximum_means_nothing() {
    let random = waiting(r#"{"delay": 10, "maxDelay": 20, "multiplier": 5, "random": true}"#);
    let random = random.expect("valid");
    assert_eq!(random.wait(3, Unit::ZERO).as_secs(), 10);
    assert_eq!(random.wait(3, Unit::MAX).as_secs(), 20);
    assert_eq!(
        waiting(r#"{"delay": 10, "maxDelay": 5}"#),
        Err(vec![Fault::MaxDelayBelowDelay { max_delay: 5, delay: 10 }])
    );
    assert_eq!(waits(r#"{"delay": 10, "maxDelay": 20}"#, 3), [10, 10, 10]);
}

#[test]
fn d_117_overflow_never_schedules_the_past_and_ties_have_an_order() {
    let huge = waiting(r#"{"delay": 1073741824, "multiplier": 8}"#).expect("valid");
    for attempts in [1, 2, 1_000, u32::MAX] {
        let wait = huge.wait(attempts, Unit::ZERO);
        assert!(wait >= Duration::from_secs(1 << 30), "{wait:?}");
        assert!(ERROR.stopped_at.after(wait) > ERROR.stopped_at);
    }
    let largest = waiting(r#"{"delay": 9223372036854775807, "multiplier": 9223372036854775807}"#);
    assert_eq!(largest.expect("valid").wait(u32::MAX, Unit::ZERO), Duration::from_secs(u64::MAX));
    let tie = [named("b", 50, 9), named("a", 50, 9)];
    let [first, second] = tie.clone();
    assert_eq!(found(&Policies::new(tie), &ERROR), Some("a"));
    assert_eq!(found(&Policies::new([second, first]), &ERROR), Some("a"));
}

#[test]
fn resume_policies_stand_as_rules_among_others() {
    let policies = Policies::new([policy(EXAMPLE_1), policy(EXAMPLE_2)]);
    let rules = preset::deltafi::rules(&policies);
    assert_eq!(rules.len(), 2);
    let fail = steadfast_retry::Behaviour {
        action: steadfast_retry::Action::Fail,
        ..steadfast_retry::Behaviour::default()
    };
    let list = RetryPolicy::new(steadfast_retry::Draft {
        rules,
        default: Some(fail),
        ..steadfast_retry::Draft::default()
    })
    .expect("valid");
    let place = Place { workflow_type: "passthrough", activity: "A", ..Place::default() };
    let signals = Signals { place, ..Signals::default() };
    let mut state = State::started(Timestamp::default());
    let mut delays = Vec::new();
    let failure = Failure::of_type("IoError", "disk full");
    loop {
        let now = Timestamp::default();
        let decision = decide(Some(&list), &state, &failure, &signals, now, Seed::new(&[]));
        state.record(&decision);
        let steadfast_retry::Decision::RetryAt { delay, .. } = decision else {
            assert_eq!(decision.why().reason, Reason::RuleSaysSo);
            break;
        };
        delays.push(delay.as_secs());
    }
    assert_eq!(delays, [60, 120, 180, 240, 300, 300, 300, 300, 300]);
}

/// The fifteen ways to give at least one criterion.
fn combinations() -> Vec<Draft> {
    (1..16_u8)
        .map(|bits| {
            let given = |bit: u8, text: &str| (bits & bit != 0).then(|| text.to_owned());
            Draft {
                name: Some("n".to_owned()),
                error_substring: given(1, "JsonException"),
                flow: given(2, "F"),
                action: given(4, "F.A"),
                action_type: given(8, "TRANSFORM"),
                max_attempts: Some(2),
                back_off: Some(BackOffDraft { delay: Some(1), ..BackOffDraft::default() }),
                ..Draft::default()
            }
        })
        .collect()
}

fn created(draft: &Draft) -> Policy {
    draft.clone().create(0).expect("valid")
}
