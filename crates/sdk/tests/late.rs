//! What ends in the very turn in which the code cancels it is not cancelled: there is nothing left to
//! cancel, and a server refuses the command.

use std::time::Duration;

use steadfast::{
    Failure, Replayer, WorkflowContext,
    proto::{
        enums::EventType,
        history::{HistoryEvent, TimerFiredEventAttributes, history_event::Attributes},
    },
    testing::TestEnv,
};

async fn wait(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let mut words = ctx.signals::<String>("word");
    Ok(steadfast::select! {
        word = words.receive() => word?,
        _ = ctx.sleep(Duration::from_secs(60)) => "silence".to_owned(),
    })
}

#[tokio::test]
async fn a_timer_that_fires_with_the_signal_is_not_cancelled() {
    let env = TestEnv::start(|app| app.workflow(wait)).await.unwrap();
    let told = env.client().start(wait, ()).await.unwrap();
    told.signal("word", &"yes").await.unwrap();
    assert_eq!(told.result().await.unwrap(), "yes");
    let events = told.history().await.unwrap();
    let replayer = Replayer::new().workflow(wait);
    replayer.replay(events.clone()).unwrap();
    replayer.replay(fired_too(events)).unwrap();
}

/// The same history, as it were if the timer had fired after the signal and before the code was asked.
fn fired_too(mut events: Vec<HistoryEvent>) -> Vec<HistoryEvent> {
    let place = |events: &[HistoryEvent], kind: EventType| {
        events.iter().position(|event| event.event_type() == kind).expect("it is there")
    };
    let started = &events[place(&events, EventType::TimerStarted)];
    let Some(Attributes::TimerStartedEventAttributes(timer)) = &started.attributes else {
        panic!("{started:?}")
    };
    let fired = TimerFiredEventAttributes {
        timer_id: timer.timer_id.clone(),
        started_event_id: started.event_id,
    };
    let fired = HistoryEvent {
        event_time: started.event_time,
        event_type: EventType::TimerFired.into(),
        attributes: Some(Attributes::from(fired)),
        ..HistoryEvent::default()
    };
    events.remove(place(&events, EventType::TimerCanceled));
    events.insert(place(&events, EventType::WorkflowExecutionSignaled) + 1, fired);
    for (id, event) in (1..).zip(&mut events) {
        event.event_id = id;
    }
    events
}
