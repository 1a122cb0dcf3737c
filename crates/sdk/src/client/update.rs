//! Updates: messages that a workflow's code checks, carries out, and answers.

use std::{future::IntoFuture, marker::PhantomData, pin::Pin};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::{
    common::{Payloads, WorkflowExecution},
    enums::UpdateWorkflowExecutionLifecycleStage as Stage,
    update::{self, outcome::Value},
    workflowservice as ws,
};

use super::{Client, error::ClientError, handle::WorkflowHandle, start::fresh_id};
use crate::{
    error::Failure,
    payload::{self, CodecError},
};

/// An update that is to be sent. Awaited, it is, and has been accepted.
///
/// ```no_run
/// # async fn f(order: steadfast::WorkflowHandle<String>) -> Result<(), steadfast::ClientError> {
/// let adding = order.start_update::<u32>("add", &3).id("request-17").await?;
/// // … it may take its time …
/// let total = adding.result().await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "an update is sent when this is awaited"]
pub struct UpdateCall<R> {
    client: Client,
    execution: WorkflowExecution,
    name: String,
    input: Result<Option<Payloads>, CodecError>,
    id: Option<String>,
    result: PhantomData<fn() -> R>,
}

/// An update that was accepted.
///
/// ```no_run
/// # async fn f(order: steadfast::WorkflowHandle<String>) -> Result<(), steadfast::ClientError> {
/// // Sent by another program, which has told the id.
/// let adding = order.update_handle::<u32>("request-17");
/// println!("{} came to {}", adding.id().to_owned(), adding.result().await?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct UpdateHandle<R> {
    client: Client,
    reference: update::UpdateRef,
    /// What came of it, if that is known.
    outcome: Option<Value>,
    result: PhantomData<fn() -> R>,
}

impl<T: DeserializeOwned> WorkflowHandle<T> {
    /// Has its code do something, and waits for what comes of it.
    ///
    /// ```no_run
    /// # async fn f(order: steadfast::WorkflowHandle<String>) -> Result<(), steadfast::ClientError> {
    /// let total: u32 = order.update("add", &3).await?;
    /// # Ok(()) }
    /// ```
    pub async fn update<R: DeserializeOwned + Send + 'static>(
        &self,
        name: &str,
        value: &impl Serialize,
    ) -> Result<R, ClientError> {
        let call = self.start_update(name, value);
        call.send(Stage::Completed).await?.result().await
    }

    /// Has its code do something; what comes of it is waited for later.
    pub fn start_update<R: DeserializeOwned>(
        &self,
        name: &str,
        value: &impl Serialize,
    ) -> UpdateCall<R> {
        UpdateCall {
            client: self.client().clone(),
            execution: self.latest(),
            name: name.to_owned(),
            input: payload::encode_one(value),
            id: None,
            result: PhantomData,
        }
    }

    /// An update that was sent before, by its id.
    pub fn update_handle<R: DeserializeOwned>(&self, id: impl Into<String>) -> UpdateHandle<R> {
        let reference =
            update::UpdateRef { workflow_execution: Some(self.latest()), update_id: id.into() };
        UpdateHandle::new(self.client().clone(), reference, None)
    }
}

impl<R: DeserializeOwned> UpdateCall<R> {
    /// Its id: sent twice, it is carried out once. A random one, if none is given.
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    async fn send(self, stage: Stage) -> Result<UpdateHandle<R>, ClientError> {
        let client = self.client;
        let request = request(&client, self.execution, self.id, self.name, self.input?, stage);
        // Asked again until it is accepted: the same update id is the same update.
        loop {
            let updated = client.door.update_workflow_execution(request.clone()).await?;
            let outcome = updated.outcome.and_then(|outcome| outcome.value);
            if outcome.is_some() || updated.stage >= Stage::Accepted.into() {
                let reference = updated.update_ref.unwrap_or_default();
                return Ok(UpdateHandle::new(client, reference, outcome));
            }
        }
    }
}

impl<R: DeserializeOwned + Send + 'static> IntoFuture for UpdateCall<R> {
    type Output = Result<UpdateHandle<R>, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send(Stage::Accepted))
    }
}

impl<R: DeserializeOwned> UpdateHandle<R> {
    pub(super) fn new(
        client: Client,
        reference: update::UpdateRef,
        outcome: Option<Value>,
    ) -> Self {
        Self { client, reference, outcome, result: PhantomData }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.reference.update_id
    }

    /// Waits for what comes of it. A server that is away meanwhile is asked again when it is back.
    pub async fn result(self) -> Result<R, ClientError> {
        match self.outcome {
            Some(outcome) => read(outcome),
            None => read(self.poll().await?),
        }
    }

    async fn poll(&self) -> Result<Value, ClientError> {
        let request = ws::PollWorkflowExecutionUpdateRequest {
            namespace: self.client.namespace.clone(),
            update_ref: Some(self.reference.clone()),
            identity: self.client.identity.clone(),
            wait_policy: Some(update::WaitPolicy { lifecycle_stage: Stage::Completed.into() }),
        };
        loop {
            match self.client.door.poll_workflow_execution_update(request.clone()).await {
                Ok(polled) => {
                    if let Some(value) = polled.outcome.and_then(|outcome| outcome.value) {
                        return Ok(value);
                    }
                }
                Err(error) if self.client.door.asks_again(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What came of an update.
fn read<R: DeserializeOwned>(outcome: Value) -> Result<R, ClientError> {
    match outcome {
        Value::Success(result) => Ok(payload::decode_one(Some(&result))?),
        Value::Failure(failure) => Err(ClientError::Refused(Failure::from_wire(failure))),
    }
}

pub(super) fn request(
    client: &Client,
    execution: WorkflowExecution,
    id: Option<String>,
    name: String,
    args: Option<Payloads>,
    stage: Stage,
) -> ws::UpdateWorkflowExecutionRequest {
    let meta = update::Meta {
        update_id: id.unwrap_or_else(|| fresh_id().to_string()),
        identity: client.identity.clone(),
    };
    let input = update::Input { name, args, ..update::Input::default() };
    ws::UpdateWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_execution: Some(execution),
        wait_policy: Some(update::WaitPolicy { lifecycle_stage: stage.into() }),
        request: Some(update::Request {
            meta: Some(meta),
            input: Some(input),
            ..update::Request::default()
        }),
        ..ws::UpdateWorkflowExecutionRequest::default()
    }
}
