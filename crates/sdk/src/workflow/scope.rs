//! Cancellation scopes: what is begun in a scope is cancelled with it.

use std::{
    collections::BTreeSet,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::context::WorkflowContext;

/// The scope of the workflow itself, cancelled when somebody cancels the workflow.
pub(crate) const ROOT: usize = 0;

/// The scopes of a run.
#[derive(Debug)]
pub(crate) struct Scopes(Vec<Scope>);

#[derive(Debug, Default)]
struct Scope {
    cancelled: bool,
    members: BTreeSet<u64>,
    inner: Vec<usize>,
    waiters: Vec<Waker>,
}

impl Scopes {
    pub(crate) fn new() -> Self {
        Self(vec![Scope::default()])
    }

    /// A scope within another, or one that no other cancels.
    pub(crate) fn open(&mut self, within: Option<usize>) -> usize {
        let number = self.0.len();
        let cancelled = within.is_some_and(|outer| self.is_cancelled(outer));
        self.0.push(Scope { cancelled, ..Scope::default() });
        if let Some(outer) = within.and_then(|outer| self.0.get_mut(outer)) {
            outer.inner.push(number);
        }
        number
    }

    pub(crate) fn join(&mut self, scope: usize, member: u64) {
        if let Some(scope) = self.0.get_mut(scope) {
            scope.members.insert(member);
        }
    }

    pub(crate) fn leave(&mut self, scope: usize, member: u64) {
        if let Some(scope) = self.0.get_mut(scope) {
            scope.members.remove(&member);
        }
    }

    pub(crate) fn is_cancelled(&self, scope: usize) -> bool {
        self.0.get(scope).is_some_and(|scope| scope.cancelled)
    }

    /// Cancels a scope and those within; gives what waits in them, in the order it was begun.
    pub(crate) fn cancel(&mut self, scope: usize) -> BTreeSet<u64> {
        let mut members = BTreeSet::new();
        let mut open = vec![scope];
        while let Some(number) = open.pop() {
            let Some(scope) = self.0.get_mut(number) else { continue };
            if std::mem::replace(&mut scope.cancelled, true) {
                continue;
            }
            members.extend(scope.members.iter().copied());
            open.extend(scope.inner.iter().copied());
            scope.waiters.drain(..).for_each(Waker::wake);
        }
        members
    }

    pub(crate) fn are_waited_for(&self) -> bool {
        self.0.iter().any(|scope| !scope.waiters.is_empty())
    }

    fn wait(&mut self, scope: usize, waker: &Waker) {
        if let Some(scope) = self.0.get_mut(scope) {
            scope.waiters.push(waker.clone());
        }
    }
}

/// A part of a workflow that can be cancelled by itself.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn search(place: String) -> Result<String, Failure> { Ok(place) }
/// async fn first(ctx: WorkflowContext, _: ()) -> Result<String, Failure> {
///     let scope = ctx.scope();
///     let here = scope.activity(search, "here").start();
///     let there = scope.activity(search, "there").start();
///     let found = steadfast::select! {
///         found = here => found?,
///         found = there => found?,
///     };
///     scope.cancel();
///     Ok(found)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct CancelScope {
    ctx: WorkflowContext,
}

impl CancelScope {
    pub(crate) fn new(ctx: WorkflowContext) -> Self {
        Self { ctx }
    }

    /// Cancels all that was begun in it and has not ended, and all that will be.
    pub fn cancel(&self) {
        self.ctx.journal.state().cancel_scope(self.ctx.scope);
    }
}

impl std::ops::Deref for CancelScope {
    type Target = WorkflowContext;

    fn deref(&self) -> &WorkflowContext {
        &self.ctx
    }
}

/// Waits until a scope is cancelled.
#[derive(Debug)]
pub(crate) struct Cancellation {
    pub(crate) ctx: WorkflowContext,
}

impl Future for Cancellation {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.ctx.journal.state();
        if state.is_cancelled(self.ctx.scope) {
            return Poll::Ready(());
        }
        state.scopes.wait(self.ctx.scope, cx.waker());
        Poll::Pending
    }
}
