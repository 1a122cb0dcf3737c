//! What an operator may do to pending activities.

use steadfast_core::{
    Input, PauseActivity, ResetActivity, Run, Selector, UnpauseActivity, UpdateActivityOptions,
    span,
};
use steadfast_proto::workflowservice::{
    PauseActivityRequest, PauseActivityResponse, ResetActivityRequest, ResetActivityResponse,
    UnpauseActivityRequest, UnpauseActivityResponse, UpdateActivityOptionsRequest,
    UpdateActivityOptionsResponse, pause_activity_request, reset_activity_request,
    unpause_activity_request, update_activity_options_request,
};

use super::{Engine, address};
use crate::error::Error;

impl Engine {
    /// Holds activities back.
    pub async fn pause_activity(
        &self,
        request: PauseActivityRequest,
    ) -> Result<PauseActivityResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.execution.as_ref())?;
        let selector = match request.activity {
            Some(pause_activity_request::Activity::Id(id)) => Selector::Id(id),
            Some(pause_activity_request::Activity::Type(name)) => Selector::Type(name),
            None => return Err(no_activity()),
        };
        let input = PauseActivity {
            selector,
            identity: request.identity,
            reason: request.reason,
            request_id: request.request_id,
        };
        self.apply(address, String::new(), Input::PauseActivity(input), |_| ()).await?;
        Ok(PauseActivityResponse {})
    }

    /// Lets activities go on.
    pub async fn unpause_activity(
        &self,
        request: UnpauseActivityRequest,
    ) -> Result<UnpauseActivityResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.execution.as_ref())?;
        let selector = match request.activity {
            Some(unpause_activity_request::Activity::Id(id)) => Selector::Id(id),
            Some(unpause_activity_request::Activity::Type(name)) => Selector::Type(name),
            Some(unpause_activity_request::Activity::UnpauseAll(_)) => Selector::All,
            None => return Err(no_activity()),
        };
        let input = UnpauseActivity {
            selector,
            reset_attempts: request.reset_attempts,
            reset_heartbeat: request.reset_heartbeat,
            jitter: jitter(request.jitter.as_ref())?,
        };
        self.apply(address, String::new(), Input::UnpauseActivity(input), |_| ()).await?;
        Ok(UnpauseActivityResponse {})
    }

    /// Makes activities start over.
    pub async fn reset_activity(
        &self,
        request: ResetActivityRequest,
    ) -> Result<ResetActivityResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.execution.as_ref())?;
        let selector = match request.activity {
            Some(reset_activity_request::Activity::Id(id)) => Selector::Id(id),
            Some(reset_activity_request::Activity::Type(name)) => Selector::Type(name),
            Some(reset_activity_request::Activity::MatchAll(_)) => Selector::All,
            None => return Err(no_activity()),
        };
        let input = ResetActivity {
            selector,
            reset_heartbeat: request.reset_heartbeat,
            keep_paused: request.keep_paused,
            restore_options: request.restore_original_options,
            jitter: jitter(request.jitter.as_ref())?,
        };
        self.apply(address, String::new(), Input::ResetActivity(input), |_| ()).await?;
        Ok(ResetActivityResponse {})
    }

    /// Changes the options of activities.
    pub async fn update_activity_options(
        &self,
        request: UpdateActivityOptionsRequest,
    ) -> Result<UpdateActivityOptionsResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.execution.as_ref())?;
        let selector = match request.activity {
            Some(update_activity_options_request::Activity::Id(id)) => Selector::Id(id),
            Some(update_activity_options_request::Activity::Type(name)) => Selector::Type(name),
            Some(update_activity_options_request::Activity::MatchAll(_)) => Selector::All,
            None => return Err(no_activity()),
        };
        let mask: Vec<String> = request
            .update_mask
            .iter()
            .flat_map(|mask| &mask.paths)
            .map(|path| snake(path))
            .collect();
        if request.restore_original != mask.is_empty() {
            return Err(Error::invalid(
                "exactly one of update_mask and restore_original must be set",
            ));
        }
        let shown = selector.clone();
        let input = Input::UpdateActivityOptions(Box::new(UpdateActivityOptions {
            selector,
            options: request.activity_options.unwrap_or_default(),
            mask,
            restore_original: request.restore_original,
        }));
        let look = move |run: &Run| first(run, &shown).and_then(|id| run.activity_options(id));
        let activity_options = self.apply(address, String::new(), input, look).await?;
        Ok(UpdateActivityOptionsResponse { activity_options })
    }
}

/// The first activity that is meant: the one whose options are shown.
fn first(run: &Run, selector: &Selector) -> Option<i64> {
    match selector {
        Selector::Id(name) => run.activities().named(name).copied(),
        Selector::Event(id) => run.activities().get(id).map(|_| *id),
        Selector::Type(name) => {
            run.activities().iter().find(|(_, it)| it.type_name() == name).map(|(id, _)| *id)
        }
        Selector::All => run.activities().iter().next().map(|(id, _)| *id),
    }
}

fn no_activity() -> Error {
    Error::invalid("activity is not set on request: name it by id or by type")
}

fn jitter(
    wire: Option<&steadfast_proto::prost_types::Duration>,
) -> Result<std::time::Duration, Error> {
    span::checked(wire).map_err(|fault| Error::invalid(format!("jitter: {fault}")))
}

/// `scheduleToCloseTimeout` as `schedule_to_close_timeout`.
fn snake(path: &str) -> String {
    let mut snake = String::with_capacity(path.len() + 4);
    for c in path.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
