//! Rules, told as a table: the rules, the failure, and what is decided.
//!
//! A rule is `criteria => action`, rules are separated by `;`. In a failure `attempt=` and `used=`
//! say how far the work is; `_` in a message stands for a blank. What no rule takes is retried after
//! one second.

use std::time::Duration;

use steadfast_retry::{
    Action, Backoff, Behaviour, Cause, Class, Decision, Draft, Failure, Layer, Limits, Matcher,
    Overlay, Place, PlacedRule, Policy, Rule, Seed, Signals, State, Timestamp, decide,
    pattern::{REGEX_INPUT_MAX, TextPattern},
    preset::temporal,
    span,
};

/// Fails on the first row whose decision is another one than the table says.
#[track_caller]
fn check(table: &str) -> usize {
    let mut rows = 0;
    for row in table.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split(" | ").map(str::trim).collect();
        let [rules, failure, expected] = cells[..] else { panic!("three cells, not {row:?}") };
        assert_eq!(decided(rules, failure), expected, "{row}");
        rows += 1;
    }
    rows
}

fn decided(rules: &str, failure: &str) -> String {
    let policy = policy(rules);
    let words: Vec<(&str, &str)> = failure.split_whitespace().map(key_value).collect();
    let word = |key: &str| words.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let message = word("message").unwrap_or_default().replace('_', " ");
    let cause_message = word("cause.message").unwrap_or_default().replace('_', " ");
    let cause =
        Cause { error_type: word("cause.type"), message: &cause_message, code: word("cause.code") };
    let deep = [Cause { message: "wrapped", ..Cause::default() }, cause];
    let failure = Failure {
        error_type: word("type"),
        message: &message,
        code: word("code"),
        class: word("class").map(json),
        timeout: word("timeout").map(json),
        non_retryable: word("non_retryable").is_some(),
        cancelled: word("cancelled").is_some(),
        next_delay: None,
        causes: &deep,
    };
    let number = |key: &str| word(key).map_or(0, |text| text.parse().expect("a number"));
    let mut state = State::at_attempt(number("attempt").max(1), Timestamp::default());
    if let Some(placed) = policy.rules().first() {
        state.in_rules.push((placed.id, number("used")));
    }
    let place = Place {
        activity: word("activity").unwrap_or_default(),
        activity_kind: word("kind").unwrap_or_default(),
        task_queue: word("queue").unwrap_or_default(),
        workflow_type: word("workflow").unwrap_or_default(),
    };
    let elapsed = word("elapsed").map_or(Duration::ZERO, |text| span::parse(text).expect("a span"));
    let now = Timestamp::default().after(elapsed);
    let signals = Signals { place, ..Signals::default() };
    decide(Some(&policy), &state, &failure, &signals, now, Seed::new(&[])).to_string()
}

fn policy(rules: &str) -> Policy {
    let texts = rules.split(';').map(str::trim).filter(|rule| !rule.is_empty());
    let drafts = texts.map(|text| {
        let (rule, layer) = rule(text);
        (layer, Draft { rules: vec![rule], ..Draft::default() })
    });
    let default = Behaviour::retrying(Backoff::constant(Duration::from_secs(1)));
    let engine = Draft { default: Some(default), ..Draft::default() };
    Policy::merge(drafts.chain([(Layer::Engine, engine)])).expect("a valid policy")
}

fn rule(text: &str) -> (Rule, Layer) {
    let (criteria, action) = text.split_once("=> ").expect("criteria => action");
    let fields: serde_json::Map<String, serde_json::Value> = criteria
        .split_whitespace()
        .map(key_value)
        .map(|(key, value)| (key.to_owned(), value.replace('_', unmask(key)).into()))
        .collect();
    let when: Matcher = serde_json::from_value(fields.into()).expect("criteria");
    let mut words = action.split_whitespace();
    let action: Action = json(words.next().expect("an action"));
    let mut rule = Rule { when, then: Behaviour { action, ..Behaviour::default() }, force: false };
    rule.then.backoff = Backoff::constant(Duration::from_secs(5));
    let mut layer = Layer::CallSite;
    for word in words {
        match key_value(word) {
            ("max", max) => rule.then.limits = Limits::attempts(max.parse().expect("a number")),
            ("within", limit) => {
                rule.then.limits.max_elapsed = Some(span::parse(limit).expect("a span"));
            }
            ("after", wait) => {
                rule.then.backoff = Backoff::constant(span::parse(wait).expect("a span"));
            }
            ("list", waits) => rule.then.backoff = listed(waits),
            ("force", _) => rule.force = true,
            ("layer", name) => layer = json(name),
            (other, _) => panic!("unknown word {other:?}"),
        }
    }
    (rule, layer)
}

