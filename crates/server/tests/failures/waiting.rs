//! When a resume policy has an error go on.

use serde_json::{Value, json};

use super::rig::{Flow, ids, policy, seconds_between, survives};

/// The first example of the seed.
pub(crate) fn passthrough() -> Value {
    json!({
        "name": "auto-resume-passthrough", "flow": "passthrough", "maxAttempts": 10,
        "backOff": { "delay": 60, "maxDelay": 300, "multiplier": 1 },
    })
}

/// The second one.
pub(crate) fn json_errors() -> Value {
    json!({
        "name": "resume-json-errors", "errorSubstring": "JsonException", "actionType": "TRANSFORM",
        "maxAttempts": 4, "backOff": { "delay": 60, "maxDelay": 120, "random": true },
    })
}

impl Flow {
    /// How long an error that nobody has seen to waits for its resume, from when the attempt stopped;
    /// nothing if it is not resumed.
    async fn wait(&self) -> Option<u64> {
        let open = self.errors("acknowledged=false&state=parked").await;
        assert_eq!(open.len(), 1, "{open:?}");
        let next = &open[0]["nextAutoResume"];
        (!next.is_null()).then(|| {
            let wait = seconds_between(&open[0]["lastAt"], next);
            wait.try_into().expect("never in the past")
        })
    }

    /// Fails the next attempt of a step, which has this number, and tells the wait after it.
    async fn wait_after(&self, step: &str, number: i32, cause: &str) -> Option<u64> {
        let task = self.attempt_of(step, number).await;
        self.fail(&task, cause).await;
        self.wait().await
    }

    /// The waits under such a back-off of a step that fails so often. The plug may be pulled once.
    async fn waits(&mut self, back_off: Value, failures: i32) -> Vec<u64> {
        let name = back_off.to_string();
        let mut new = policy(&name, &json!({ "flow": "Order" }), 1_000, 0);
        new["backOff"] = back_off;
        let made = self.ask("POST", "resume-policies", new).await;
        self.start(&name, "Order").await;
        let mut waits = Vec::new();
        for number in 1..=failures {
            let wait = self.wait_after("First", number, "boom").await.expect("it is resumed");
            waits.push(wait);
            if number == failures / 2 {
                self.point().await;
            }
            if number < failures {
                self.pass(wait);
            }
        }
        // What is seen to is left alone.
        let left = self.errors("acknowledged=false").await;
        self.ask("POST", "errors/acknowledge", ids(&left)).await;
        let id = made["id"].as_str().expect("an id");
        self.ask("DELETE", &format!("resume-policies/{id}"), Value::Null).await;
        waits
    }

    /// Nothing is to be done, and what was begun since shows that the engine has looked.
    pub(super) async fn is_idle(&self, probe: &str) {
        self.start(probe, "Probe").await;
        let task = self.attempt_of("First", 1).await;
        assert_eq!(task.workflow_execution.as_ref().expect("one").workflow_id, probe);
        assert_eq!(self.world().engine.backlog(), (0, 0));
    }
}

#[tokio::test]
async fn d_29_d_30_d_33_a_match_sets_the_time_in_seconds_and_names_the_policy() {
    survives(async |flow: &mut Flow| {
        flow.ask("POST", "resume-policies", policy("again", &json!({ "flow": "Order" }), 5, 90))
            .await;
        flow.fail_first("order-1", "Order", "boom").await;
        flow.point().await;
        let error = flow.error().await;
        assert_eq!(error["nextAutoResumeReason"], "again");
        assert_eq!(seconds_between(&error["lastAt"], &error["nextAutoResume"]), 90);
        flow.pass(89);
        flow.is_idle("early").await;
        flow.point().await;
        flow.pass(1);
        flow.attempt_of("First", 2).await;
    })
    .await;
}

#[tokio::test]
async fn d_31_the_delay_is_all_that_a_back_off_must_have() {
    survives(async |flow: &mut Flow| {
        let mut bare = policy("bare", &json!({ "flow": "Order" }), 3, 0);
        bare["backOff"] = json!({});
        let (status, told) = flow.refuse("POST", "resume-policies", bare).await;
        assert_eq!((status, told.as_str()), (400, "backOff.delay is required"));
        flow.point().await;
        flow.ask("POST", "resume-policies", policy("at once", &json!({ "flow": "Order" }), 3, 0))
            .await;
        flow.point().await;
        flow.fail_first("order-1", "Order", "boom").await;
        flow.point().await;
        flow.attempt_of("First", 2).await;
    })
    .await;
}

