//! Rows in, messages out.

use prost::Message as _;
use steadfast_proto::{
    common::{Memo, Payload, SearchAttributes},
    prost_types::Duration,
};
use steadfast_retry::Timestamp;
use steadfast_store::{Group, RunIdentity, Value, VisibilityRow};

use super::schema;
use crate::{
    error::Code,
    visibility::{count_response, execution_info},
};

fn row() -> VisibilityRow {
    let json = Payload { data: b"1".to_vec(), ..Payload::default() };
    let attributes = SearchAttributes {
        indexed_fields: [("MyInt".to_owned(), json.clone())].into_iter().collect(),
    };
    let memo = Memo { fields: [("note".to_owned(), json)].into_iter().collect() };
    VisibilityRow {
        identity: RunIdentity {
            namespace: "ns-id".to_owned(),
            workflow_id: "order-1".to_owned(),
            run_id: "run-1".to_owned(),
        },
        workflow_type: "Order".to_owned(),
        task_queue: "orders".to_owned(),
        status: 2,
        start_time: Timestamp::from_secs(1),
        execution_time: Timestamp::from_secs(2),
        close_time: Some(Timestamp(3_500_000_000)),
        history_length: 7,
        history_size: 8,
        state_transitions: 9,
        parent: Some(("parent".to_owned(), "parent-run".to_owned())),
        root: Some(("root".to_owned(), "root-run".to_owned())),
        memo: memo.encode_to_vec(),
        search_attributes: attributes.encode_to_vec(),
        search_values: Vec::new(),
    }
}

#[test]
fn a_closed_run_is_shown_in_full() {
    let info = execution_info(&row(), &schema()).unwrap();
    assert_eq!(info.execution.unwrap().run_id, "run-1");
    assert_eq!(info.r#type.unwrap().name, "Order");
    assert_eq!((info.status, info.task_queue.as_str()), (2, "orders"));
    assert_eq!(info.start_time.unwrap().seconds, 1);
    assert_eq!(info.execution_time.unwrap().seconds, 2);
    assert_eq!(info.close_time.unwrap().nanos, 500_000_000);
    assert_eq!(info.execution_duration, Some(Duration { seconds: 1, nanos: 500_000_000 }));
    assert_eq!((info.history_length, info.history_size_bytes), (7, 8));
    assert_eq!(info.state_transition_count, 9);
    assert_eq!(info.parent_namespace_id, "ns-id");
    assert_eq!(info.parent_execution.unwrap().workflow_id, "parent");
    assert_eq!(info.root_execution.unwrap().run_id, "root-run");
    assert_eq!(info.memo.unwrap().fields["note"].data, b"1");
    let attributes = info.search_attributes.unwrap().indexed_fields;
    assert_eq!(&attributes["MyInt"].metadata["type"], b"Int");
}

#[test]
fn an_open_run_shows_only_what_is_known() {
    let open = VisibilityRow {
        close_time: None,
        parent: None,
        memo: Vec::new(),
        search_attributes: Vec::new(),
        ..row()
    };
    let info = execution_info(&open, &schema()).unwrap();
    assert_eq!((info.close_time, info.execution_duration), (None, None));
    assert_eq!((info.history_length, info.history_size_bytes), (0, 0));
    assert_eq!(info.state_transition_count, 0);
    assert_eq!((info.parent_namespace_id.as_str(), info.parent_execution), ("", None));
    assert_eq!(info.memo, Some(Memo::default()));
    assert_eq!(info.search_attributes, Some(SearchAttributes::default()));
}

#[test]
fn a_damaged_row_is_a_fault_of_ours() {
    let damaged = VisibilityRow { memo: vec![9], ..row() };
    assert_eq!(execution_info(&damaged, &schema()).unwrap_err().code, Code::Internal);
}

#[test]
fn groups_are_named_by_their_status() {
    let group = |status, count| Group { value: Some(Value::Int(status)), count };
    let answer = count_response(&[group(1, 4), group(2, 38)], true);
    assert_eq!(answer.count, 42);
    let shown = answer.groups.iter().map(|group| {
        let [value] = group.group_values.as_slice() else { panic!("one value a group") };
        assert_eq!(&value.metadata["encoding"], b"json/plain");
        assert_eq!(&value.metadata["type"], b"Keyword");
        (String::from_utf8_lossy(&value.data).into_owned(), group.count)
    });
    let expected = [(r#""Running""#.to_owned(), 4), (r#""Completed""#.to_owned(), 38)];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn a_plain_count_has_no_groups() {
    let answer = count_response(&[Group { value: None, count: 3 }], false);
    assert_eq!((answer.count, answer.groups.len()), (3, 0));
}