fn listed(waits: &str) -> Backoff {
    let waits: Vec<Duration> =
        waits.split(',').map(|wait| span::parse(wait).expect("a span")).collect();
    Backoff::schedule(waits, steadfast_retry::Then::Exhaust)
}

/// Only messages have blanks.
fn unmask(key: &str) -> &'static str {
    if key == "message" { " " } else { "_" }
}

fn key_value(word: &str) -> (&str, &str) {
    word.split_once('=').unwrap_or((word, ""))
}

fn json<T: serde::de::DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(word.into()).expect(word)
}

#[test]
fn types_match_exactly_by_glob_or_by_regex() {
    let rows = check(
        "
        type=CardDeclined => fail      | type=CardDeclined           | fail: the rule says so (rule 1)
        type=CardDeclined => fail      | type=CardDeclinedTwice      | retry in 1s: backoff
        type=CardDeclined => fail      | type=carddeclined           | retry in 1s: backoff
        type=CardDeclined => fail      | message=CardDeclined        | retry in 1s: backoff
        type=Http* => retry            | type=HttpError              | retry in 5s: backoff (rule 1)
        type=Http* => retry            | type=Http                   | retry in 5s: backoff (rule 1)
        type=Http* => retry            | type=MyHttp                 | retry in 1s: backoff
        type=*Error => park            | type=IoError                | park: the rule says so (rule 1)
        type=*Error => park            | type=IoErrors               | retry in 1s: backoff
        type=H?? => fail               | type=H2O                    | fail: the rule says so (rule 1)
        type=H?? => fail               | type=H2                     | retry in 1s: backoff
        type=A*B*C => fail             | type=AxBxBxC                | fail: the rule says so (rule 1)
        type=A*B*C => fail             | type=AxCxB                  | retry in 1s: backoff
        type=/^Http(4|5)/ => fail      | type=Http4xx                | fail: the rule says so (rule 1)
        type=/^Http(4|5)/ => fail      | type=Http3xx                | retry in 1s: backoff
        type=* => fail                 | message=untyped             | retry in 1s: backoff
        ",
    );
    assert_eq!(rows, 16);
}

#[test]
fn messages_match_by_substring_or_by_regex() {
    let rows = check(
        "
        message=deadlock_detected => retry  | message=a_deadlock_detected_here | retry in 5s: backoff (rule 1)
        message=deadlock_detected => retry  | message=Deadlock_detected        | retry in 1s: backoff
        message=/dead.?lock/ => retry       | message=a_dead-lock              | retry in 5s: backoff (rule 1)
        message=/(?i)deadlock/ => retry     | message=DEADLOCK                 | retry in 5s: backoff (rule 1)
        message=/^lock$/ => retry           | message=deadlock                 | retry in 1s: backoff
        message=lock type=Db => fail        | type=Db message=deadlock         | fail: the rule says so (rule 1)
        message=lock type=Db => fail        | type=Io message=deadlock         | retry in 1s: backoff
        ",
    );
    assert_eq!(rows, 7);
}

#[test]
fn codes_and_classes() {
    let rows = check(
        "
        code=429 => retry after=30s    | code=429                    | retry in 30s: backoff (rule 1)
        code=429 => retry after=30s    | code=503                    | retry in 1s: backoff
        code=5xx => retry              | code=503                    | retry in 5s: backoff (rule 1)
        code=5xx => retry              | code=599                    | retry in 5s: backoff (rule 1)
        code=5xx => retry              | code=429                    | retry in 1s: backoff
        code=5xx => retry              | code=grpc:UNAVAILABLE       | retry in 1s: backoff
        code=grpc:UNAVAILABLE => park  | code=grpc:UNAVAILABLE       | park: the rule says so (rule 1)
        code=grpc:UNAVAILABLE => park  | code=grpc:unavailable       | park: the rule says so (rule 1)
        code=grpc:UNAVAILABLE => park  | code=grpc:INTERNAL          | retry in 1s: backoff
        code=ECONNRESET => park        | code=ECONNRESET             | park: the rule says so (rule 1)
        class=throttle => park         | code=429                    | park: the rule says so (rule 1)
        class=transient => park        | code=408                    | park: the rule says so (rule 1)
        class=transient => park        | code=502                    | park: the rule says so (rule 1)
        class=auth => fail             | code=403                    | fail: the rule says so (rule 1)
        class=data => fail             | code=422                    | fail: the rule says so (rule 1)
        class=permanent => fail        | code=404                    | fail: the rule says so (rule 1)
        class=permanent => fail        | code=404 class=transient    | retry in 1s: backoff
        class=timeout => park          | timeout=heartbeat           | park: the rule says so (rule 1)
        class=unknown => park          | type=Anything               | park: the rule says so (rule 1)
        class=crash => dead_letter     | class=crash                 | exhausted, dead_letter: the rule says so (rule 1)
        ",
    );
    assert_eq!(rows, 20);
}