#[tokio::test]
async fn d_32_the_wait_begins_when_the_attempt_stopped() {
    survives(async |flow: &mut Flow| {
        flow.ask("POST", "resume-policies", policy("again", &json!({ "flow": "Order" }), 3, 100))
            .await;
        flow.start("order-1", "Order").await;
        flow.pass(7);
        let task = flow.attempt_of("First", 1).await;
        flow.pass(30);
        flow.fail(&task, "boom").await;
        let at = flow.error().await["nextAutoResume"].clone();
        assert_eq!(
            at, "1970-01-12T13:48:57Z",
            "7 s until it began, 30 s at work, 100 s of waiting"
        );
        // Whoever looks at it later, or finds it after a crash, reckons from the same moment.
        flow.pass(60);
        flow.point().await;
        assert_eq!(flow.error().await["nextAutoResume"], at);
        flow.pass(39);
        flow.is_idle("early").await;
        flow.pass(1);
        flow.attempt_of("First", 2).await;
    })
    .await;
}

#[tokio::test]
async fn d_34_random_waits_lie_between_delay_and_maximum() {
    survives(async |flow: &mut Flow| {
        const MANY: u64 = 150;
        let mut new = policy("random", &json!({ "flow": "Order" }), 3, 0);
        new["backOff"] = json!({ "delay": 60, "maxDelay": 120, "random": true });
        flow.ask("POST", "resume-policies", new).await;
        for number in 0..MANY {
            flow.fail_first(&format!("order-{number}"), "Order", "boom").await;
        }
        flow.point().await;
        let errors = flow.errors("limit=1000").await;
        let waits: Vec<u64> = errors
            .iter()
            .map(|error| seconds_between(&error["lastAt"], &error["nextAutoResume"]))
            .map(|wait| wait.try_into().expect("never in the past"))
            .collect();
        assert_eq!(waits.len(), 150);
        assert!(waits.iter().all(|wait| (60..=120).contains(wait)), "{waits:?}");
        // Ten times the spread of such a mean: no seed in a lifetime falls outside.
        let mean = waits.iter().sum::<u64>() / MANY;
        assert!((76..=104).contains(&mean), "mean {mean}");
        let mut kinds = waits;
        kinds.sort_unstable();
        kinds.dedup();
        assert!(kinds.len() > 30, "{kinds:?}");
    })
    .await;
}

