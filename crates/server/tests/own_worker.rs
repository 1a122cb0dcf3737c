//! What workers of our own SDK say in the metadata of their calls, over a real socket.

use steadfast_engine::{ATTEMPT_KEYS, FENCE_HEADER, SILENCE_MAX, SPOKEN_FOR_HEADER};
use steadfast_proto::workflowservice as ws;
use tonic::{Code, Request, metadata::MetadataValue};

use crate::common::{
    QUEUE, World, activity_poll, call_activity, code_and_text, seconds, soon, start, task_poll,
};

/// A poll for an activity that says these.
fn poll_saying(said: &[(&'static str, &'static str)]) -> Request<ws::PollActivityTaskQueueRequest> {
    let mut poll = Request::new(activity_poll(QUEUE));
    for (name, value) in said {
        poll.metadata_mut().insert(*name, MetadataValue::from_static(value));
    }
    poll
}

/// An activity that is handed to a worker which says these.
async fn handed_to(said: &[(&'static str, &'static str)]) -> ws::PollActivityTaskQueueResponse {
    let world = World::new().await;
    let mut client = world.client().await;
    client.start_workflow_execution(start("order-1")).await.expect("a start");
    let task = soon(client.poll_workflow_task_queue(task_poll(QUEUE))).await.expect("a poll");
    let schedule = call_activity(&task.into_inner());
    client.respond_workflow_task_completed(schedule).await.expect("an answer");
    soon(client.poll_activity_task_queue(poll_saying(said))).await.expect("a poll").into_inner()
}

fn fields(work: &ws::PollActivityTaskQueueResponse) -> Vec<&str> {
    let fields = work.header.iter().flat_map(|header| header.fields.keys());
    let mut names: Vec<_> =
        fields.map(String::as_str).filter(|it| it.starts_with("steadfast-")).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn who_gives_its_word_is_told_for_what_it_is_to_be_heard() {
    let work = handed_to(&[(ATTEMPT_KEYS, "true"), (SILENCE_MAX, "30000")]).await;
    assert_eq!(work.heartbeat_timeout, Some(seconds(30)));
    assert!(fields(&work).contains(&SPOKEN_FOR_HEADER));
}

#[tokio::test]
async fn who_gives_no_word_is_told_nothing_of_it() {
    let work = handed_to(&[(ATTEMPT_KEYS, "true")]).await;
    assert_eq!(work.heartbeat_timeout, Some(seconds(0)));
    assert!(fields(&work).contains(&FENCE_HEADER));
    assert!(!fields(&work).contains(&SPOKEN_FOR_HEADER));
}

#[tokio::test]
async fn a_word_alone_is_for_nobody() {
    let work = handed_to(&[(SILENCE_MAX, "30000")]).await;
    assert_eq!((work.heartbeat_timeout, fields(&work)), (Some(seconds(0)), vec![]));
}

#[tokio::test]
async fn a_word_that_is_none_is_refused() {
    let world = World::new().await;
    let mut client = world.client().await;
    let poll = poll_saying(&[(ATTEMPT_KEYS, "true"), (SILENCE_MAX, "30s")]);
    let status = soon(client.poll_activity_task_queue(poll)).await.expect_err("it is none");
    let words = "steadfast-silence-max is \"30s\": it must be a whole number of milliseconds from 1 to \
                 86400000";
    assert_eq!(code_and_text(&status), (Code::InvalidArgument, words));
}
