//! The table: one line a call.

use super::{
    acting, attempts, changing, errors, explain, policies, resume_jobs, resume_policies,
    route::{
        Method::{Delete, Get, Patch, Post, Put},
        Route, Routes,
    },
    settings, webhooks,
};
use crate::rpc::Right::{Read, Write};

/// All calls.
pub(super) fn all() -> Routes {
    let routes = errors_and_attempts(Routes::default());
    let routes = activities(routes);
    let routes = kept_resume_policies(routes);
    kept_policies(routes)
}

macro_rules! route {
    ($right:ident $method:ident $path:literal as $id:literal: $about:literal) => {
        Route { method: $method, path: $path, right: $right, id: $id, about: $about }
    };
}

#[rustfmt::skip]
fn errors_and_attempts(routes: Routes) -> Routes {
    routes
        .add(route!(Read Get "errors" as "listErrors": "Lists what is failing."), errors::list)
        .add(route!(Read Get "errors/count" as "countErrors": "Counts what is failing."), errors::count)
        .add(route!(Read Get "errors/groups" as "groupErrors": "Puts together what fails alike, with counts."), errors::groups)
        .add(route!(Read Get "errors/{id}" as "getError": "Shows one error."), errors::get)
        .add(route!(Write Post "errors/resume" as "resumeErrors": "Has parked activities go on, and failed runs from before the step that failed."), acting::resume)
        .add(route!(Write Post "errors/acknowledge" as "acknowledgeErrors": "Notes that somebody has seen to errors: they are not resumed by themselves any more."), acting::acknowledge)
        .add(route!(Write Post "errors/cancel" as "cancelErrors": "Cancels the workflows that errors belong to."), acting::cancel)
        .add(route!(Write Post "errors/fail" as "failErrors": "Lets parked activities fail into their workflows."), acting::fail)
        .add(route!(Write Post "errors/park" as "parkErrors": "Parks what is being retried, until it is resumed."), acting::park)
        .add(route!(Write Post "errors/retry-now" as "retryErrorsNow": "Has what waits for its next attempt be tried at once."), acting::retry_now)
        .add(route!(Write Post "errors/change" as "changeErrors": "Changes policy, time limits or input of what is being retried or parked."), changing::change_errors)
        .add(route!(Read Post "errors/preview-change" as "previewChangeErrors": "Says what that change would move."), changing::preview_errors)
        .add(route!(Read Get "workflows/{workflowId}/attempts" as "listAttempts": "Lists every attempt of a workflow."), attempts::list)
}

#[rustfmt::skip]
fn activities(routes: Routes) -> Routes {
    routes
        .add(route!(Write Post "workflows/{workflowId}/activities/change" as "changeActivities": "Changes policy, time limits or input of pending activities, whether they have failed or not."), changing::change_activities)
        .add(route!(Read Post "workflows/{workflowId}/activities/preview-change" as "previewChangeActivities": "Says what that change would move."), changing::preview_activities)
        .add(route!(Write Post "workflows/{workflowId}/activities/park" as "parkActivities": "Parks pending activities, whether they have failed or not."), changing::park_activities)
        .add(route!(Write Post "workflows/{workflowId}/activities/retry-now" as "retryActivitiesNow": "Has activities that wait for their next attempt be tried at once."), changing::retry_activities_now)
}

#[rustfmt::skip]
fn kept_resume_policies(routes: Routes) -> Routes {
    routes
        .add(route!(Read Get "resume-policies" as "listResumePolicies": "Lists resume policies in the order in which they are asked; the answer can be loaded."), resume_policies::list)
        .add(route!(Write Post "resume-policies" as "createResumePolicy": "Adds a resume policy."), resume_policies::create)
        .add(route!(Write Post "resume-policies/load" as "loadResumePolicies": "Adds many resume policies, in the place of all if so asked."), resume_policies::load)
        .add(route!(Read Post "resume-policies/dry-run" as "dryRunResumePolicy": "Says how many of the errors that there are a resume policy would take."), resume_policies::dry_run)
        .add(route!(Write Post "resume-policies/apply" as "applyResumePolicies": "Schedules resumes for the errors that there are, as these policies say."), resume_policies::apply)
        .add(route!(Read Get "resume-policies/{id}" as "getResumePolicy": "Shows a resume policy, by its id or name."), resume_policies::get)
        .add(route!(Write Put "resume-policies/{id}" as "updateResumePolicy": "Puts another resume policy in its place; what it has scheduled stays scheduled."), resume_policies::update)
        .add(route!(Write Delete "resume-policies/{id}" as "deleteResumePolicy": "Removes a resume policy; what it has scheduled stays scheduled."), resume_policies::delete)
        .add(route!(Write Post "resume-jobs" as "startResumeJob": "Resumes many errors at a chosen pace, the first few to see whether it helps."), resume_jobs::start)
        .add(route!(Read Get "resume-jobs" as "listResumeJobs": "Lists resume jobs."), resume_jobs::list)
        .add(route!(Read Get "resume-jobs/{id}" as "getResumeJob": "Says how a resume job goes."), resume_jobs::get)
        .add(route!(Write Patch "resume-jobs/{id}" as "changeResumeJob": "Holds a resume job, has it go on, changes its rate, or ends it."), resume_jobs::steer)
}

#[rustfmt::skip]
fn kept_policies(routes: Routes) -> Routes {
    routes
        .add(route!(Read Get "policies" as "listPolicies": "Lists the retry policies of operators."), policies::list)
        .add(route!(Read Get "policies/{name}" as "getPolicy": "Shows a retry policy."), policies::get)
        .add(route!(Read Get "policies/{name}/versions" as "listPolicyVersions": "Lists the versions of a retry policy, the oldest first."), policies::versions)
        .add(route!(Write Put "policies/{name}" as "putPolicy": "Puts a retry policy, as its next version; it holds for every failure from now on."), policies::put)
        .add(route!(Read Post "policies/{name}/preview" as "previewPolicy": "Says what a retry policy would change among what is being retried, if it were put and all waits were reckoned anew."), policies::preview)
        .add(route!(Write Delete "policies/{name}" as "deletePolicy": "Removes a retry policy."), policies::delete)
        .add(route!(Read Post "failures/explain" as "explainFailure": "Says what would become of a failure: which rule decides, from which layer, and what then."), explain::explain)
        .add(route!(Read Get "settings" as "getSettings": "Shows the settings that concern failures."), settings::get)
        .add(route!(Write Put "settings" as "putSettings": "Puts other settings in their place."), settings::put)
        .add(route!(Read Get "webhooks/undelivered" as "listUndelivered": "Lists the documents that no webhook has taken yet."), webhooks::list)
        .add(route!(Write Post "webhooks/resend" as "resendUndelivered": "Has documents sent again at once that no webhook has taken yet."), webhooks::resend)
        .add(route!(Write Post "webhooks/discard" as "discardUndelivered": "Drops documents that no webhook has taken yet."), webhooks::discard)
        .add(route!(Read Get "changes" as "listChanges": "Lists who changed what in settings and policies, and why."), settings::changes)
}
