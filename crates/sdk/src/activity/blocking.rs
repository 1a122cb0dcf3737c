//! Activities that are plain functions: they run on threads that may be held.

use std::panic::resume_unwind;

use serde::{Serialize, de::DeserializeOwned};
use tokio::task::{AbortHandle, JoinError, spawn_blocking};

use super::{
    context::ActivityContext,
    definition::{ActivityFn, WithContext, WithoutContext},
};
use crate::error::Failure;

/// The shape of an activity that is a plain function.
#[derive(Debug)]
pub struct Blocking<Shape>(std::marker::PhantomData<Shape>);

impl<F, I, O, E> ActivityFn<(Blocking<WithContext>, fn(I) -> (O, E))> for F
where
    F: Fn(&ActivityContext, I) -> Result<O, E> + Clone + Send + Sync + 'static,
    I: DeserializeOwned + Serialize + Send + 'static,
    O: DeserializeOwned + Serialize + Send + 'static,
    E: Into<Failure>,
{
    type Input = I;
    type Output = O;

    fn attempt(
        &self,
        ctx: ActivityContext,
        input: I,
    ) -> impl Future<Output = Result<O, Failure>> + Send + 'static {
        let code = self.clone();
        let its = ctx.clone();
        apart(ctx, move || code(&its, input).map_err(Into::into))
    }
}

impl<F, I, O, E> ActivityFn<(Blocking<WithoutContext>, fn(I) -> (O, E))> for F
where
    F: Fn(I) -> Result<O, E> + Clone + Send + Sync + 'static,
    I: DeserializeOwned + Serialize + Send + 'static,
    O: DeserializeOwned + Serialize + Send + 'static,
    E: Into<Failure>,
{
    type Input = I;
    type Output = O;

    fn attempt(
        &self,
        ctx: ActivityContext,
        input: I,
    ) -> impl Future<Output = Result<O, Failure>> + Send + 'static {
        let code = self.clone();
        apart(ctx, move || code(input).map_err(Into::into))
    }
}

/// Runs code on a thread that may be held, and waits for it.
async fn apart<O: Send + 'static>(
    ctx: ActivityContext,
    code: impl FnOnce() -> Result<O, Failure> + Send + 'static,
) -> Result<O, Failure> {
    let running = spawn_blocking(code);
    let unwanted = Unwanted { ctx, running: running.abort_handle() };
    let ended = running.await;
    drop(unwanted);
    match ended.map_err(JoinError::try_into_panic) {
        Ok(ended) => ended,
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => Err(Failure::new("the runtime ended before the attempt did")),
    }
}

/// Tells an attempt that nobody waits for it any more: a thread cannot be stopped from outside, but its
/// code may ask.
struct Unwanted {
    ctx: ActivityContext,
    running: AbortHandle,
}

impl Drop for Unwanted {
    fn drop(&mut self) {
        if !self.running.is_finished() {
            self.running.abort();
            self.ctx.give_up();
        }
    }
}
