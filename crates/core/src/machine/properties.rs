//! Markers, memo and search attributes: what the workflow notes about itself.

use steadfast_proto::{command, enums::WorkflowTaskFailedCause as FailedCause, history};

use crate::{
    bad,
    refused::BadCommand,
    size,
    tx::{Note, Tx},
};

pub(crate) fn record_marker(
    tx: &mut Tx<'_>,
    wanted: command::RecordMarkerCommandAttributes,
    completed: i64,
    note: Note,
) -> Result<(), BadCommand> {
    let cause = FailedCause::BadRecordMarkerAttributes;
    bad::check_name(cause, "MarkerName", &wanted.marker_name, tx.limits)?;
    let bytes = wanted.details.values().map(|value| size::payloads(Some(value))).sum();
    bad::check_size(cause, "RecordMarkerCommandAttributes.Details", bytes, tx.limits)?;
    let event = history::MarkerRecordedEventAttributes {
        marker_name: wanted.marker_name,
        details: wanted.details,
        workflow_task_completed_event_id: completed,
        header: wanted.header,
        failure: wanted.failure,
    };
    tx.append_noted(event, note);
    Ok(())
}

/// Whether the attributes exist and have the right types was checked at the door.
pub(crate) fn upsert_search_attributes(
    tx: &mut Tx<'_>,
    wanted: command::UpsertWorkflowSearchAttributesCommandAttributes,
    completed: i64,
    note: Note,
) -> Result<(), BadCommand> {
    let cause = FailedCause::BadSearchAttributes;
    if wanted.search_attributes.is_none() {
        return Err(bad::command(cause, "SearchAttributes is not set on command."));
    }
    let bytes = size::of(wanted.search_attributes.as_ref());
    bad::check_size(cause, "SearchAttributes", bytes, tx.limits)?;
    let event = history::UpsertWorkflowSearchAttributesEventAttributes {
        workflow_task_completed_event_id: completed,
        search_attributes: wanted.search_attributes,
    };
    tx.append_noted(event, note);
    tx.out.visible = true;
    Ok(())
}

pub(crate) fn modify(
    tx: &mut Tx<'_>,
    wanted: command::ModifyWorkflowPropertiesCommandAttributes,
    completed: i64,
    note: Note,
) -> Result<(), BadCommand> {
    let cause = FailedCause::BadModifyWorkflowPropertiesAttributes;
    if wanted.upserted_memo.is_none() {
        return Err(bad::command(cause, "UpsertedMemo is not set on command."));
    }
    let event = history::WorkflowPropertiesModifiedEventAttributes {
        workflow_task_completed_event_id: completed,
        upserted_memo: wanted.upserted_memo,
    };
    tx.append_noted(event, note);
    if size::of(tx.run.memo()) > tx.limits.memo_bytes_max {
        return Err(bad::too_large(cause, "Memo"));
    }
    tx.out.visible = true;
    Ok(())
}
