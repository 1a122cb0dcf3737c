//! The next commands of a program, from its history and nothing else.
//!
//! A step that is not begun is begun; one that is begun and not ended is waited for. So the same
//! history always gives the same commands, and a history that is longer by what those commands
//! brought gives the next ones.

use super::{Care, End, Order, Program, Step, Task, view::Ended, view::View};
use crate::wire;
use steadfast_proto::{
    command::{
        CancelTimerCommandAttributes, CancelWorkflowExecutionCommandAttributes, Command,
        CompleteWorkflowExecutionCommandAttributes,
        ContinueAsNewWorkflowExecutionCommandAttributes, FailWorkflowExecutionCommandAttributes,
        RecordMarkerCommandAttributes, RequestCancelActivityTaskCommandAttributes,
        RequestCancelExternalWorkflowExecutionCommandAttributes,
        ScheduleActivityTaskCommandAttributes, SignalExternalWorkflowExecutionCommandAttributes,
        StartChildWorkflowExecutionCommandAttributes, StartTimerCommandAttributes,
    },
    common, enums,
};

/// What a program wants next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decision {
    /// Its commands.
    pub(crate) commands: Vec<Command>,
    /// What its steps came to so far.
    pub(crate) result: String,
    /// Whether the commands end the run.
    pub(crate) ends: bool,
}

/// The next commands of the workflow with this history.
pub(crate) fn decide(workflow_id: &str, view: &View) -> Decision {
    let Ok(order) = view.input.parse::<Order>() else { return Decision::default() };
    let program = Program::of(order);
    let mut walk = Walk { workflow_id, view, commands: Vec::new(), words: Vec::new(), heard: 0 };
    if program.heeds_cancel && view.cancel_requested.is_some() {
        let wanted = CancelWorkflowExecutionCommandAttributes { details: None };
        walk.commands.push(Command::of(wanted));
        return walk.decision(true);
    }
    for (number, step) in program.steps.iter().enumerate() {
        match walk.step(number, step) {
            Some(word) => walk.words.push(word),
            None => return walk.decision(false),
        }
    }
    walk.end(order, program.end);
    walk.decision(true)
}

struct Walk<'a> {
    workflow_id: &'a str,
    view: &'a View,
    commands: Vec<Command>,
    words: Vec<String>,
    /// How many signals were used up.
    heard: usize,
}

