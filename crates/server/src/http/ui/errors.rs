//! What fails: together with what fails alike, or one by one.

use axum::response::Response;
use maud::{Markup, html};
use steadfast_engine::{Error, failures::ErrorId, fingerprint};
use steadfast_store::{ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorState, Order};

use super::{
    deeds,
    frame::Section,
    link,
    run::SAID,
    visit::{Visit, answered},
    words,
};

/// Shows them: all in groups, or those of one.
pub(super) async fn show(visit: Visit) -> Response {
    let body = match visit.asked("fingerprint") {
        Some(print) => one_group(&visit, print).await,
        None => all_groups(&visit).await,
    };
    answered(&visit, Section::Errors, "Errors", body)
}

async fn all_groups(visit: &Visit) -> Result<Markup, Error> {
    let (all, by) = (ErrorFilter::default(), ErrorGroup::Fingerprint);
    let groups = visit.engine.group_errors(&visit.namespace, all, by, MOST).await?;
    Ok(html! {
        h1 { "Errors" }
        @if groups.is_empty() {
            p.empty { "Nothing fails." }
        } @else {
            table {
                thead { tr { th.number { "Count" } th { "State" } th { "Where" } th { "Error" } th { "First" } th { "Last" } } }
                tbody { @for group in &groups { (group_line(visit, group)) } }
            }
        }
    })
}

fn group_line(visit: &Visit, group: &ErrorGroupRow) -> Markup {
    let row = &group.example.row;
    let print = fingerprint::text(row.fingerprint);
    let errors = link::errors(&visit.namespace);
    html! {
        tr {
            td.number { a href=(link::asking(&errors, &[("fingerprint", &print)])) { (group.count) } }
            td { @for (state, count) in &group.states { (words::badge(state.name())) " " (count) " " } }
            td { (place(&group.example)) }
            td.said { (words::cut(&words::caused(&row.error_type, &row.cause), SAID)) }
            td { (words::moment(visit.now, group.first_at)) }
            td { (words::moment(visit.now, group.last_at)) }
        }
    }
}

async fn one_group(visit: &Visit, print: &str) -> Result<Markup, Error> {
    let filter =
        ErrorFilter { fingerprint: Some(deeds::fingerprint(print)?), ..ErrorFilter::default() };
    let listed =
        visit.engine.list_errors(&visit.namespace, filter, Order::Backward, None, MOST).await?;
    Ok(html! {
        h1 { "Errors alike" }
        p { a href=(link::errors(&visit.namespace)) { "All errors" } }
        @if listed.errors.is_empty() { p.empty { "Nothing fails like that any more." } }
        @else {
            (deeds::about_alike(visit, print, &listed.errors))
            (table(visit, &listed.errors))
        }
        @if listed.next.is_some() {
            p.faint { "There are more: " code { "steadfast errors --fingerprint " (print) } }
        }
    })
}

/// Errors one by one, each with what can be done about it.
pub(super) fn table(visit: &Visit, errors: &[ErrorEntry]) -> Markup {
    html! {
        table {
            thead { tr { th { "State" } th { "Workflow" } th { "Where" } th.number { "Attempts" } th { "Error" } th { "Next" } th { "Why" } th { "To do" } } }
            tbody { @for error in errors { (line(visit, error)) } }
        }
    }
}

fn line(visit: &Visit, error: &ErrorEntry) -> Markup {
    let row = &error.row;
    let identity = &error.identity;
    html! {
        tr {
            td {
                (words::badge(row.state.name()))
                @if let Some(by) = &row.acknowledged { " " span.faint title=(by.reason) { "seen by " (by.by) } }
            }
            td { a href=(link::run(&visit.namespace, &identity.workflow_id, &identity.run_id)) { (identity.workflow_id) } }
            td { (place(error)) }
            td.number { (row.attempts) }
            td.said { (words::cut(&words::caused(&row.error_type, &row.cause), SAID)) }
            td {
                @match row.next_at {
                    Some(at) if at > visit.now => { (words::moment(visit.now, at)) }
                    Some(_) => { "now" }
                    None => {}
                }
            }
            td { (row.reason) }
            td {
                (deeds::about_one(visit, error))
                code.faint { (to_do(error)) }
            }
        }
    }
}

/// What of a workflow fails.
fn place(error: &ErrorEntry) -> Markup {
    let row = &error.row;
    html! {
        (row.workflow_type)
        @match error.subject {
            0 => {}
            1.. => { " · " (row.activity_type) }
            _ => { " · workflow task" }
        }
    }
}

/// The command that has it go on.
fn to_do(error: &ErrorEntry) -> String {
    let id = ErrorId::from(error);
    match error.row.state {
        ErrorState::Retrying => format!("steadfast retry now {id}"),
        ErrorState::Parked | ErrorState::Failed | ErrorState::Dead => {
            format!("steadfast resume {id}")
        }
    }
}

/// Groups, or errors, on a page.
const MOST: i32 = 200;