#[test]
fn timeouts_places_attempts_and_elapsed_time() {
    let rows = check(
        "
        timeout=start_to_close => fail     | timeout=start_to_close     | fail: the rule says so (rule 1)
        timeout=start_to_close => fail     | timeout=heartbeat          | retry in 1s: backoff
        timeout=schedule_to_start => park  | timeout=schedule_to_start  | park: the rule says so (rule 1)
        timeout=schedule_to_start => retry | timeout=schedule_to_start  | fail: the timeout spans all attempts (rule 1)
        type=X => fail                     | timeout=schedule_to_close  | fail: the timeout spans all attempts
        activity=Charge => fail            | activity=Charge            | fail: the rule says so (rule 1)
        activity=Charge => fail            | activity=Refund            | retry in 1s: backoff
        activity_kind=EGRESS => park       | kind=EGRESS                | park: the rule says so (rule 1)
        task_queue=gpu-* => park           | queue=gpu-1                | park: the rule says so (rule 1)
        task_queue=gpu-* => park           | queue=cpu-1                | retry in 1s: backoff
        workflow_type=Order => compensate  | workflow=Order             | exhausted, compensate: the rule says so (rule 1)
        attempts=1..3 => retry             | type=X attempt=3           | retry in 5s: backoff (rule 1)
        attempts=1..3 => retry             | type=X attempt=4           | retry in 1s: backoff
        attempts=4.. => fail               | type=X attempt=4           | fail: the rule says so (rule 1)
        attempts=2 => fail                 | type=X attempt=1           | retry in 1s: backoff
        elapsed=<10m => retry              | type=X elapsed=9m59s       | retry in 5s: backoff (rule 1)
        elapsed=<10m => retry              | type=X elapsed=10m         | retry in 1s: backoff
        elapsed=>=1h => park               | type=X elapsed=1h          | park: the rule says so (rule 1)
        ",
    );
    assert_eq!(rows, 18);
}

#[test]
fn causes_count_at_any_depth() {
    let rows = check(
        "
        type=Root => fail                       | type=Top cause.type=Root                | fail: the rule says so (rule 1)
        type=Root cause_depth=outermost => fail | type=Top cause.type=Root                | retry in 1s: backoff
        type=Root cause_depth=outermost => fail | type=Root                               | fail: the rule says so (rule 1)
        code=429 => park                        | code=500 cause.code=429                 | park: the rule says so (rule 1)
        type=Root message=disk => fail          | type=Top cause.type=Root cause.message=disk_full | fail: the rule says so (rule 1)
        type=Root message=disk => fail          | type=Root cause.message=disk_full       | retry in 1s: backoff
        ",
    );
    assert_eq!(rows, 6);
}

