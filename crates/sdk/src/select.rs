//! Selects and joins that do the same at every replay.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::stream::{FuturesOrdered, StreamExt as _};

/// Waits for the first of several futures, and cancels the others. Of those that are ready at the
/// same time the first in the list wins, always.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn pay(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
/// let paid = steadfast::select! {
///     paid = ctx.activity(charge, &order) => paid?,
///     _ = ctx.sleep(Duration::from_secs(60)) => "too late".to_owned(),
/// };
/// # Ok(paid) }
/// ```
#[macro_export]
macro_rules! select {
    ($($pattern:pat = $future:expr => $then:expr),+ $(,)?) => {
        $crate::__private::tokio::select! {
            biased;
            $($pattern = ::std::future::IntoFuture::into_future($future) => { $then })+
        }
    };
}

/// Waits for all of several futures, which may give different things, and gives all of it. They are asked
/// in the order of the list, always: what a replay does must not depend on how often they were asked
/// before, as it does with `tokio::join!`.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn charge(order: String) -> Result<u32, Failure> { Ok(7) }
/// # async fn pack(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn ship(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
/// let (cents, parcel) = steadfast::join!(
///     ctx.activity(charge, &order),
///     ctx.activity(pack, &order),
/// );
/// # Ok(format!("{} for {}", parcel?, cents?)) }
/// ```
#[macro_export]
macro_rules! join {
    ($($future:expr),+ $(,)?) => {
        $crate::__private::tokio::join!(
            biased;
            $(::std::future::IntoFuture::into_future($future)),+
        )
    };
}

/// Waits for all of several futures, which are begun now. What they give is in their order,
/// whatever order it comes in. Its time grows with their number, not with its square.
///
/// ```no_run
/// # use steadfast::{ActivityError, Failure, WorkflowContext};
/// # async fn double(number: u32) -> Result<u32, Failure> { Ok(number * 2) }
/// # async fn all(ctx: WorkflowContext, numbers: Vec<u32>) -> Result<u32, Failure> {
/// let calls = numbers.iter().map(|number| ctx.activity(double, number));
/// let doubled: Result<Vec<u32>, ActivityError> =
///     steadfast::join_all(calls).await.into_iter().collect();
/// # Ok(doubled?.iter().sum()) }
/// ```
pub fn join_all<I>(futures: I) -> JoinAll<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture,
{
    let waiting: FuturesOrdered<_> = futures.into_iter().map(IntoFuture::into_future).collect();
    JoinAll { done: Vec::with_capacity(waiting.len()), waiting }
}

/// A wait for all of several futures. It holds these alone, and not the iterator that they came
/// from, which often borrows what may not be held over a wait.
#[must_use = "nothing is waited for unless this is awaited"]
pub struct JoinAll<F: Future> {
    waiting: FuturesOrdered<F>,
    done: Vec<F::Output>,
}

// What they gave is not pinned; the futures themselves are, each in its own place.
impl<F: Future> Unpin for JoinAll<F> {}

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        while let Some(output) = ready!(self.waiting.poll_next_unpin(cx)) {
            self.done.push(output);
        }
        Poll::Ready(std::mem::take(&mut self.done))
    }
}

impl<F: Future> fmt::Debug for JoinAll<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinAll").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}
