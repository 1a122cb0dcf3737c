//! Query in, filter or complaint out.

use super::{schema, shown};
use crate::{
    error::Code,
    limits::{QUERY_BYTES_MAX, QUERY_NESTING_MAX},
    visibility::{parse_count, parse_list},
};

fn listed(text: &str) -> String {
    match parse_list(text, &schema()) {
        Ok(filter) => shown(&filter),
        Err(error) => {
            assert_eq!(error.code, Code::InvalidArgument);
            let complaint = error.message.strip_prefix("invalid query: ");
            complaint.expect("the message says that the query is invalid").to_owned()
        }
    }
}

fn counted(text: &str) -> String {
    match parse_count(text, &schema()) {
        Ok(query) => match query.group_by {
            Some(field) => format!("{} by {field:?}", shown(&query.filter)),
            None => shown(&query.filter),
        },
        Err(error) => error.message,
    }
}

fn check(found: fn(&str) -> String, table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(found(text), *expected, "{text}");
    }
}

#[test]
fn conditions() {
    check(
        listed,
        &[
            ("", "all"),
            ("  \n", "all"),
            ("WorkflowId = 'a'", r#"(= WorkflowId "a")"#),
            (r#"WorkflowType != "b""#, r#"(!= WorkflowType "b")"#),
            ("TaskQueue <> 'c'", r#"(!= TaskQueue "c")"#),
            ("`test-keyword` >= 'x'", r#"(>= test-keyword "x")"#),
            ("MyKeyword='it''s \\'x\\''", r#"(= MyKeyword "it's 'x'")"#),
            ("MyInt IN (1, -2,3)", "(in MyInt 1 -2 3)"),
            ("WorkflowId NOT IN ('a')", r#"(not (in WorkflowId "a"))"#),
            ("MyInt not in (1)", "(and (not (null MyInt)) (not (in MyInt 1)))"),
            (
                "MyInt BETWEEN 1 AND 2 AND MyBool = true",
                "(and (between MyInt 1 2) (= MyBool true))",
            ),
            ("MyInt NOT BETWEEN 1 AND 2", "(and (not (null MyInt)) (not (between MyInt 1 2)))"),
            ("CloseTime IS NULL", "(null CloseTime)"),
            ("CloseTime is not null", "(not (null CloseTime))"),
            ("WorkflowId STARTS_WITH 'order-'", r#"(starts WorkflowId "order-")"#),
            ("WorkflowId NOT starts_with 'o'", r#"(not (starts WorkflowId "o"))"#),
            ("Order = 1", "(= Order 1)"),
            ("RootRunId = 'r' ", r#"(= RootRunId "r")"#),
        ],
    );
}

#[test]
fn and_binds_closer_than_or_and_not_closest() {
    check(
        listed,
        &[
            ("MyInt=1 OR MyInt=2 AND MyInt=3", "(or (= MyInt 1) (and (= MyInt 2) (= MyInt 3)))"),
            ("(MyInt=1 or MyInt=2) and MyInt=3", "(and (or (= MyInt 1) (= MyInt 2)) (= MyInt 3))"),
            ("NOT MyInt=1 AND MyInt=2", "(and (not (= MyInt 1)) (= MyInt 2))"),
            ("NOT NOT (MyInt=1)", "(not (not (= MyInt 1)))"),
            ("((MyInt=1))", "(= MyInt 1)"),
        ],
    );
}

#[test]
fn values_mean_what_the_attribute_says() {
    check(
        listed,
        &[
            ("ExecutionStatus = 'Running'", "(= Status 1)"),
            ("ExecutionStatus = 'WORKFLOW_EXECUTION_STATUS_TIMED_OUT'", "(= Status 7)"),
            ("ExecutionStatus IN ('Failed', 5)", "(in Status 3 5)"),
            ("RetryState = 'parked'", "(= Error(State) 2)"),
            (
                "RetryState NOT IN ('failed', 'dead')",
                "(and (not (null Error(State))) (not (in Error(State) 3 4)))",
            ),
            ("RetryAttempts > 5", "(> Error(Attempts) 5)"),
            ("RetryingActivity STARTS_WITH 'Ch'", "(starts Error(ActivityType) \"Ch\")"),
            ("ErrorFingerprint = 'ffffffffffffffff'", "(= Error(Fingerprint) -1)"),
            ("ErrorCause = 'no answer'", "(= Error(Cause) \"no answer\")"),
            ("StartTime > '1970-01-01T01:00:10+01:00'", "(> StartTime @10)"),
            ("MyTime < 1500000000", "(< MyTime @1.5)"),
            (
                "CloseTime BETWEEN '1970-01-01T00:00:00Z' AND '1970-01-01T00:00:00.25Z'",
                "(between CloseTime @0 @0.25)",
            ),
            ("ExecutionDuration > 5", "(> ExecutionDuration 5)"),
            ("ExecutionDuration > '1h5m'", "(> ExecutionDuration 3900000000000)"),
            ("ExecutionDuration <= '00:00:02'", "(<= ExecutionDuration 2000000000)"),
            ("MyBool = 'True'", "(= MyBool true)"),
            ("MyBool != FALSE", "(!= MyBool false)"),
            ("MyInt = '12'", "(= MyInt 12)"),
            ("HistoryLength > 2.5", "(> HistoryLength 2.5)"),
            ("MyDouble = 3", "(= MyDouble 3.0)"),
            ("MyDouble = '-1e3'", "(= MyDouble -1000.0)"),
            ("MyList = 'a'", r#"(= MyList "a")"#),
            ("MyList != 'a'", r#"(not (= MyList "a"))"#),
            ("MyList NOT IN ('a', 'b')", r#"(not (in MyList "a" "b"))"#),
            ("MyText != 'a'", r#"(not (= MyText "a"))"#),
            ("MyText = 'some words'", r#"(= MyText "some words")"#),
            ("MyText IN ('a', 'b')", r#"(or (= MyText "a") (= MyText "b"))"#),
            ("BuildIds = 'unversioned'", r#"(= BuildIds "unversioned")"#),
        ],
    );
}

#[test]
fn a_wrong_query_is_told_what_is_wrong_and_where() {
    check(
        listed,
        &[
            ("Nope = 1", "column name 'Nope' is not a valid search attribute (at position 1)"),
            (
                "MyInt = 1 AND workflowid = 'x'",
                "column name 'workflowid' is not a valid search attribute (at position 15)",
            ),
            ("MyInt", "expected an operator, found the end (at position 6)"),
            ("MyInt = ", "expected a value, found the end (at position 9)"),
            ("MyInt LIKE 'a%'", "expected an operator, found 'LIKE' (at position 7)"),
            ("MyInt = MyInt", "expected a value, found 'MyInt' (at position 9)"),
            ("(MyInt = 1", "expected ')', found the end (at position 11)"),
            ("MyInt = 1)", "expected AND, OR or the end, found ')' (at position 10)"),
            ("MyInt IN ()", "expected a value, found ')' (at position 11)"),
            ("MyInt IN 1", "expected '(', found '1' (at position 10)"),
            ("MyInt BETWEEN 1, 2", "expected AND, found ',' (at position 16)"),
            ("MyInt IS 1", "expected NULL, found '1' (at position 10)"),
            (
                "'a' = 'a'",
                "expected the name of a search attribute, found the text 'a' (at position 1)",
            ),
            (
                "MyInt = 1 AND",
                "expected the name of a search attribute, found the end (at position 14)",
            ),
            ("WorkflowId STARTS_WITH 1", "expected a text in quotes, found '1' (at position 24)"),
            ("MyKeyword = 'open", "a text without its closing quote (at position 13)"),
            ("test-keyword = 'a'", "'-keyword' is not a number (at position 5)"),
        ],
    );
}

#[test]
fn a_value_that_the_attribute_cannot_have_is_refused() {
    check(
        listed,
        &[
            (
                "ExecutionStatus = 'Done'",
                "invalid value 'Done' for search attribute ExecutionStatus of type Keyword: \
                 expected a status such as 'Running' or its number (at position 19)",
            ),
            (
                "ExecutionStatus = 0",
                "invalid value 0 for search attribute ExecutionStatus of type Keyword: \
                 expected a status such as 'Running' or its number (at position 19)",
            ),
            (
                "RetryState = 'broken'",
                "invalid value 'broken' for search attribute RetryState of type Keyword: \
                 expected 'retrying', 'parked', 'failed' or 'dead' (at position 14)",
            ),
            (
                "ErrorFingerprint = '17'",
                "invalid value '17' for search attribute ErrorFingerprint of type Keyword: \
                 expected 16 hexadecimal digits in quotes (at position 20)",
            ),
            (
                "MyInt = 'x'",
                "invalid value 'x' for search attribute MyInt of type Int: \
                 expected a number (at position 9)",
            ),
            (
                "MyDouble = 1e999",
                "invalid value 1e999 for search attribute MyDouble of type Double: \
                 expected a number (at position 12)",
            ),
            (
                "MyDouble = 'NaN'",
                "invalid value 'NaN' for search attribute MyDouble of type Double: \
                 expected a number (at position 12)",
            ),
            (
                "MyKeyword = 1",
                "invalid value 1 for search attribute MyKeyword of type Keyword: \
                 expected a text in quotes (at position 13)",
            ),
            (
                "MyBool = 1",
                "invalid value 1 for search attribute MyBool of type Bool: \
                 expected true or false (at position 10)",
            ),
            (
                "StartTime > 'today'",
                "invalid value 'today' for search attribute StartTime of type Datetime: expected \
                 an RFC 3339 time such as '2024-01-02T03:04:05Z', or nanoseconds (at position 13)",
            ),
            (
                "ExecutionDuration > 'long'",
                "invalid value 'long' for search attribute ExecutionDuration of type Int: expected \
                 nanoseconds, a duration such as '1h5m', or 'hh:mm:ss' (at position 21)",
            ),
        ],
    );
}

#[test]
fn an_operator_that_means_nothing_to_the_attribute_is_refused() {
    let refused = |operator: &str, name: &str, kind: &str, at: usize| {
        format!(
            "operator {operator} is not supported for search attribute {name} of type {kind} \
             (at position {at})"
        )
    };
    assert_eq!(listed("MyList > 'a'"), refused(">", "MyList", "KeywordList", 8));
    assert_eq!(listed("MyBool < true"), refused("<", "MyBool", "Bool", 8));
    assert_eq!(listed("ExecutionStatus >= 1"), refused(">=", "ExecutionStatus", "Keyword", 17));
    assert_eq!(listed("MyText BETWEEN 'a' AND 'b'"), refused("BETWEEN", "MyText", "Text", 8));
    assert_eq!(listed("MyText STARTS_WITH 'a'"), refused("STARTS_WITH", "MyText", "Text", 8));
    assert_eq!(listed("MyInt NOT STARTS_WITH '1'"), refused("STARTS_WITH", "MyInt", "Int", 11));
}

#[test]
fn only_a_count_is_grouped_and_only_by_status() {
    check(
        counted,
        &[
            ("", "all"),
            ("GROUP BY ExecutionStatus", "all by Status"),
            ("MyInt = 1 group by `ExecutionStatus`", "(= MyInt 1) by Status"),
            (
                "GROUP BY MyInt",
                "invalid query: 'GROUP BY' clause is not supported for search attribute MyInt \
                 (at position 10)",
            ),
            (
                "GROUP BY ExecutionStatus, MyInt",
                "invalid query: 'GROUP BY' clause supports only a single field (at position 25)",
            ),
            (
                "GROUP BY",
                "invalid query: expected the name of a search attribute, found the end \
                 (at position 9)",
            ),
            (
                "GROUP BY ExecutionStatus MyInt = 1",
                "invalid query: expected AND, OR or the end, found 'MyInt' (at position 26)",
            ),
        ],
    );
    let complaint = "'GROUP BY' clause is only supported for counts (at position 11)";
    assert_eq!(listed("MyInt = 1 GROUP BY ExecutionStatus"), complaint);
}

#[test]
fn order_and_limit_are_refused_with_a_reason() {
    let order = "'ORDER BY' clause is not supported: open runs come first, then the latest to \
                 close, then the latest to start";
    assert_eq!(listed("ORDER BY StartTime"), format!("{order} (at position 1)"));
    assert_eq!(listed("MyInt = 1 order by StartTime"), format!("{order} (at position 11)"));
    let limit = "'LIMIT' clause is not supported: use the page size (at position 11)";
    assert_eq!(listed("MyInt = 1 LIMIT 10"), limit);
    assert_eq!(
        counted("GROUP BY ExecutionStatus LIMIT 1"),
        format!("invalid query: {}", limit.replace("11", "26"))
    );
}

#[test]
fn hostile_lengths_are_refused() {
    let long = "x".repeat(QUERY_BYTES_MAX + 1);
    assert_eq!(listed(&long), "16385 bytes are too long, the limit is 16384 (at position 1)");
    let deep = |levels: usize| "(".repeat(levels) + "MyInt = 1" + &")".repeat(levels);
    assert_eq!(listed(&deep(QUERY_NESTING_MAX)), "(= MyInt 1)");
    assert_eq!(
        listed(&deep(QUERY_NESTING_MAX + 1)),
        "nested deeper than 100 levels (at position 102)"
    );
    let open = "(".repeat(QUERY_BYTES_MAX);
    assert_eq!(listed(&open), "nested deeper than 100 levels (at position 102)");
    let nots = "NOT ".repeat(QUERY_BYTES_MAX / 4);
    assert_eq!(listed(&nots), "nested deeper than 100 levels (at position 405)");
}

#[test]
fn a_long_chain_becomes_a_flat_tree() {
    for word in [" AND ", " OR "] {
        let chain = vec!["MyInt=1"; 1_024].join(word);
        let text = listed(&chain);
        assert_eq!(text.matches("(= MyInt 1)").count(), 1_024);
        assert!(text.ends_with(&format!("1){}", ")".repeat(10))), "ten levels deep");
        assert!(!text.ends_with(&")".repeat(12)));
    }
}