#[test]
fn order_limits_layers_and_force() {
    let rows = check(
        "
        type=A => fail; type=* => park             | type=A                | fail: the rule says so (rule 1)
        type=A => fail; type=* => park             | type=B                | park: the rule says so (rule 2)
        type=* => park; type=A => fail             | type=A                | park: the rule says so (rule 1)
        type=A => retry max=3                      | type=A used=1         | retry in 5s: backoff (rule 1)
        type=A => retry max=3                      | type=A used=2         | retry in 1s: backoff
        type=A => retry max=3; => fail             | type=A used=2         | fail: the rule says so (rule 2)
        type=A => retry max=0                      | type=A used=99        | retry in 5s: backoff (rule 1)
        type=A => retry list=1s,10s; => park       | type=A used=1         | retry in 10s: backoff (rule 1)
        type=A => retry list=1s,10s; => park       | type=A used=2         | park: the rule says so (rule 2)
        type=A => retry within=1m; => park         | type=A elapsed=55s    | retry in 5s: backoff (rule 1)
        type=A => retry within=1m; => park         | type=A elapsed=56s    | park: the rule says so (rule 2)
        type=A => park layer=namespace; type=A => fail | type=A            | fail: the rule says so (rule 1)
        type=A => fail; type=A => park layer=operator  | type=A            | park: the rule says so (rule 1)
        type=A => fail layer=engine; type=A => park layer=task_queue | type=A | park: the rule says so (rule 1)
        type=A => retry                            | type=A non_retryable  | fail: non-retryable (rule 1)
        type=A => park                             | type=A non_retryable  | fail: non-retryable (rule 1)
        type=A => retry force                      | type=A non_retryable  | fail: non-retryable (rule 1)
        type=A => retry force layer=operator       | type=A non_retryable  | retry in 5s: backoff (rule 1)
        type=A => retry force layer=operator       | type=A cancelled      | fail: cancelled
        type=A => park                             | type=A cancelled      | fail: cancelled
        ",
    );
    assert_eq!(rows, 20);
}

#[test]
fn the_built_in_classes_are_a_fixed_list() {
    let table = [
        ("408 425 500 502 503 504 507", Class::Transient),
        ("ECONNREFUSED ECONNRESET EAI_AGAIN TLS_RESET EPIPE", Class::Transient),
        ("grpc:UNAVAILABLE grpc:ABORTED grpc:INTERNAL", Class::Transient),
        ("429 grpc:RESOURCE_EXHAUSTED", Class::Throttle),
        ("ETIMEDOUT grpc:DEADLINE_EXCEEDED", Class::Timeout),
        ("401 403 grpc:UNAUTHENTICATED grpc:PERMISSION_DENIED", Class::Auth),
        ("400 422 grpc:INVALID_ARGUMENT", Class::Data),
        ("404 409 410 grpc:NOT_FOUND grpc:UNIMPLEMENTED", Class::Permanent),
        ("200 302 nonsense grpc:UNKNOWN", Class::Unknown),
    ];
    for (codes, class) in table {
        for code in codes.split_whitespace() {
            assert_eq!(Class::of_code(code), class, "{code}");
        }
    }
    let retried: Vec<&str> =
        Class::ALL.into_iter().filter(|class| class.is_retryable()).map(Class::name).collect();
    assert_eq!(retried, ["transient", "throttle", "timeout", "crash", "unknown"]);
}

#[test]
fn the_engine_default_parks_after_a_week_and_does_not_count_throttling() {
    let policy = Policy::merge([(Layer::Engine, Policy::engine_default())]).expect("valid");
    let decide_at = |failure: &Failure<'_>, secs| {
        let state = State::at_attempt(3, Timestamp::default());
        let now = Timestamp::from_secs(secs);
        decide(Some(&policy), &state, failure, &Signals::default(), now, Seed::new(&["x"]))
    };
    let coded = |code| Failure { code: Some(code), ..Failure::default() };
    assert!(matches!(decide_at(&coded("404"), 0), Decision::Fail { .. }));
    assert!(decide_at(&coded("503"), 0).retry_at().is_some());
    let week = 7 * 24 * 3_600;
    let late = decide_at(&coded("503"), week);
    assert_eq!(late.to_string(), "exhausted, park: max duration (7d) would be passed");
    let throttled = decide_at(&coded("429"), 0);
    assert_eq!(throttled.why().counted, steadfast_retry::Counted::Deferral);
}