impl Walk<'_> {
    fn decision(self, ends: bool) -> Decision {
        Decision { commands: self.commands, result: self.words.join(","), ends }
    }

    /// What the step came to, if it has ended.
    fn step(&mut self, number: usize, step: &Step) -> Option<String> {
        match step {
            Step::Activities(tasks) => self.activities(number, tasks),
            Step::Sleep(millis) => self.sleep(number, *millis),
            Step::Race(task, millis) => self.race(number, *task, *millis),
            Step::Child(order, care) => self.child(number, *order, *care),
            Step::Tell(target) => self.tell(number, target),
            Step::Stop(target) => self.stop(number, target),
            Step::Await(millis) => self.wait_for_signal(number, *millis),
            Step::Mark => Some(self.mark(number)),
        }
    }

    fn activities(&mut self, number: usize, tasks: &[Task]) -> Option<String> {
        let mut words = Vec::new();
        for (place, task) in tasks.iter().enumerate() {
            let id = format!("a{number}.{place}");
            match self.view.activities.get(&id) {
                None => self.schedule(&id, *task),
                Some(thing) => words.extend(thing.ended.map(|(_, how)| how.word())),
            }
        }
        (words.len() == tasks.len()).then(|| format!("a{number}={}", words.join("+")))
    }

    fn sleep(&mut self, number: usize, millis: u64) -> Option<String> {
        let id = format!("t{number}");
        let Some(timer) = self.view.timers.get(&id) else {
            self.start_timer(&id, millis);
            return None;
        };
        timer.ended.map(|_| id)
    }

    fn race(&mut self, number: usize, task: Task, millis: u64) -> Option<String> {
        let (runner, limit) = (format!("a{number}.race"), format!("t{number}"));
        let activity = self.view.activities.get(&runner);
        let timer = self.view.timers.get(&limit);
        let (Some(activity), Some(timer)) = (activity, timer) else {
            self.schedule(&runner, task);
            self.start_timer(&limit, millis);
            return None;
        };
        let done = activity.ended.map_or(i64::MAX, |(id, _)| id);
        let fired = fired(timer.ended);
        if done < fired {
            if timer.ended.is_none() {
                self.cancel_timer(&limit);
            }
            let (_, how) = activity.ended?;
            return Some(format!("r{number}={}", how.word()));
        }
        if fired == i64::MAX {
            return None;
        }
        if activity.ended.is_none() && !activity.cancel_requested {
            let wanted =
                RequestCancelActivityTaskCommandAttributes { scheduled_event_id: activity.begun };
            self.commands.push(Command::of(wanted));
        }
        Some(format!("r{number}=timer"))
    }

    fn child(&mut self, number: usize, order: Order, care: Care) -> Option<String> {
        let id = format!("{}.{number}", self.workflow_id);
        let Some(child) = self.view.children.get(&id) else {
            self.start_child(&id, order, care);
            return None;
        };
        let ended = child.ended.map(|(_, how)| format!("c{number}={}", how.word()));
        let left_alone = care == Care::Abandon && child.seen;
        ended.filter(|_| !left_alone).or_else(|| left_alone.then(|| format!("c{number}=left")))
    }

    fn tell(&mut self, number: usize, target: &str) -> Option<String> {
        let name = format!("told-{number}");
        let Some(told) = self.view.told.get(&name) else {
            let wanted = SignalExternalWorkflowExecutionCommandAttributes {
                execution: Some(wire::execution(target, "")),
                signal_name: name,
                input: Some(wire::payloads(self.workflow_id)),
                ..SignalExternalWorkflowExecutionCommandAttributes::default()
            };
            self.commands.push(Command::of(wanted));
            return None;
        };
        told.ended.map(|(_, how)| format!("s{number}={}", how.word()))
    }

    fn stop(&mut self, number: usize, target: &str) -> Option<String> {
        let reason = format!("stop-{number}");
        let Some(stopped) = self.view.told.get(&reason) else {
            let wanted = RequestCancelExternalWorkflowExecutionCommandAttributes {
                workflow_id: target.to_owned(),
                reason,
                ..RequestCancelExternalWorkflowExecutionCommandAttributes::default()
            };
            self.commands.push(Command::of(wanted));
            return None;
        };
        stopped.ended.map(|(_, how)| format!("x{number}={}", how.word()))
    }

    fn wait_for_signal(&mut self, number: usize, millis: u64) -> Option<String> {
        let id = format!("t{number}");
        let signal = self.view.signals.get(self.heard).copied().unwrap_or(i64::MAX);
        let Some(timer) = self.view.timers.get(&id) else {
            if signal == i64::MAX {
                self.start_timer(&id, millis);
                return None;
            }
            self.heard += 1;
            return Some(format!("w{number}=poked"));
        };
        if fired(timer.ended) < signal {
            return Some(format!("w{number}=timer"));
        }
        if signal == i64::MAX {
            return None;
        }
        self.heard += 1;
        if timer.ended.is_none() {
            self.cancel_timer(&id);
        }
        Some(format!("w{number}=poked"))
    }

    fn mark(&mut self, number: usize) -> String {
        let name = format!("m{number}");
        if !self.view.marks.contains(&name) {
            let wanted = RecordMarkerCommandAttributes {
                marker_name: name.clone(),
                ..RecordMarkerCommandAttributes::default()
            };
            self.commands.push(Command::of(wanted));
        }
        name
    }

    fn end(&mut self, order: Order, end: End) {
        let next = order.next().filter(|_| end == End::Continue);
        let result = Some(wire::payloads(&self.words.join(",")));
        if let Some(next) = next {
            let wanted = ContinueAsNewWorkflowExecutionCommandAttributes {
                workflow_type: Some(wire::program()),
                task_queue: Some(wire::queue(wire::QUEUE)),
                input: Some(wire::payloads(&next.to_string())),
                ..ContinueAsNewWorkflowExecutionCommandAttributes::default()
            };
            self.commands.push(Command::of(wanted));
        } else if end == End::Fail {
            let failure = Some(wire::failure(&self.words.join(","), false));
            let wanted = FailWorkflowExecutionCommandAttributes { failure };
            self.commands.push(Command::of(wanted));
        } else {
            let wanted = CompleteWorkflowExecutionCommandAttributes { result };
            self.commands.push(Command::of(wanted));
        }
    }

    fn schedule(&mut self, id: &str, task: Task) {
        let wanted = ScheduleActivityTaskCommandAttributes {
            activity_id: id.to_owned(),
            activity_type: Some(common::ActivityType { name: "Task".to_owned() }),
            task_queue: Some(wire::queue(wire::QUEUE)),
            input: Some(wire::payloads(&task.to_string())),
            start_to_close_timeout: wire::millis(task.start_to_close_ms),
            schedule_to_close_timeout: wire::millis(task.schedule_to_close_ms),
            heartbeat_timeout: wire::millis(task.heartbeat_ms),
            retry_policy: Some(wire::policy(task.initial_ms, task.attempts_max)),
            // One in three asks to be handed out with the answer, if the worker may take it.
            request_eager_execution: task.initial_ms.is_multiple_of(3),
            ..ScheduleActivityTaskCommandAttributes::default()
        };
        self.commands.push(Command::of(wanted));
    }

    fn start_child(&mut self, id: &str, order: Order, care: Care) {
        let policy = match care {
            Care::Terminate => enums::ParentClosePolicy::Terminate,
            Care::Cancel => enums::ParentClosePolicy::RequestCancel,
            Care::Abandon => enums::ParentClosePolicy::Abandon,
        };
        let wanted = StartChildWorkflowExecutionCommandAttributes {
            workflow_id: id.to_owned(),
            workflow_type: Some(wire::program()),
            task_queue: Some(wire::queue(wire::QUEUE)),
            input: Some(wire::payloads(&order.to_string())),
            parent_close_policy: policy.into(),
            ..StartChildWorkflowExecutionCommandAttributes::default()
        };
        self.commands.push(Command::of(wanted));
    }

    fn start_timer(&mut self, id: &str, millis: u64) {
        let wanted = StartTimerCommandAttributes {
            timer_id: id.to_owned(),
            start_to_fire_timeout: wire::millis(millis),
        };
        self.commands.push(Command::of(wanted));
    }

    fn cancel_timer(&mut self, id: &str) {
        let wanted = CancelTimerCommandAttributes { timer_id: id.to_owned() };
        self.commands.push(Command::of(wanted));
    }
}

/// The event in which a timer fired, if it did.
fn fired(ended: Option<(i64, Ended)>) -> i64 {
    ended.filter(|(_, how)| *how == Ended::Well).map_or(i64::MAX, |(id, _)| id)
}
