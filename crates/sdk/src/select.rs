//! Selects and joins that do the same at every replay.

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

/// Waits for all of several futures. Its time grows with their number, not with its square.
///
/// ```no_run
/// # use steadfast::{ActivityError, Failure, WorkflowContext};
/// # async fn double(number: u32) -> Result<u32, Failure> { Ok(number * 2) }
/// # async fn all(ctx: WorkflowContext, _: ()) -> Result<u32, Failure> {
/// let calls = (0..1000).map(|number| ctx.activity(double, number));
/// let doubled: Result<Vec<u32>, ActivityError> =
///     steadfast::join_all(calls).await.into_iter().collect();
/// # Ok(doubled?.iter().sum()) }
/// ```
pub async fn join_all<I>(futures: I) -> Vec<<I::Item as IntoFuture>::Output>
where
    I: IntoIterator,
    I::Item: IntoFuture,
{
    use futures_util::stream::{FuturesOrdered, StreamExt as _};

    let mut waiting: FuturesOrdered<_> = futures.into_iter().map(IntoFuture::into_future).collect();
    let mut done = Vec::with_capacity(waiting.len());
    while let Some(output) = waiting.next().await {
        done.push(output);
    }
    done
}