#[test]
fn counters_are_kept_apart() {
    let mut throttle = rule("code=429 => retry").0;
    throttle.then.counts = false;
    let draft = Draft {
        rules: vec![throttle],
        default: Some(Behaviour::retrying(Backoff::exponential(Duration::from_secs(1), 2.0))),
        limits: Limits::attempts(4),
        ..Draft::default()
    };
    let policy = Policy::new(draft).expect("valid");
    let mut state = State::started(Timestamp::default());
    let mut step = |failure: Failure<'_>| {
        state.deliver();
        let now = Timestamp::default();
        let decision =
            decide(Some(&policy), &state, &failure, &Signals::default(), now, Seed::new(&[]));
        state.record(&decision);
        (decision.to_string(), state.failures, state.deferrals, state.crashes)
    };
    let throttled = Failure { code: Some("429"), ..Failure::default() };
    let crash = Failure { class: Some(Class::Crash), ..Failure::default() };
    let error = Failure::of_type("Io", "disk");
    let text = |text: &str| text.to_owned();
    assert_eq!(step(error), (text("retry in 1s: backoff"), 1, 0, 0));
    assert_eq!(step(throttled), (text("retry in 5s: backoff (rule 1)"), 1, 1, 0));
    assert_eq!(step(throttled), (text("retry in 5s: backoff (rule 1)"), 1, 2, 0));
    // The throttled calls did not make the wait grow; the crash counts as an attempt begun.
    assert_eq!(step(crash), (text("retry in 2s: backoff"), 1, 2, 1));
    assert_eq!(step(error), (text("retry in 4s: backoff"), 2, 2, 1));
    assert_eq!(step(error), (text("exhausted, fail: max attempts (4) reached"), 3, 2, 1));
    assert_eq!(state.deliveries, 6);
}

#[test]
fn a_rules_count_survives_an_edit_of_its_neighbours() {
    let before = policy("type=A => retry max=3; type=B => fail");
    let after = policy("code=500 => park; type=C => fail; type=A => retry max=3");
    assert_eq!(before.rules()[0].id, after.rules()[2].id);
    let ids = |text: &str| -> Vec<_> { policy(text).rules().iter().map(|rule| rule.id).collect() };
    let mut all = ids("type=A => retry; type=B => retry; type=A => fail; type=A => retry after=1h");
    all.extend(ids("type=A => retry layer=operator"));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 5);
}

#[test]
fn rules_with_the_same_criteria_make_a_ladder() {
    let ladder = policy(
        "type=A => retry max=3 after=10m; type=A => retry max=3 after=2h; type=A => dead_letter",
    );
    let mut state = State::started(Timestamp::default());
    let steps: Vec<String> = (0..5)
        .map(|_| {
            let failure = Failure::of_type("A", "");
            let (signals, now) = (Signals::default(), Timestamp::default());
            let decision = decide(Some(&ladder), &state, &failure, &signals, now, Seed::new(&[]));
            state.record(&decision);
            decision.to_string()
        })
        .collect();
    assert_eq!(
        steps,
        [
            "retry in 10m: backoff (rule 1)",
            "retry in 10m: backoff (rule 1)",
            "retry in 2h: backoff (rule 2)",
            "retry in 2h: backoff (rule 2)",
            "exhausted, dead_letter: the rule says so (rule 3)",
        ]
    );
}

#[test]
fn a_regex_looks_at_the_first_64_kib_in_bounded_time() {
    let late = format!("{}needle", "é".repeat(REGEX_INPUT_MAX));
    assert!(!TextPattern::new("/needle/").expect("a regex").matches(&late));
    assert!(TextPattern::new("needle").expect("a substring").matches(&late));
    // Backtracking engines take longer than the universe for this one.
    let evil = TextPattern::new("/^(a+)+$/").expect("a regex");
    assert!(!evil.matches(&format!("{}b", "a".repeat(60_000))));
    let unreadable = TextPattern::new("/(/").expect_err("an open group");
    assert!(unreadable.to_string().starts_with("not a regular expression: /(/"), "{unreadable}");
}

#[test]
fn a_policy_is_read_from_text_and_written_back() {
    let text = r#"{
        "name": "stripe-charge",
        "rules": [
            {"match": {"code": 429}, "action": "retry", "counts": false,
             "retry_after": {"mode": "at_least", "max": "6h", "scope": "key"},
             "backoff": {"kind": "exponential", "initial": "5s", "coef": 2, "max": "10m", "jitter": "equal"}},
            {"match": {"class": "timeout", "attempts": "1..3"}, "action": "retry",
             "backoff": {"kind": "schedule", "delays": ["1s", "10s", "1m"]}},
            {"match": {"message": "/deadlock detected/"}, "action": "retry", "max_attempts": 20,
             "backoff": {"kind": "constant", "initial": "50ms", "jitter": "full"}}
        ],
        "default": {"action": "retry", "max_attempts": 30, "max_elapsed": "24h",
                    "backoff": {"kind": "exponential", "initial": "1s", "max": "5m"}},
        "on_exhausted": "park"
    }"#;
    let draft: Draft = serde_json::from_str(text).expect("a policy");
    assert_eq!(draft.rules[2].then.limits, Limits::attempts(20));
    assert_eq!(draft.rules[0].then.hints.max, Some(Duration::from_secs(6 * 3_600)));
    let again: Draft =
        serde_json::from_str(&serde_json::to_string(&draft).expect("text")).expect("a policy");
    assert_eq!(again, draft);
    let by_number: Matcher = serde_json::from_str(r#"{"attempts": 2}"#).expect("criteria");
    assert_eq!(by_number.to_string(), "attempts=2");
}

