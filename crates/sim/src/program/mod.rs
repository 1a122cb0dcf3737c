//! Workflow programs: small, drawn from a seed, and with a result that can be told from a history.
//!
//! A program is a list of steps, done one after the other. What a step came to is one word of the
//! result: `a0=ok,t1,r2=timer,c3=completed`. The program's seed is the workflow's input, so that
//! workers and the oracle know the whole program from the first event.

mod decide;
mod view;

pub(crate) use decide::decide;
pub(crate) use view::{Ended, View};

use std::{fmt, str::FromStr};

use crate::chance::Chance;

/// What a workflow is asked to do: its input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Order {
    /// Where the program comes from.
    pub(crate) seed: u64,
    /// How many more generations of children there may be.
    pub(crate) depth: u32,
    /// How many times more it may continue as new.
    pub(crate) lives: u32,
}

/// A workflow program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// What it does, one after the other.
    pub(crate) steps: Vec<Step>,
    /// Whether it ends when it is asked to.
    pub(crate) heeds_cancel: bool,
    /// How it ends.
    pub(crate) end: End,
}

/// One step of a program.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Some activities at once; goes on when all have ended.
    Activities(Vec<Task>),
    /// A timer of so many milliseconds.
    Sleep(u64),
    /// An activity against a timer; the loser is cancelled.
    Race(Task, u64),
    /// A child; goes on when it has ended, unless it is abandoned.
    Child(Order, Care),
    /// A signal to another workflow.
    Tell(String),
    /// A request to another workflow to end.
    Stop(String),
    /// Waits for a signal, but not for longer than so many milliseconds.
    Await(u64),
    /// A note in the history.
    Mark,
}

/// What becomes of a child when its parent closes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Care {
    /// It is terminated.
    Terminate,
    /// It is asked to end.
    Cancel,
    /// It goes on; the parent does not wait for it.
    Abandon,
}

/// How a program ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    /// With a result.
    Complete,
    /// With a failure.
    Fail,
    /// As new, if it has lives left; else with a result.
    Continue,
}

/// What an activity is asked to do: its input.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Task {
    /// How many attempts fail before one succeeds.
    pub(crate) fails: u32,
    /// Whether the attempt after those fails for good.
    pub(crate) fatal: bool,
    /// How many attempts there may be; 0 for any number.
    pub(crate) attempts_max: u32,
    /// How long it waits before the second attempt.
    pub(crate) initial_ms: u64,
    /// How long an attempt may take.
    pub(crate) start_to_close_ms: u64,
    /// How long all attempts together may take; 0 for ever.
    pub(crate) schedule_to_close_ms: u64,
    /// How often it must give a sign of life; 0 for never.
    pub(crate) heartbeat_ms: u64,
    /// How long a good attempt takes.
    pub(crate) work_ms: u64,
}

impl Program {
    /// The program of an order.
    pub(crate) fn of(order: Order) -> Self {
        let mut chance = Chance::root(order.seed).child(&format!("program {}", order.lives));
        let count = chance.between(0, 4);
        let steps = (0..count).map(|_| Step::draw(&mut chance, order)).collect();
        let end = match chance.below(10) {
            0..=5 => End::Complete,
            6..=7 => End::Fail,
            _ => End::Continue,
        };
        Self { steps, heeds_cancel: chance.percent(60), end }
    }
}

impl Order {
    /// Anything.
    pub(crate) fn draw(chance: &mut Chance) -> Self {
        Self { seed: chance.below(1 << 40), depth: 2, lives: chance.small(0, 2) }
    }

    /// The same again, with one life less.
    pub(crate) fn next(self) -> Option<Self> {
        Some(Self { lives: self.lives.checked_sub(1)?, ..self })
    }
}

impl Step {
    fn draw(chance: &mut Chance, order: Order) -> Self {
        match chance.below(20) {
            0..=4 => Self::Activities(vec![Task::draw(chance)]),
            5..=7 => {
                let count = chance.between(2, 4);
                Self::Activities((0..count).map(|_| Task::draw(chance)).collect())
            }
            8..=10 => Self::Sleep(chance.between(1, 8_000)),
            11..=12 => Self::Race(Task::draw(chance), chance.between(50, 5_000)),
            13..=15 if order.depth > 0 => Self::child(chance, order),
            16 if chance.percent(30) => Self::Stop(format!("w{}", chance.below(8))),
            16 => Self::Tell(format!("w{}", chance.below(8))),
            17..=18 => Self::Await(chance.between(500, 6_000)),
            _ => Self::Mark,
        }
    }

    fn child(chance: &mut Chance, order: Order) -> Self {
        let wanted = Order {
            seed: chance.below(1 << 40),
            depth: order.depth - 1,
            lives: chance.small(0, 1),
        };
        let care = match chance.below(3) {
            0 => Care::Terminate,
            1 => Care::Cancel,
            _ => Care::Abandon,
        };
        Self::Child(wanted, care)
    }
}

impl Task {
    fn draw(chance: &mut Chance) -> Self {
        let attempts_max = if chance.percent(40) { chance.small(1, 4) } else { 0 };
        let schedule_to_close_ms = if chance.percent(20) { chance.between(500, 20_000) } else { 0 };
        Self {
            fails: if chance.percent(50) { 0 } else { chance.small(1, 4) },
            fatal: chance.percent(10),
            attempts_max,
            initial_ms: chance.between(1, 2_000),
            start_to_close_ms: chance.between(1_000, 8_000),
            schedule_to_close_ms,
            heartbeat_ms: if chance.percent(30) { chance.between(400, 2_000) } else { 0 },
            work_ms: if chance.percent(50) { 0 } else { chance.between(1, 900) },
        }
    }

    fn fields(self) -> [u64; 8] {
        [
            self.fails.into(),
            self.fatal.into(),
            self.attempts_max.into(),
            self.initial_ms,
            self.start_to_close_ms,
            self.schedule_to_close_ms,
            self.heartbeat_ms,
            self.work_ms,
        ]
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.seed, self.depth, self.lives)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields().map(|field| field.to_string());
        f.write_str(&fields.join("/"))
    }
}

/// A text is not what [`Display`](fmt::Display) wrote.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Unreadable;

impl FromStr for Order {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let [seed, depth, lives] = numbers(text)?;
        Ok(Self { seed, depth: small(depth)?, lives: small(lives)? })
    }
}

impl FromStr for Task {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let [fails, fatal, attempts_max, initial, start_to_close, schedule_to_close, beat, work] =
            numbers(text)?;
        Ok(Self {
            fails: small(fails)?,
            fatal: fatal != 0,
            attempts_max: small(attempts_max)?,
            initial_ms: initial,
            start_to_close_ms: start_to_close,
            schedule_to_close_ms: schedule_to_close,
            heartbeat_ms: beat,
            work_ms: work,
        })
    }
}

fn numbers<const N: usize>(text: &str) -> Result<[u64; N], Unreadable> {
    let fields: Result<Vec<u64>, _> = text.split('/').map(str::parse).collect();
    fields.map_err(|_| Unreadable)?.try_into().map_err(|_| Unreadable)
}

fn small(number: u64) -> Result<u32, Unreadable> {
    u32::try_from(number).map_err(|_| Unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_tasks_are_read_as_they_were_written() {
        let mut chance = Chance::root(3);
        for _ in 0..100 {
            let order = Order::draw(&mut chance);
            assert_eq!(order.to_string().parse(), Ok(order));
            let task = Task::draw(&mut chance);
            assert_eq!(task.to_string().parse(), Ok(task));
        }
    }
}
