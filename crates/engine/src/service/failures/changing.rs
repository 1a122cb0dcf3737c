//! Another policy, other time limits or another input for what is already retrying, with a look at
//! what that would move.

use std::sync::Arc;

use steadfast_core::{
    Activity, ActivityChange, ChangeActivity, Context, Input, Run, Selector, Timestamp,
};
use steadfast_proto::common::WorkflowExecution;
use steadfast_store::ErrorState;

use super::acting::{address_of, selector};
use crate::{
    error::Error,
    failures::{Acted, Selection, Who},
    namespaces::Namespace,
    service::{Engine, address},
    shard::Address,
};

/// What is to become different.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Who changes it, and why.
    pub who: Who,
    /// What.
    pub what: ActivityChange,
    /// Whether a wait that is under way is reckoned anew; otherwise the change holds from the next
    /// failure on.
    pub now: bool,
}

/// What a change would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    /// How many activities it is for.
    pub pending: u64,
    /// How many would be tried sooner.
    pub sooner: u64,
    /// How many would be tried later.
    pub later: u64,
    /// How many would be given up.
    pub ended: u64,
    /// Each of them.
    pub moved: Vec<Moved>,
}

/// What a change would do to one activity.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Moved {
    /// Its workflow's id.
    pub workflow_id: String,
    /// Its run's id.
    pub run_id: String,
    /// Its own id.
    pub activity_id: String,
    /// Its type.
    pub activity_type: String,
    /// When its next attempt is due as things are; `None` if it is at one, or parked.
    pub from: Option<Timestamp>,
    /// When it would be due.
    pub to: Option<Timestamp>,
    /// Whether it would have ended.
    pub ends: bool,
}

impl Engine {
    /// Changes activities that are being retried or are parked.
    pub async fn change_errors(
        &self,
        namespace: &str,
        selection: Selection,
        change: &Change,
    ) -> Result<Vec<Acted>, Error> {
        self.steer(namespace, selection, &CHANGEABLE, |it| change.input(it)).await
    }

    /// Says what [`change_errors`](Self::change_errors) would move. Nothing is changed.
    pub async fn preview_change(
        &self,
        namespace: &str,
        selection: Selection,
        change: &Change,
    ) -> Result<Preview, Error> {
        let namespace = self.namespace(namespace)?;
        let mut preview = Preview::default();
        for entry in self.chosen(&namespace, selection, &CHANGEABLE).await? {
            let input = change.input(selector(&entry)?);
            self.look_ahead(&namespace, address_of(&entry), input, &mut preview).await?;
        }
        Ok(preview)
    }

    /// Changes activities of a workflow, whether they have failed or not.
    pub async fn change_activities(
        &self,
        namespace: &str,
        execution: &WorkflowExecution,
        selector: Selector,
        change: &Change,
    ) -> Result<(), Error> {
        self.tell_activities(namespace, execution, change.input(selector)).await
    }

    /// Says what [`change_activities`](Self::change_activities) would move. Nothing is changed.
    pub async fn preview_activities(
        &self,
        namespace: &str,
        execution: &WorkflowExecution,
        selector: Selector,
        change: &Change,
    ) -> Result<Preview, Error> {
        let namespace = self.namespace(namespace)?;
        let address = address(&namespace, Some(execution))?;
        let mut preview = Preview::default();
        self.look_ahead(&namespace, address, change.input(selector), &mut preview).await?;
        Ok(preview)
    }

    /// Adds what an input would move in one run.
    async fn look_ahead(
        &self,
        namespace: &Arc<Namespace>,
        address: Address,
        input: Input,
        preview: &mut Preview,
    ) -> Result<(), Error> {
        let (now, entropy) = (self.now(), self.shared().ids.entropy());
        let namespace = Arc::clone(namespace);
        let seen = self.look(address, move |_, run| {
            let mut changed = run.clone();
            let context =
                Context { now, entropy, limits: &namespace.limits, rules: &namespace.rulebook };
            changed.apply(input, context).map(|_| moved(run, &changed))
        });
        for one in seen.await?? {
            preview.count(&one);
            preview.moved.push(one);
        }
        Ok(())
    }
}

/// What has become of the activities of a run that are not as they were.
fn moved(before: &Run, after: &Run) -> Vec<Moved> {
    let identity = before.identity();
    let mut moved = Vec::new();
    for (id, activity) in before.activities().iter() {
        let then = after.activities().get(id);
        if then == Some(activity) {
            continue;
        }
        moved.push(Moved {
            workflow_id: identity.workflow_id.clone(),
            run_id: identity.run_id.clone(),
            activity_id: activity.scheduled.activity_id.clone(),
            activity_type: activity.type_name().to_owned(),
            from: due(activity),
            to: then.and_then(due),
            ends: then.is_none(),
        });
    }
    moved
}

/// When the next attempt of an activity is due, if it waits for one.
fn due(activity: &Activity) -> Option<Timestamp> {
    let waits = !activity.is_started() && !activity.is_paused() && !activity.is_parked();
    waits.then_some(Timestamp(activity.row.scheduled_at))
}

impl Change {
    fn input(&self, selector: Selector) -> Input {
        Input::ChangeActivity(Box::new(ChangeActivity {
            selector,
            change: self.what.clone(),
            identity: self.who.identity.clone(),
            reason: self.who.reason.clone(),
            now: self.now,
        }))
    }
}

impl Preview {
    fn count(&mut self, moved: &Moved) {
        self.pending += 1;
        self.ended += u64::from(moved.ends);
        if let (Some(from), Some(to)) = (moved.from, moved.to) {
            self.sooner += u64::from(to < from);
            self.later += u64::from(to > from);
        }
    }
}

const CHANGEABLE: [ErrorState; 2] = [ErrorState::Retrying, ErrorState::Parked];
