//! How a local activity ended, as a marker in history. Its shape is that of the official core, so
//! that pages and tools show it as what it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use steadfast_proto::{
    command::{Command, RecordMarkerCommandAttributes},
    history::MarkerRecordedEventAttributes,
};

use super::{journal::Outcome, locals::LocalTask};
use crate::payload;

/// The end of a local activity, or of as many attempts as are made without a timer in between.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// Which one.
    pub(crate) seq: u32,
    /// The last attempt.
    pub(crate) attempt: u32,
    /// When it ended, in the run's own time.
    pub(crate) completed_at: SystemTime,
    /// The wait before the next attempt, if there is one.
    pub(crate) backoff: Option<Duration>,
    pub(crate) outcome: Outcome,
    /// History's own words, if it comes from there.
    recorded: Option<Recorded>,
}

/// A marker that is in history.
#[derive(Clone, Debug)]
struct Recorded {
    event_id: i64,
    activity_type: String,
    event: MarkerRecordedEventAttributes,
}

/// What a marker says beside result and failure.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Data {
    seq: u32,
    attempt: u32,
    activity_id: String,
    activity_type: String,
    complete_time: Option<Parts>,
    backoff: Option<Parts>,
    original_schedule_time: Option<Parts>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
struct Parts {
    seconds: u64,
    nanos: u32,
}

impl Mark {
    /// Of one that has just ended.
    pub(crate) fn new(
        seq: u32,
        attempt: u32,
        completed_at: SystemTime,
        outcome: Outcome,
        backoff: Option<Duration>,
    ) -> Self {
        Self { seq, attempt, completed_at, backoff, outcome, recorded: None }
    }

    /// As history has it; nothing, if the marker is another one.
    pub(crate) fn read(event_id: i64, event: &MarkerRecordedEventAttributes) -> Option<Self> {
        if event.marker_name != NAME {
            return None;
        }
        let data: Data = payload::decode(event.details.get(DATA)?.payloads.first()?).ok()?;
        let outcome = match &event.failure {
            Some(failure) => Err(Box::new(failure.clone())),
            None => Ok(event.details.get(RESULT).cloned()),
        };
        let activity_type = data.activity_type;
        let recorded = Recorded { event_id, activity_type, event: event.clone() };
        Some(Self {
            seq: data.seq,
            attempt: data.attempt,
            completed_at: UNIX_EPOCH + data.complete_time.unwrap_or_default().span(),
            backoff: data.backoff.map(Parts::span),
            outcome,
            recorded: Some(recorded),
        })
    }

    /// Which activity history says it was, if it comes from there.
    pub(crate) fn recorded_type(&self) -> Option<&str> {
        self.recorded.as_ref().map(|recorded| recorded.activity_type.as_str())
    }

    /// The event that it comes from; 0 if it is new.
    pub(crate) fn event_id(&self) -> i64 {
        self.recorded.as_ref().map_or(0, |recorded| recorded.event_id)
    }

    /// The command that records it, and what the code is to see.
    pub(super) fn record(self, task: LocalTask) -> (Command, Outcome) {
        let attributes = match self.recorded {
            Some(Recorded { event, .. }) => RecordMarkerCommandAttributes {
                marker_name: event.marker_name,
                details: event.details,
                header: event.header,
                failure: event.failure,
            },
            None => self.attributes(task),
        };
        let record = Command::of(attributes);
        (record, self.outcome)
    }

    fn attributes(&self, task: LocalTask) -> RecordMarkerCommandAttributes {
        let since_epoch = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let data = Data {
            seq: self.seq,
            attempt: self.attempt,
            activity_id: task.activity_id,
            activity_type: task.name,
            complete_time: Some(Parts::of(since_epoch(self.completed_at))),
            backoff: self.backoff.map(Parts::of),
            original_schedule_time: Some(Parts::of(since_epoch(task.scheduled_at))),
        };
        let data = payload::encode_one(&data).unwrap_or_default();
        let data = data.map(|data| (DATA.to_owned(), data));
        let (result, failure) = match &self.outcome {
            Ok(result) => (result.clone().map(|it| (RESULT.to_owned(), it)), None),
            Err(failure) => (None, Some((**failure).clone())),
        };
        RecordMarkerCommandAttributes {
            marker_name: NAME.to_owned(),
            details: data.into_iter().chain(result).collect(),
            failure,
            ..RecordMarkerCommandAttributes::default()
        }
    }
}

impl Parts {
    fn of(span: Duration) -> Self {
        Self { seconds: span.as_secs(), nanos: span.subsec_nanos() }
    }

    fn span(self) -> Duration {
        Duration::new(self.seconds, self.nanos)
    }
}

const NAME: &str = "core_local_activity";
const DATA: &str = "data";
const RESULT: &str = "result";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_as_the_official_core_reads_it_and_is_read_back() {
        let (begun, ended) = (UNIX_EPOCH + Duration::from_secs(100), Duration::new(101, 5));
        let task = LocalTask {
            activity_id: "7".to_owned(),
            name: "price".to_owned(),
            input: None,
            policy: crate::policy::RetryPolicy::new(),
            start_to_close: None,
            schedule_to_close: None,
            threshold: Duration::from_secs(60),
            attempt: 1,
            scheduled_at: begun,
        };
        let result = payload::encode_one("12 euros").unwrap();
        let mark = Mark::new(3, 2, UNIX_EPOCH + ended, Ok(result.clone()), None);
        let attributes = mark.attributes(task);
        assert_eq!(attributes.marker_name, "core_local_activity");
        let data = &attributes.details["data"].payloads[0];
        assert_eq!(
            String::from_utf8_lossy(&data.data),
            r#"{"seq":3,"attempt":2,"activity_id":"7","activity_type":"price","complete_time":{"seconds":101,"nanos":5},"backoff":null,"original_schedule_time":{"seconds":100,"nanos":0}}"#
        );
        let event = MarkerRecordedEventAttributes {
            marker_name: attributes.marker_name,
            details: attributes.details,
            ..MarkerRecordedEventAttributes::default()
        };
        let read = Mark::read(5, &event).unwrap();
        assert_eq!((read.seq, read.attempt, read.completed_at), (3, 2, UNIX_EPOCH + ended));
        assert_eq!(read.outcome.unwrap(), result);
    }
}