#[test]
fn a_typo_in_a_policy_is_an_error_that_names_it() {
    let table = [
        (r#"{"max_atempts": 3}"#, "max_atempts"),
        (r#"{"max_elapsed": "soon"}"#, "not a duration: \"soon\""),
        (r#"{"rules": [{"match": {"typo": "x"}}]}"#, "typo"),
        (r#"{"rules": [{"max_atempts": 3}]}"#, "max_atempts"),
        (r#"{"rules": [{"action": "retri"}]}"#, "retri"),
        (r#"{"rules": [{"match": {"type": "/(/"}}]}"#, "not a regular expression: /(/"),
        (r#"{"rules": [{"match": {"attempts": "few"}}]}"#, "not a range of attempts"),
        (r#"{"default": {"match": {"code": 429}}}"#, "the default takes neither"),
        (r#"{"default": {"backoff": {"kind": "constant"}}}"#, "needs `initial`"),
        (
            r#"{"default": {"backoff": {"kind": "fibonacci", "initial": "1s", "coef": 2}}}"#,
            "no `coef`",
        ),
        (r#"{"default": {"backoff": {"kind": "polynomial", "initial": "1s"}}}"#, "needs `power`"),
        (
            r#"{"default": {"backoff": {"kind": "schedule", "delays": ["1s"], "initial": "1s"}}}"#,
            "no `initial`",
        ),
        (
            r#"{"default": {"backoff": {"kind": "linear", "initial": "1s", "delays": ["1s"]}}}"#,
            "no `delays`",
        ),
        (r#"{"default": {"retry_after": {"mod": "exact"}}}"#, "mod"),
    ];
    for (text, named) in table {
        let error = serde_json::from_str::<Draft>(text).expect_err(text).to_string();
        assert!(error.contains(named), "{text}: {error}");
    }
}

#[test]
fn faults_of_a_policy_are_returned_together() {
    let mut draft = Draft { rules: vec![rule("attempts=5..2 => fail").0], ..Draft::default() };
    draft.rules.push(Rule::retrying(
        Matcher::default(),
        Backoff::exponential(Duration::from_secs(1), 0.5),
    ));
    draft.default = Some(Behaviour::retrying(Backoff::schedule([], steadfast_retry::Then::Repeat)));
    let invalid = Policy::new(draft).expect_err("three faults");
    assert_eq!(
        invalid.to_string(),
        "rule 1: no attempt is in the range 5..2; \
         rule 2: coef must be a number of at least 1, not 0.5; \
         default: delays must hold at least one wait"
    );
}

#[test]
fn an_operators_rule_has_its_own_limits_in_the_place_of_the_authors() {
    let author = temporal::RetryPolicy { maximum_attempts: 2, ..temporal::RetryPolicy::default() };
    let author = author.for_activity();
    let decided = |rule: &str, attempt: u32| {
        let rule: Rule = serde_json::from_str(rule).expect("a rule");
        let mut before = Vec::new();
        PlacedRule::place(&mut before, rule, Layer::Operator, "bank@1".into());
        let signals =
            Signals { overlay: Overlay { before: &before, after: &[] }, ..Signals::default() };
        let state = State::at_attempt(attempt, Timestamp::default());
        let failure = Failure::of_type("BankAsleep", "the bank is asleep");
        let now = Timestamp::from_secs(10);
        decide(Some(&author), &state, &failure, &signals, now, Seed::new(&["x"])).to_string()
    };
    let limited = r#"{"match": {"type": "BankAsleep"}, "max_attempts": 5,
        "backoff": {"kind": "constant", "initial": "1m"}}"#;
    assert_eq!(decided(limited, 2), "retry in 1m: backoff (rule 1)");
    let open =
        r#"{"match": {"type": "BankAsleep"}, "backoff": {"kind": "constant", "initial": "1m"}}"#;
    assert_eq!(decided(open, 1), "retry in 1m: backoff (rule 1)");
    assert_eq!(decided(open, 2), "exhausted, fail: max attempts (2) reached (rule 1)");
}
