//! What a program knows: its workflows, its activities, and how activities are run by default.

use std::{any::TypeId, collections::BTreeMap};

use super::definition::Workflow;
use crate::{
    activity::{Activity, ActivityOptions},
    name,
};

/// Workflows and activities by name, and by function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    workflows: BTreeMap<String, Workflow>,
    activities: BTreeMap<String, Activity>,
    names: BTreeMap<TypeId, String>,
    /// How activities are run that neither their call nor their registration says it of.
    pub(crate) defaults: ActivityOptions,
}

impl Registry {
    /// Adds a workflow; gives back the one that had its name.
    pub(crate) fn add_workflow(&mut self, workflow: Workflow) -> Option<Workflow> {
        self.names.insert(workflow.function(), workflow.name().to_owned());
        self.workflows.insert(workflow.name().to_owned(), workflow)
    }

    /// Adds an activity; gives back the one that had its name.
    pub(crate) fn add_activity(&mut self, activity: Activity) -> Option<Activity> {
        self.names.insert(activity.function(), activity.name().to_owned());
        self.activities.insert(activity.name().to_owned(), activity)
    }

    pub(crate) fn workflow(&self, name: &str) -> Option<&Workflow> {
        self.workflows.get(name)
    }

    pub(crate) fn activity(&self, name: &str) -> Option<&Activity> {
        self.activities.get(name)
    }

    /// The names of all workflows, then of all activities.
    pub(crate) fn names(&self) -> (Vec<&str>, Vec<&str>) {
        let workflows = self.workflows.keys().map(String::as_str).collect();
        (workflows, self.activities.keys().map(String::as_str).collect())
    }

    /// The name under which a function was registered; its own, if it was not.
    pub(crate) fn name_of<F: 'static>(&self) -> &str {
        match self.names.get(&TypeId::of::<F>()) {
            Some(name) => name,
            None => name::of_type::<F>(),
        }
    }

    /// How an activity is run: as the call says, then its registration, then the application.
    pub(crate) fn options(&self, activity: &str, call: ActivityOptions) -> ActivityOptions {
        let call = match self.activity(activity) {
            Some(registered) => call.or(&registered.options),
            None => call,
        };
        call.or(&self.defaults)
    }
}
