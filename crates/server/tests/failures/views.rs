//! What is failing, one by one and in groups.

use serde_json::{Value, json};

use super::rig::{Flow, ids, policy, survives};

#[tokio::test]
async fn d_115_errors_are_seen_by_flow_and_by_message_with_counts() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        // Ten errors, two flows, three messages.
        for number in 0..10 {
            let kind = if number < 7 { "Order" } else { "Bill" };
            let cause = ["slow", "full", "gone"][number % 3];
            flow.fail_first(&format!("w-{number}"), kind, cause).await;
            flow.pass(60);
        }
        flow.point().await;
        let errors = flow.errors("").await;
        assert_eq!(errors.len(), 10);
        flow.ask("POST", "errors/acknowledge", ids(&errors[..2])).await;
        flow.point().await;
        let groups = async |query: &str, name: &str| {
            let answer = flow.ask("GET", &format!("errors/groups?{query}"), Value::Null).await;
            let groups = answer["groups"].as_array().expect("groups").clone();
            let told = groups.iter().map(|group| {
                let common = group["example"][name].as_str().expect("a name").to_owned();
                (common, group["count"].as_u64(), group["acknowledged"].as_u64())
            });
            let mut told: Vec<_> = told.collect();
            told.sort();
            told
        };
        let group = |name: &str, count, seen| (name.to_owned(), Some(count), Some(seen));
        let by_flow = groups("by=flow", "workflowType").await;
        assert_eq!(by_flow, [group("Bill", 3, 0), group("Order", 7, 2)]);
        let by_cause = groups("by=cause", "cause").await;
        assert_eq!(by_cause, [group("full", 3, 1), group("gone", 3, 0), group("slow", 4, 1)]);
        let open = groups("by=cause&acknowledged=false", "cause").await;
        assert_eq!(open, [group("full", 2, 0), group("gone", 3, 0), group("slow", 3, 0)]);
        // The fourth and the fifth, by time.
        let range = "since=1970-01-12T13:49:40Z&until=1970-01-12T13:51:00Z";
        let found = flow.errors(range).await;
        let names: Vec<&Value> = found.iter().map(|error| &error["workflowId"]).collect();
        assert_eq!(names, ["w-3", "w-4"]);
    })
    .await;
}

#[tokio::test]
async fn a_list_comes_in_pages_without_gaps_and_repeats() {
    survives(async |flow: &mut Flow| {
        flow.park_what_is_given_up().await;
        for number in 0..7 {
            flow.fail_first(&format!("w-{number}"), "Order", "boom").await;
        }
        let mut seen = Vec::new();
        let mut token = String::new();
        loop {
            let page = flow.ask("GET", &format!("errors?limit=3{token}"), Value::Null).await;
            let errors = page["errors"].as_array().expect("errors");
            assert!(errors.len() <= 3);
            seen.extend(errors.iter().map(|error| error["workflowId"].clone()));
            flow.point().await;
            match page["nextPageToken"].as_str() {
                Some(next) => token = format!("&pageToken={next}"),
                None => break,
            }
        }
        seen.sort_by_key(ToString::to_string);
        let all: Vec<Value> = (0..7).map(|number| json!(format!("w-{number}"))).collect();
        assert_eq!(seen, all);
    })
    .await;
}

#[tokio::test]
async fn d_116_an_error_says_when_and_by_which_policy_it_is_resumed() {
    survives(async |flow: &mut Flow| {
        let again =
            json!({ "name": "again", "flow": "Order", "maxAttempts": 3, "backOff": { "delay": 42 } });
        flow.ask("POST", "resume-policies", again).await;
        flow.fail_first("order-1", "Order", "boom").await;
        flow.point().await;
        let id = flow.error().await["id"].as_str().expect("an id").to_owned();
        let error = flow.ask("GET", &format!("errors/{id}"), Value::Null).await;
        assert_eq!(error["lastAt"], "1970-01-12T13:46:40Z");
        assert_eq!(error["nextAutoResume"], "1970-01-12T13:47:22Z", "42 seconds on");
        assert_eq!(error["nextAutoResumeReason"], "again");
    })
    .await;
}

/// Numbers are of one process: the plug may be pulled before they begin.
#[tokio::test]
async fn d_113_automatic_resumes_are_counted_by_flow() {
    survives(async |flow: &mut Flow| {
        let again = policy("again", &json!({ "flow": "Order" }), 5, 10);
        flow.ask("POST", "resume-policies", again).await;
        flow.point().await;
        for id in ["order-1", "order-2", "order-3"] {
            flow.fail_first(id, "Order", "boom").await;
        }
        flow.until("state=parked", |errors| errors.len() == 3).await;
        flow.pass(10);
        for _ in 0..3 {
            let task = flow.attempt_of("First", 2).await;
            flow.complete(&task).await;
        }
        let (_, page) = flow.world().get("/metrics", "").await;
        let line =
            |start: &str| page.lines().find(|line| line.starts_with(start)).map(str::to_owned);
        let resumed = line("steadfast_auto_resumes_total{workflow_type=\"Order\"}");
        assert_eq!(resumed.as_deref().and_then(|it| it.rsplit(' ').next()), Some("3"), "{page}");
        let failed =
            "steadfast_attempts_total{activity=\"First\",outcome=\"failed\",class=\"unknown\"} 3";
        assert_eq!(line(failed).as_deref(), Some(failed), "{page}");
        let completed = line("steadfast_attempts_total{activity=\"First\",outcome=\"completed\"");
        assert!(completed.is_some_and(|it| it.ends_with(" 3")), "{page}");
        let amplification = "steadfast_retry_amplification{activity=\"First\"} 2.0";
        assert_eq!(line(amplification).as_deref(), Some(amplification), "{page}");
    })
    .await;
}
