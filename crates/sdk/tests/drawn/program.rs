//! Programs: what workflows do, drawn by lot, and what may come of it.

use proptest::{collection::vec, prelude::*};
use serde::{Deserialize, Serialize};
use steadfast::OnCancel;

/// What a workflow does, one after the other.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Step {
    /// An activity.
    Work(Work),
    /// A local one.
    Local(Work),
    /// An activity that nobody waits for.
    Detached(Work),
    Sleep(u64),
    /// A condition that holds after so many milliseconds.
    Until(u64),
    /// Several things at once, all of which are waited for.
    All(Vec<Vec<Self>>),
    /// Two things at once, of which the first counts and the other is cancelled.
    First(Vec<Self>, Vec<Self>),
    /// Something that is cancelled after so many milliseconds, and waited for all the same.
    Cancelled(Vec<Self>, u64),
    Child(Vec<Self>, Leaving),
    /// A child by its handle, some time after its start.
    Handle(Vec<Self>, u64),
    /// Something that is undone afterwards, also if it was cancelled.
    Undone(Vec<Self>, Work),
    /// A child that sends a signal of its own name, and a wait for that.
    Signal(u32),
    /// What only the world knows: the same at every replay.
    Effect(u32),
    Patch(u32),
}

/// What an activity does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Work {
    pub(crate) number: u32,
    /// How many attempts fail before one succeeds.
    pub(crate) fails: u32,
    /// How long each takes, in milliseconds.
    pub(crate) takes: u64,
    /// Whether it ends when it is cancelled.
    pub(crate) heeds: bool,
    pub(crate) leaving: Leaving,
}

/// What a cancellation does.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) enum Leaving {
    Try,
    Wait,
    Abandon,
}

impl From<Leaving> for OnCancel {
    fn from(leaving: Leaving) -> Self {
        match leaving {
            Leaving::Try => Self::Try,
            Leaving::Wait => Self::Wait,
            Leaving::Abandon => Self::Abandon,
        }
    }
}

/// What a step came to.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Came {
    Number(u32),
    Slept,
    All(Vec<Vec<Self>>),
    /// Whether it was the one or the other.
    First(bool, Vec<Self>),
    /// Nothing, if it was cancelled before its end.
    Cancelled(Option<Vec<Self>>),
    Child(Vec<Self>),
}

/// Steps for each run of a chain, and what came of those of the runs before.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Program {
    pub(crate) runs: Vec<Vec<Step>>,
    pub(crate) came: Vec<Vec<Came>>,
}

/// Whether steps may have come to this.
pub(crate) fn may_be(steps: &[Step], came: &[Came]) -> bool {
    let pairs = steps.iter().zip(came);
    steps.len() == came.len()
        && pairs.into_iter().all(|pair| match pair {
            (Step::Work(it) | Step::Local(it) | Step::Detached(it), Came::Number(number)) => {
                it.number == *number
            }
            (Step::Undone(steps, _), Came::All(came)) => came.len() == 1 && may_be(steps, &came[0]),
            (Step::Signal(it) | Step::Effect(it) | Step::Patch(it), Came::Number(number)) => {
                it == number
            }
            (Step::Sleep(_) | Step::Until(_), Came::Slept)
            | (Step::Cancelled(..), Came::Cancelled(None)) => true,
            (Step::All(parts), Came::All(came)) => {
                parts.len() == came.len()
                    && parts.iter().zip(came).all(|(steps, came)| may_be(steps, came))
            }
            (Step::First(one, other), Came::First(is_one, came)) => {
                may_be(if *is_one { one } else { other }, came)
            }
            (Step::Cancelled(steps, _), Came::Cancelled(Some(came)))
            | (Step::Child(steps, _) | Step::Handle(steps, _), Came::Child(came)) => {
                may_be(steps, came)
            }
            _ => false,
        })
}

fn leaving() -> impl Strategy<Value = Leaving> {
    prop_oneof![Just(Leaving::Try), Just(Leaving::Wait), Just(Leaving::Abandon)]
}

pub(crate) fn some_work() -> impl Strategy<Value = Work> {
    (0..4_u32, 0..800_u64, any::<bool>(), leaving()).prop_map(|(fails, takes, heeds, leaving)| {
        Work {
            number: 0,
            fails: fails.saturating_sub(1),
            takes: takes.saturating_sub(200),
            heeds,
            leaving,
        }
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let leaf = prop_oneof![
        4 => some_work().prop_map(Step::Work),
        2 => some_work().prop_map(Step::Local),
        1 => some_work().prop_map(Step::Detached),
        3 => (0..3_000_u64).prop_map(Step::Sleep),
        1 => (0..1_000_u64).prop_map(Step::Until),
        1 => Just(Step::Signal(0)),
        1 => Just(Step::Effect(0)),
        1 => Just(Step::Patch(0)),
    ];
    let step = leaf.prop_recursive(3, 20, 3, |inner| {
        let steps = || vec(inner.clone(), 0..3);
        prop_oneof![
            2 => vec(steps(), 0..4).prop_map(Step::All),
            2 => (steps(), steps()).prop_map(|(one, other)| Step::First(one, other)),
            2 => (steps(), 0..2_000_u64).prop_map(|(it, span)| Step::Cancelled(it, span)),
            1 => (steps(), 0..500_u64).prop_map(|(it, span)| Step::Handle(it, span)),
            1 => (steps(), some_work()).prop_map(|(it, undo)| Step::Undone(it, undo)),
            1 => (steps(), leaving()).prop_map(|(it, leaving)| Step::Child(it, leaving)),
        ]
    });
    vec(step, 0..4)
}

/// Gives each step a number of its own.
fn number(steps: &mut [Step], next: &mut u32) {
    for step in steps {
        *next += 1;
        match step {
            Step::Work(it) | Step::Local(it) | Step::Detached(it) => it.number = *next,
            Step::Signal(it) | Step::Effect(it) | Step::Patch(it) => *it = *next,
            Step::Sleep(_) | Step::Until(_) => {}
            Step::All(parts) => parts.iter_mut().for_each(|steps| number(steps, next)),
            Step::First(one, other) => {
                number(one, next);
                number(other, next);
            }
            Step::Cancelled(steps, _)
            | Step::Child(steps, _)
            | Step::Handle(steps, _)
            | Step::Undone(steps, _) => number(steps, next),
        }
    }
}

pub(crate) fn program() -> impl Strategy<Value = Program> {
    vec(steps(), 1..3).prop_map(|mut runs| {
        let mut next = 0;
        for steps in &mut runs {
            number(steps, &mut next);
        }
        Program { runs, came: Vec::new() }
    })
}
