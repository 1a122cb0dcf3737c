//! Something that was scheduled and will come.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

/// Something that was scheduled. It is in history from the call on, whether or not it is awaited;
/// dropped, as the loser of a race is, it goes on, and what comes of it is not consumed.
#[must_use = "it was scheduled; what comes of it is had by awaiting it"]
pub struct DurableFuture<T> {
    coming: Pin<Box<dyn Future<Output = T> + Send>>,
}

impl<T> DurableFuture<T> {
    pub(super) fn new(coming: impl Future<Output = T> + Send + 'static) -> Self {
        Self { coming: Box::pin(coming) }
    }
}

impl<T: Send + 'static> DurableFuture<T> {
    /// The same, with what comes of it changed.
    ///
    /// ```no_run
    /// # use steadfast::orchestration::OrchestrationContext;
    /// # async fn f(ctx: OrchestrationContext) {
    /// let length = ctx.schedule_wait("Letter").map(|letter| letter.len()).await;
    /// # }
    /// ```
    pub fn map<U: Send + 'static>(
        self,
        change: impl FnOnce(T) -> U + Send + 'static,
    ) -> DurableFuture<U> {
        DurableFuture::new(async move { change(self.await) })
    }
}

impl<T> Future for DurableFuture<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.coming.as_mut().poll(cx)
    }
}

impl<T> fmt::Debug for DurableFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DurableFuture")
    }
}
