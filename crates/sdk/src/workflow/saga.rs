//! Sagas: what to undo, in reverse, when a later step fails.

use std::pin::Pin;

use super::context::WorkflowContext;
use crate::{
    activity::{ActivityFn, ActivityOptions},
    error::ActivityError,
    error::Failure,
    input::Input,
    policy::{INFINITE, RetryPolicy},
};

/// Compensations, registered as steps succeed and run in reverse. They are activities, so they are
/// retried and survive crashes; nobody can cancel them.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn reserve(item: String) -> Result<u32, Failure> { Ok(1) }
/// # async fn release(reservation: u32) -> Result<(), Failure> { Ok(()) }
/// # async fn charge(item: String) -> Result<u32, Failure> { Ok(1) }
/// async fn sell(ctx: WorkflowContext, item: String) -> Result<u32, Failure> {
///     let mut saga = ctx.saga();
///     let reservation = ctx.activity(reserve, &item).await?;
///     saga.compensate_with(release, reservation);
///     match ctx.activity(charge, &item).await {
///         Ok(payment) => Ok(payment),
///         Err(error) => Err(saga.undo(error).await),
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Saga {
    ctx: WorkflowContext,
    retry: RetryPolicy,
    steps: Vec<Step>,
}

struct Step {
    name: String,
    run: Box<Undo>,
}

type Undo = dyn FnOnce(ActivityOptions) -> Undoing + Send;

type Undoing = Pin<Box<dyn Future<Output = Result<(), ActivityError>> + Send>>;

impl Saga {
    pub(crate) fn new(ctx: &WorkflowContext) -> Self {
        Self { ctx: ctx.shielded(), retry: INFINITE.into(), steps: Vec::new() }
    }

    /// Tries compensations again by this policy; without one, for as long as it takes.
    #[must_use]
    pub fn retry(self, policy: impl Into<RetryPolicy>) -> Self {
        Self { retry: policy.into(), ..self }
    }

    /// Registers how to undo a step that has succeeded: an activity and its input.
    pub fn compensate_with<F, Shape, I>(&mut self, activity: F, input: I)
    where
        F: ActivityFn<Shape>,
        I: Input<F::Input>,
    {
        let name = self.ctx.journal.registry.name_of::<F>().to_owned();
        let call = self.ctx.activity(activity, input);
        let run = |options: ActivityOptions| -> Undoing {
            let started = call.options(options).start();
            Box::pin(async move { started.await.map(drop) })
        };
        self.steps.push(Step { name, run: Box::new(run) });
    }

    /// How many compensations are registered.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Undoes everything, the last step first. One that cannot be undone does not keep the others
    /// from it; all that failed are told.
    pub async fn compensate(&mut self) -> Result<(), Failure> {
        let mut failed: Option<Failure> = None;
        while let Some(step) = self.steps.pop() {
            let options = ActivityOptions::new().retry(self.retry.clone());
            if let Err(error) = (step.run)(options).await {
                let failure = Failure::new(format!("compensation {} failed", step.name))
                    .of_type("CompensationError")
                    .caused_by(error);
                failed = Some(match failed.take() {
                    Some(earlier) => failure_list(&earlier, &failure),
                    None => failure,
                });
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Undoes everything because of an error, and gives it back to be returned. If something could
    /// not be undone, that is said, with the error as its cause.
    pub async fn undo(&mut self, error: impl Into<Failure>) -> Failure {
        let error = error.into();
        match self.compensate().await {
            Ok(()) => error,
            Err(failure) => failure.caused_by(error),
        }
    }
}

fn failure_list(earlier: &Failure, later: &Failure) -> Failure {
    Failure::new(format!("{earlier}; {later}")).of_type("CompensationError")
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step").field("name", &self.name).finish_non_exhaustive()
    }
}
