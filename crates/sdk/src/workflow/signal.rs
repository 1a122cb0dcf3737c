//! Signals: messages to a run, kept until its code asks for them.

use std::{
    collections::{BTreeMap, VecDeque},
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use serde::de::DeserializeOwned;
use steadfast_proto::common::Payloads;

use super::context::WorkflowContext;
use crate::payload::{self, CodecError};

/// All signals that nobody has read yet, by name.
#[derive(Debug, Default)]
pub(crate) struct Inbox(BTreeMap<String, Letters>);

#[derive(Debug, Default)]
struct Letters {
    unread: VecDeque<Payloads>,
    waiting: Vec<Waker>,
}

impl Inbox {
    /// A signal has come.
    pub(crate) fn put(&mut self, name: &str, input: Option<Payloads>) {
        let letters = self.0.entry(name.to_owned()).or_default();
        letters.unread.push_back(input.unwrap_or_default());
        letters.waiting.drain(..).for_each(Waker::wake);
    }

    pub(crate) fn is_waited_for(&self) -> bool {
        self.0.values().any(|letters| !letters.waiting.is_empty())
    }

    fn take(&mut self, name: &str) -> Option<Payloads> {
        self.0.get_mut(name)?.unread.pop_front()
    }

    fn wait(&mut self, name: &str, waker: &Waker) {
        self.0.entry(name.to_owned()).or_default().waiting.push(waker.clone());
    }
}

/// The signals of one name, in the order in which they came. None is lost: those that came before
/// the code asked are waiting.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// async fn approval(ctx: WorkflowContext, _: ()) -> Result<String, Failure> {
///     let mut votes = ctx.signals::<String>("vote");
///     loop {
///         match votes.receive().await {
///             Ok(vote) => return Ok(vote),
///             // somebody sent something that is no vote
///             Err(error) => ctx.log(format_args!("not a vote: {error}")),
///         }
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Signals<T> {
    ctx: WorkflowContext,
    name: String,
    value: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Signals<T> {
    pub(crate) fn new(ctx: WorkflowContext, name: String) -> Self {
        Self { ctx, name, value: PhantomData }
    }

    /// Waits for the next one. One that is not of this type is an error, and is gone then.
    pub fn receive(&mut self) -> NextSignal<'_, T> {
        NextSignal { signals: self }
    }

    /// The next one, if there is one by now.
    pub fn try_receive(&mut self) -> Option<Result<T, CodecError>> {
        let input = self.ctx.journal.state().inbox.take(&self.name)?;
        Some(payload::decode_one(Some(&input)))
    }
}

/// A wait for the next signal.
#[derive(Debug)]
#[must_use = "a signal is read when this is awaited"]
pub struct NextSignal<'a, T> {
    signals: &'a mut Signals<T>,
}

impl<T: DeserializeOwned> Future for NextSignal<'_, T> {
    type Output = Result<T, CodecError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let signals = &self.signals;
        let mut state = signals.ctx.journal.state();
        if let Some(input) = state.inbox.take(&signals.name) {
            return Poll::Ready(payload::decode_one(Some(&input)));
        }
        state.inbox.wait(&signals.name, cx.waker());
        Poll::Pending
    }
}
