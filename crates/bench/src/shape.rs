//! What the workflows of a case do. One shape, one worker: the worker knows what to answer.

use steadfast_proto::{
    command::{self, Command},
    common, enums,
    failure::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    history::HistoryEvent,
    prost_types,
};

/// What a workflow does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    /// Activities one after the other.
    Chain {
        /// How many.
        steps: usize,
    },
    /// Activities all at once.
    FanOut {
        /// How many.
        width: usize,
    },
    /// One activity that fails as often before it succeeds.
    Fails {
        /// How often.
        times: i32,
    },
    /// One activity that fails for good at first, each run's in its own way, and succeeds when it is
    /// resumed.
    Troubled,
    /// A timer that is not due for a day.
    Sleep,
}

/// What a worker remembers of a run between workflow tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    done: usize,
}

impl Shape {
    /// What the workflow's code wants, given the events that are new to it.
    pub(crate) fn commands(self, memory: &mut Memory, events: &[HistoryEvent]) -> Vec<Command> {
        if events.first().is_some_and(|event| event.event_id == 1) {
            *memory = Memory::default();
        }
        memory.done += events.iter().filter(|event| is_completion(event)).count();
        let started = events.iter().any(|event| event.event_id == 1);
        match self {
            Self::Chain { steps } if memory.done < steps => vec![self.activity(memory.done)],
            Self::Fails { .. } | Self::Troubled if memory.done < 1 => vec![self.activity(0)],
            Self::FanOut { width } if memory.done < width => {
                if started {
                    (0..width).map(|id| self.activity(id)).collect()
                } else {
                    Vec::new()
                }
            }
            Self::Sleep => vec![timer()],
            Self::Chain { .. } | Self::Fails { .. } | Self::FanOut { .. } | Self::Troubled => {
                vec![complete()]
            }
        }
    }

    /// Whether this attempt of the activity succeeds.
    pub(crate) fn succeeds(self, attempt: i32) -> bool {
        match self {
            Self::Fails { times } => attempt > times,
            Self::Troubled => attempt > 1,
            Self::Chain { .. } | Self::FanOut { .. } | Self::Sleep => true,
        }
    }

    /// Activities that complete in one workflow.
    pub(crate) fn steps(self) -> usize {
        match self {
            Self::Chain { steps } => steps,
            Self::FanOut { width } => width,
            Self::Fails { .. } | Self::Troubled => 1,
            Self::Sleep => 0,
        }
    }

    /// How an attempt of this workflow's activity fails.
    pub(crate) fn failure(self, workflow_id: &str) -> Failure {
        let non_retryable = self == Self::Troubled;
        let message = match self {
            Self::Troubled => cause(workflow_id),
            Self::Chain { .. } | Self::FanOut { .. } | Self::Fails { .. } | Self::Sleep => {
                "the card was declined".to_owned()
            }
        };
        let r#type = "Declined".to_owned();
        let info = ApplicationFailureInfo { r#type, non_retryable, ..Default::default() };
        Failure {
            message,
            failure_info: Some(FailureInfo::ApplicationFailureInfo(info)),
            ..Failure::default()
        }
    }

    fn activity(self, id: usize) -> Command {
        let retry = common::RetryPolicy {
            initial_interval: Some(millis(1)),
            backoff_coefficient: 1.0,
            ..common::RetryPolicy::default()
        };
        let wanted = command::ScheduleActivityTaskCommandAttributes {
            activity_id: id.to_string(),
            activity_type: Some(common::ActivityType { name: "Charge".to_owned() }),
            input: Some(payloads()),
            start_to_close_timeout: Some(millis(10_000)),
            retry_policy: matches!(self, Self::Fails { .. }).then_some(retry),
            ..command::ScheduleActivityTaskCommandAttributes::default()
        };
        Command::of(wanted)
    }
}

/// What goes wrong with a workflow: one of 625 hosts does not answer, and one message in ten names
/// the workflow besides.
pub(crate) fn cause(workflow_id: &str) -> String {
    let number = number(workflow_id);
    let word = |place: usize| WORDS[place % WORDS.len()];
    let host = format!("{}-{}", word(number), word(number / WORDS.len()));
    if number.is_multiple_of(10) {
        return format!("{host} did not answer about {workflow_id}");
    }
    format!("{host} did not answer in time")
}

/// The number at the end of a workflow's id.
pub(crate) fn number(workflow_id: &str) -> usize {
    let digits = workflow_id.rsplit('-').next().unwrap_or_default();
    digits.parse().unwrap_or_default()
}

const WORDS: [&str; 25] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty",
    "knoll", "larch", "marsh", "north", "ocean", "prism", "quarry", "ridge", "shore", "thorn",
    "umber", "vale", "wharf", "yarrow", "zenith",
];

/// A small payload, as a real one has a few dozen bytes.
pub(crate) fn payloads() -> common::Payloads {
    common::Payloads { payloads: vec![common::Payload::json(r#"{"order":"4711","amount":1250}"#)] }
}

fn is_completion(event: &HistoryEvent) -> bool {
    event.event_type() == enums::EventType::ActivityTaskCompleted
}

fn timer() -> Command {
    let wanted = command::StartTimerCommandAttributes {
        timer_id: "1".to_owned(),
        start_to_fire_timeout: Some(millis(24 * 3600 * 1000)),
    };
    Command::of(wanted)
}

fn complete() -> Command {
    let wanted = command::CompleteWorkflowExecutionCommandAttributes { result: Some(payloads()) };
    Command::of(wanted)
}

fn millis(millis: i64) -> prost_types::Duration {
    let nanos = i32::try_from(millis % 1_000 * 1_000_000).unwrap_or_default();
    prost_types::Duration { seconds: millis / 1_000, nanos }
}
