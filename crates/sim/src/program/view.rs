//! What a program has done so far, as its history tells it.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_proto::history::{HistoryEvent, history_event::Attributes};

use crate::wire::text;

/// What a program has done so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The workflow's input.
    pub(crate) input: String,
    /// Activities by activity id.
    pub(crate) activities: BTreeMap<String, Thing>,
    /// Timers by timer id.
    pub(crate) timers: BTreeMap<String, Thing>,
    /// Children by workflow id.
    pub(crate) children: BTreeMap<String, Thing>,
    /// Signals to others by signal name, and cancel requests by reason.
    pub(crate) told: BTreeMap<String, Thing>,
    /// The events of the signals that came.
    pub(crate) signals: Vec<i64>,
    /// The notes.
    pub(crate) marks: BTreeSet<String>,
    /// When it was asked to end.
    pub(crate) cancel_requested: Option<i64>,
    names: BTreeMap<i64, String>,
}

/// Something that was begun.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    /// The event that began it.
    pub(crate) begun: i64,
    /// Whether it was asked to end.
    pub(crate) cancel_requested: bool,
    /// Whether it was heard of since (a child: whether it was started).
    pub(crate) seen: bool,
    /// How it ended, and in which event.
    pub(crate) ended: Option<(i64, Ended)>,
}

/// How something ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ended {
    /// Well: completed, fired, delivered.
    Well,
    /// It failed.
    Failed,
    /// It ran out of time.
    TimedOut,
    /// It was cancelled.
    Cancelled,
    /// It was terminated.
    Terminated,
    /// It could not be started.
    NotStarted,
}