#[tokio::test]
async fn d_35_a_random_wait_needs_a_maximum() {
    survives(async |flow: &mut Flow| {
        let mut endless = policy("endless", &json!({ "flow": "Order" }), 3, 60);
        endless["backOff"]["random"] = json!(true);
        let (status, told) = flow.refuse("POST", "resume-policies", endless).await;
        assert_eq!(status, 400);
        assert!(told.contains("maxDelay required"), "{told}");
        flow.point().await;
        let kept = flow.ask("GET", "resume-policies", Value::Null).await;
        assert_eq!(kept["policies"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn d_36_d_37_d_39_a_multiplied_wait_grows_with_the_attempts_up_to_the_maximum() {
    survives(async |flow: &mut Flow| {
        let d_36 = json!({ "delay": 100, "multiplier": 2 });
        assert_eq!(flow.waits(d_36, 3).await, [200, 400, 600]);
        let d_37 = json!({ "delay": 100, "maxDelay": 250, "multiplier": 2 });
        assert_eq!(flow.waits(d_37, 3).await, [200, 250, 250]);
        let d_39 = json!({ "delay": 100, "maxDelay": 500, "multiplier": 2, "random": false });
        assert_eq!(flow.waits(d_39, 3).await, [200, 400, 500]);
    })
    .await;
}

#[tokio::test]
async fn d_38_a_multiplied_wait_needs_no_maximum() {
    survives(async |flow: &mut Flow| {
        let waits = flow.waits(json!({ "delay": 100, "multiplier": 2 }), 50).await;
        assert_eq!(waits.last(), Some(&10_000));
    })
    .await;
}

#[tokio::test]
async fn d_103_random_wins_over_the_multiplier_and_a_maximum_alone_means_nothing() {
    survives(async |flow: &mut Flow| {
        let both = json!({ "delay": 10, "maxDelay": 20, "multiplier": 5, "random": true });
        let waits = flow.waits(both, 5).await;
        assert!(waits.iter().all(|wait| (10..=20).contains(wait)), "{waits:?}");
        let alone = json!({ "delay": 10, "maxDelay": 20 });
        assert_eq!(flow.waits(alone, 3).await, [10, 10, 10]);
        let mut turned = policy("turned", &json!({ "flow": "Order" }), 3, 10);
        turned["backOff"]["maxDelay"] = json!(5);
        let (status, told) = flow.refuse("POST", "resume-policies", turned).await;
        assert_eq!(
            (status, told.as_str()),
            (400, "backOff.maxDelay 5 is less than backOff.delay 10")
        );
    })
    .await;
}

#[tokio::test]
async fn d_117_a_wait_beyond_all_numbers_is_never_in_the_past() {
    survives(async |flow: &mut Flow| {
        let huge = json!({ "delay": 1_u64 << 30, "multiplier": 8 });
        assert_eq!(flow.waits(huge, 1).await, [1_u64 << 33]);
        let largest = json!({ "delay": i64::MAX, "multiplier": i64::MAX });
        let waits = flow.waits(largest, 1).await;
        assert!(waits[0] > 1 << 33, "the last moment that there is: {waits:?}");
        flow.point().await;
        flow.pass(1_000_000);
        flow.is_idle("later").await;
    })
    .await;
}

#[tokio::test]
async fn d_42_the_first_example_waits_a_minute_more_each_time_and_ends_after_ten_attempts() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        flow.ask("POST", "resume-policies", passthrough()).await;
        flow.start("item", "passthrough").await;
        let mut waits = Vec::new();
        for number in 1..=9 {
            let wait = flow.wait_after("First", number, "boom").await.expect("it is resumed");
            waits.push(wait);
            flow.pass(wait);
            flow.point().await;
        }
        assert_eq!(waits, [60, 120, 180, 240, 300, 300, 300, 300, 300]);
        assert_eq!(flow.wait_after("First", 10, "boom").await, None, "it stays");
        flow.point().await;
        flow.pass(1_000_000);
        flow.is_idle("later").await;
        let error = &flow.errors("state=parked").await[0];
        assert_eq!(error["attempts"], 10, "{error}");
    })
    .await;
}

#[tokio::test]
async fn d_43_the_first_example_takes_every_action_of_the_flow_each_with_its_own_count() {
    survives(async |flow: &mut Flow| {
        flow.ask("POST", "resume-policies", passthrough()).await;
        flow.start("item", "passthrough").await;
        for (step, failures) in [("First", 2), ("Second", 3), ("Third", 1)] {
            for number in 1..=failures {
                let wait = flow.wait_after(step, number, "boom").await.expect("it is resumed");
                assert_eq!(wait, 60 * u64::try_from(number).expect("small"), "{step} {number}");
                flow.pass(wait);
                flow.point().await;
            }
            let task = flow.attempt_of(step, failures + 1).await;
            flow.complete(&task).await;
            flow.advance().await;
        }
        flow.is_well().await;
    })
    .await;
}

#[tokio::test]
async fn d_44_the_second_example_takes_json_errors_of_transforms() {
    survives(async |flow: &mut Flow| {
        const CAUSE: &str = "com.example.JsonException: eof";
        flow.park_what_is_given_up().await;
        flow.ask("POST", "resume-policies", json_errors()).await;
        flow.start("transform", "Order").await;
        for number in 1..=3 {
            let wait = flow.wait_after("First", number, CAUSE).await.expect("it is resumed");
            assert!((60..=120).contains(&wait), "{wait}");
            flow.pass(wait);
            flow.point().await;
        }
        assert_eq!(flow.wait_after("First", 4, CAUSE).await, None, "four attempts in all");
        flow.ask("POST", "errors/acknowledge", ids([&flow.error().await])).await;
        flow.start("egress", "Order").await;
        for step in ["First", "Second"] {
            let task = flow.attempt_of(step, 1).await;
            flow.complete(&task).await;
            flow.advance().await;
        }
        assert_eq!(flow.wait_after("Third", 1, CAUSE).await, None, "it is no transform");
    })
    .await;
}
