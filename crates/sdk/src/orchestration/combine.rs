//! Several things at once: the first of them, or all. The same at every replay.

use std::{future::poll_fn, pin::pin, task::Poll};

use super::context::OrchestrationContext;
use crate::select::join_all;

/// Which of two came first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Either2<A, B> {
    /// The first.
    First(A),
    /// The second.
    Second(B),
}

/// Which of three came first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Either3<A, B, C> {
    /// The first.
    First(A),
    /// The second.
    Second(B),
    /// The third.
    Third(C),
}

impl<A, B> Either2<A, B> {
    /// Whether the first came first.
    pub fn is_first(&self) -> bool {
        matches!(self, Self::First(_))
    }

    /// Whether the second came first.
    pub fn is_second(&self) -> bool {
        matches!(self, Self::Second(_))
    }

    /// Which it was, from 0.
    pub fn index(&self) -> usize {
        usize::from(self.is_second())
    }
}

impl<T> Either2<T, T> {
    /// Which it was, from 0, and what came.
    pub fn into_tuple(self) -> (usize, T) {
        match self {
            Self::First(came) => (0, came),
            Self::Second(came) => (1, came),
        }
    }
}

impl<A, B, C> Either3<A, B, C> {
    /// Which it was, from 0.
    pub fn index(&self) -> usize {
        match self {
            Self::First(_) => 0,
            Self::Second(_) => 1,
            Self::Third(_) => 2,
        }
    }
}

/// Waits for the first of two; of two that are there at the same time, for the first.
pub(super) async fn first_of<A: Future, B: Future>(a: A, b: B) -> Either2<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(|cx| {
        if let Poll::Ready(came) = a.as_mut().poll(cx) {
            return Poll::Ready(Either2::First(came));
        }
        b.as_mut().poll(cx).map(Either2::Second)
    })
    .await
}

/// Several things at once.
impl OrchestrationContext {
    /// Waits for the first of two. The other one goes on, and what comes of it is not consumed.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use steadfast::orchestration::{Either2, OrchestrationContext};
    /// # async fn f(ctx: OrchestrationContext) -> Result<String, String> {
    /// let approval = ctx.schedule_wait("Approval");
    /// let too_late = ctx.schedule_timer(Duration::from_secs(24 * 60 * 60));
    /// match ctx.select2(approval, too_late).await {
    ///     Either2::First(by) => Ok(format!("approved by {by}")),
    ///     Either2::Second(()) => Err("nobody approved".to_owned()),
    /// }
    /// # }
    /// ```
    pub async fn select2<A: Future, B: Future>(&self, a: A, b: B) -> Either2<A::Output, B::Output> {
        first_of(a, b).await
    }

    /// Waits for the first of three.
    pub async fn select3<A: Future, B: Future, C: Future>(
        &self,
        a: A,
        b: B,
        c: C,
    ) -> Either3<A::Output, B::Output, C::Output> {
        match first_of(a, first_of(b, c)).await {
            Either2::First(came) => Either3::First(came),
            Either2::Second(Either2::First(came)) => Either3::Second(came),
            Either2::Second(Either2::Second(came)) => Either3::Third(came),
        }
    }

    /// Waits for all, and gives what came in the order of the list.
    pub async fn join<F: Future>(&self, all: Vec<F>) -> Vec<F::Output> {
        join_all(all).await
    }

    /// Waits for both.
    pub async fn join2<A: Future, B: Future>(&self, a: A, b: B) -> (A::Output, B::Output) {
        futures_util::future::join(a, b).await
    }

    /// Waits for all three.
    pub async fn join3<A: Future, B: Future, C: Future>(
        &self,
        a: A,
        b: B,
        c: C,
    ) -> (A::Output, B::Output, C::Output) {
        futures_util::future::join3(a, b, c).await
    }
}