impl View {
    /// Reads a history.
    pub(crate) fn of<'a>(events: impl IntoIterator<Item = &'a HistoryEvent>) -> Self {
        let mut view = Self::default();
        for event in events {
            if let Some(attributes) = &event.attributes {
                view.take(event.event_id, attributes);
            }
        }
        view
    }

    fn take(&mut self, id: i64, attributes: &Attributes) {
        use Attributes as A;
        match attributes {
            A::WorkflowExecutionStartedEventAttributes(it) => {
                self.input = text(it.input.as_ref());
            }
            A::WorkflowExecutionSignaledEventAttributes(it) => {
                if it.signal_name.starts_with("poke") {
                    self.signals.push(id);
                }
            }
            A::WorkflowExecutionCancelRequestedEventAttributes(_) => {
                self.cancel_requested.get_or_insert(id);
            }
            A::MarkerRecordedEventAttributes(it) => {
                self.marks.insert(it.marker_name.clone());
            }
            A::TimerStartedEventAttributes(it) => {
                self.timers.insert(it.timer_id.clone(), Thing::begun(id));
            }
            A::TimerFiredEventAttributes(it) => {
                end(&mut self.timers, &it.timer_id, id, Ended::Well);
            }
            A::TimerCanceledEventAttributes(it) => {
                end(&mut self.timers, &it.timer_id, id, Ended::Cancelled);
            }
            _ => self.take_activity(id, attributes),
        }
    }

    fn take_activity(&mut self, id: i64, attributes: &Attributes) {
        use Attributes as A;
        match attributes {
            A::ActivityTaskScheduledEventAttributes(it) => {
                self.names.insert(id, it.activity_id.clone());
                self.activities.insert(it.activity_id.clone(), Thing::begun(id));
            }
            A::ActivityTaskCancelRequestedEventAttributes(it) => {
                let name = self.names.get(&it.scheduled_event_id).cloned().unwrap_or_default();
                if let Some(thing) = self.activities.get_mut(&name) {
                    thing.cancel_requested = true;
                }
            }
            A::ActivityTaskCompletedEventAttributes(it) => {
                self.end_activity(it.scheduled_event_id, id, Ended::Well);
            }
            A::ActivityTaskFailedEventAttributes(it) => {
                self.end_activity(it.scheduled_event_id, id, Ended::Failed);
            }
            A::ActivityTaskTimedOutEventAttributes(it) => {
                self.end_activity(it.scheduled_event_id, id, Ended::TimedOut);
            }
            A::ActivityTaskCanceledEventAttributes(it) => {
                self.end_activity(it.scheduled_event_id, id, Ended::Cancelled);
            }
            _ => self.take_child(id, attributes),
        }
    }

    fn take_child(&mut self, id: i64, attributes: &Attributes) {
        use Attributes as A;
        match attributes {
            A::StartChildWorkflowExecutionInitiatedEventAttributes(it) => {
                self.names.insert(id, it.workflow_id.clone());
                self.children.insert(it.workflow_id.clone(), Thing::begun(id));
            }
            A::StartChildWorkflowExecutionFailedEventAttributes(it) => {
                self.end_child(it.initiated_event_id, id, Ended::NotStarted);
            }
            A::ChildWorkflowExecutionStartedEventAttributes(it) => {
                let name = self.names.get(&it.initiated_event_id).cloned().unwrap_or_default();
                if let Some(thing) = self.children.get_mut(&name) {
                    thing.seen = true;
                }
            }
            A::ChildWorkflowExecutionCompletedEventAttributes(it) => {
                self.end_child(it.initiated_event_id, id, Ended::Well);
            }
            A::ChildWorkflowExecutionFailedEventAttributes(it) => {
                self.end_child(it.initiated_event_id, id, Ended::Failed);
            }
            A::ChildWorkflowExecutionCanceledEventAttributes(it) => {
                self.end_child(it.initiated_event_id, id, Ended::Cancelled);
            }
            A::ChildWorkflowExecutionTimedOutEventAttributes(it) => {
                self.end_child(it.initiated_event_id, id, Ended::TimedOut);
            }
            A::ChildWorkflowExecutionTerminatedEventAttributes(it) => {
                self.end_child(it.initiated_event_id, id, Ended::Terminated);
            }
            A::SignalExternalWorkflowExecutionInitiatedEventAttributes(it) => {
                self.names.insert(id, it.signal_name.clone());
                self.told.insert(it.signal_name.clone(), Thing::begun(id));
            }
            _ => self.take_told(id, attributes),
        }
    }

    fn take_told(&mut self, id: i64, attributes: &Attributes) {
        use Attributes as A;
        let (initiated, how) = match attributes {
            A::SignalExternalWorkflowExecutionFailedEventAttributes(it) => {
                (it.initiated_event_id, Ended::Failed)
            }
            A::ExternalWorkflowExecutionSignaledEventAttributes(it) => {
                (it.initiated_event_id, Ended::Well)
            }
            A::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(it) => {
                self.names.insert(id, it.reason.clone());
                self.told.insert(it.reason.clone(), Thing::begun(id));
                return;
            }
            A::RequestCancelExternalWorkflowExecutionFailedEventAttributes(it) => {
                (it.initiated_event_id, Ended::Failed)
            }
            A::ExternalWorkflowExecutionCancelRequestedEventAttributes(it) => {
                (it.initiated_event_id, Ended::Well)
            }
            _ => return,
        };
        let name = self.names.get(&initiated).cloned().unwrap_or_default();
        end(&mut self.told, &name, id, how);
    }

    fn end_activity(&mut self, scheduled: i64, id: i64, how: Ended) {
        let name = self.names.get(&scheduled).cloned().unwrap_or_default();
        end(&mut self.activities, &name, id, how);
    }

    fn end_child(&mut self, initiated: i64, id: i64, how: Ended) {
        let name = self.names.get(&initiated).cloned().unwrap_or_default();
        end(&mut self.children, &name, id, how);
    }
}

impl Thing {
    fn begun(id: i64) -> Self {
        Self { begun: id, cancel_requested: false, seen: false, ended: None }
    }
}

impl Ended {
    /// The word for it in a result.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Failed => "failed",
            Self::TimedOut => "late",
            Self::Cancelled => "cancelled",
            Self::Terminated => "terminated",
            Self::NotStarted => "refused",
        }
    }
}

fn end(things: &mut BTreeMap<String, Thing>, name: &str, id: i64, how: Ended) {
    if let Some(thing) = things.get_mut(name) {
        thing.ended.get_or_insert((id, how));
    }
}
