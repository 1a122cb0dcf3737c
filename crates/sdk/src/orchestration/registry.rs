//! The orchestrations and the activities of a program, by name.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    activity::ActivityContext,
    context::OrchestrationContext,
    counters::Counters,
    error::ACTIVITY_FAILED,
    run::{Exit, Run},
    text,
};
use crate::{
    activity::{Activity, ActivityContext as Inner},
    app::AppBuilder,
    error::Failure,
    replayer::Replayer,
    workflow::{Workflow, WorkflowContext},
};

/// The orchestrations of a program.
#[derive(Clone, Debug, Default)]
pub struct OrchestrationRegistry {
    workflows: Vec<Workflow>,
    counters: Arc<Counters>,
}

/// Orchestrations that are being put together.
#[derive(Clone, Debug, Default)]
#[must_use = "build() gives the registry"]
pub struct OrchestrationRegistryBuilder {
    registry: OrchestrationRegistry,
}

/// The activities of a program.
#[derive(Clone, Debug, Default)]
pub struct ActivityRegistry {
    activities: Vec<Activity>,
}

/// Activities that are being put together.
#[derive(Clone, Debug, Default)]
#[must_use = "build() gives the registry"]
pub struct ActivityRegistryBuilder {
    registry: ActivityRegistry,
}

impl OrchestrationRegistry {
    /// One to put orchestrations into.
    pub fn builder() -> OrchestrationRegistryBuilder {
        OrchestrationRegistryBuilder::default()
    }

    /// What the retries of these orchestrations came to.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Replays recorded histories against these orchestrations.
    pub fn replayer(&self) -> Replayer {
        self.workflows.iter().cloned().fold(Replayer::new(), Replayer::register_workflow)
    }
}

impl OrchestrationRegistryBuilder {
    /// With an orchestration of text.
    pub fn register<F, Fut>(mut self, name: impl Into<String>, orchestration: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        let counters = Arc::clone(&self.registry.counters);
        let begin = move |ctx: WorkflowContext, input: String| {
            let exit = Exit::default();
            let context =
                OrchestrationContext::new(ctx.clone(), exit.clone(), Arc::clone(&counters));
            Run::new(&ctx, exit, orchestration(context, input))
        };
        self.registry.workflows.push(Workflow::new(begin).named(name));
        self
    }

    /// With an orchestration of types.
    pub fn register_typed<In, Out, F, Fut>(self, name: impl Into<String>, orchestration: F) -> Self
    where
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
    {
        self.register(name, move |ctx, input| {
            let running = text::read(&input).map(|input| orchestration(ctx, input));
            async move { text::of(&running?.await?) }
        })
    }

    /// The registry.
    pub fn build(self) -> OrchestrationRegistry {
        self.registry
    }
}

impl ActivityRegistry {
    /// One to put activities into.
    pub fn builder() -> ActivityRegistryBuilder {
        ActivityRegistryBuilder::default()
    }
}

impl ActivityRegistryBuilder {
    /// With an activity of text.
    pub fn register<F, Fut>(mut self, name: impl Into<String>, activity: F) -> Self
    where
        F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        let run = move |ctx: Inner, input: String| {
            let running = activity(ActivityContext::new(ctx), input);
            async move {
                // Whether there is another attempt is for the orchestration to say.
                let said = |message| Failure::new(message).of_type(ACTIVITY_FAILED).non_retryable();
                running.await.map_err(said)
            }
        };
        self.registry.activities.push(Activity::new(run).named(name));
        self
    }

    /// With an activity of types.
    pub fn register_typed<In, Out, F, Fut>(self, name: impl Into<String>, activity: F) -> Self
    where
        F: Fn(ActivityContext, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
    {
        self.register(name, move |ctx, input| {
            let running = text::read(&input).map(|input| activity(ctx, input));
            async move { text::of(&running?.await?) }
        })
    }

    /// The registry.
    pub fn build(self) -> ActivityRegistry {
        self.registry
    }
}

impl AppBuilder {
    /// Has orchestrations and their activities, beside workflows.
    pub fn orchestrations(
        self,
        activities: &ActivityRegistry,
        orchestrations: &OrchestrationRegistry,
    ) -> Self {
        let app = activities.activities.iter().cloned().fold(self, Self::register_activity);
        orchestrations.workflows.iter().cloned().fold(app, Self::register_workflow)
    }
}
