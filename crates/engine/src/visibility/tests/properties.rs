//! Whatever the text, an answer; and what a filter says, it says again after writing and reading.

use proptest::{prelude::*, sample::select};
use steadfast_retry::Timestamp;
use steadfast_store::{Compare, ErrorField, ErrorState, Field, Filter, SearchType, Value};

use super::{operator, schema};
use crate::{
    fingerprint,
    visibility::{parse_count, parse_list, schema::built_in},
};

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in ".*") {
        let _ = parse_list(&text, &schema());
        let _ = parse_count(&text, &schema());
    }

    #[test]
    fn any_row_of_tokens_gets_an_answer(tokens in prop::collection::vec(select(TOKENS), 0..40)) {
        let text = tokens.join(" ");
        if let Err(error) = parse_list(&text, &schema()) {
            prop_assert!(error.message.starts_with("invalid query: "), "{}", error.message);
        }
        let _ = parse_count(&text, &schema());
    }

    #[test]
    fn a_filter_survives_being_written(filter in filter()) {
        let text = written(&filter);
        prop_assert_eq!(parse_list(&text, &schema()), Ok(filter), "{}", text);
    }
}

const TOKENS: &[&str] = &[
    "AND",
    "or",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "NULL",
    "STARTS_WITH",
    "GROUP",
    "ORDER",
    "BY",
    "LIMIT",
    "true",
    "false",
    "(",
    ")",
    ",",
    "=",
    "!=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "MyInt",
    "WorkflowId",
    "`test-keyword`",
    "ExecutionStatus",
    "MyText",
    "'a'",
    "\"b\"",
    "1",
    "-2.5e3",
    "'",
    "`",
    "\\",
    "é",
    "StartTime",
    "'1970-01-01T00:00:00Z'",
];

/// Every attribute there is: its name, itself, its type.
fn fields() -> Vec<(String, Field, SearchType)> {
    let schema = schema();
    let built_in = built_in().map(|(name, kind)| (name.to_owned(), kind));
    let names = built_in.chain(schema.custom.clone());
    let field = |name: &str| schema.lookup(name).expect("it is in the schema");
    names.map(|(name, kind)| (name.clone(), field(&name), kind)).collect()
}

fn name(field: &Field) -> String {
    let fields = fields();
    let (name, ..) = fields.iter().find(|(_, known, _)| known == field).expect("a known field");
    format!("`{name}`")
}

fn value(field: &Field, kind: SearchType) -> BoxedStrategy<Value> {
    if *field == Field::Status {
        return (1..=8_i64).prop_map(Value::Int).boxed();
    }
    if *field == Field::Error(ErrorField::State) {
        return (1..=4_i64).prop_map(Value::Int).boxed();
    }
    if *field == Field::Error(ErrorField::Fingerprint) {
        return any::<i64>().prop_map(Value::Int).boxed();
    }
    match kind {
        SearchType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        SearchType::Datetime => any::<i64>().prop_map(|at| Value::Time(Timestamp(at))).boxed(),
        SearchType::Double => finite().prop_map(Value::Double).boxed(),
        SearchType::Int => any::<i64>().prop_map(Value::Int).boxed(),
        SearchType::Keyword | SearchType::KeywordList | SearchType::Text => {
            any::<String>().prop_map(Value::Text).boxed()
        }
    }
}

fn finite() -> impl Strategy<Value = f64> {
    prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO
}

fn condition() -> impl Strategy<Value = Filter> {
    select(fields()).prop_flat_map(|(_, field, kind)| {
        let is_word = !matches!(
            field,
            Field::Status | Field::Error(ErrorField::State | ErrorField::Fingerprint)
        );
        let ordered = is_word
            && !matches!(kind, SearchType::Bool | SearchType::KeywordList | SearchType::Text);
        let is_prefixed = is_word && kind == SearchType::Keyword;
        // What is searched for is not compared: its `!=` is read as the opposite of `=`.
        let is_searched = matches!(kind, SearchType::KeywordList | SearchType::Text);
        let equalities = if is_searched {
            vec![Compare::Equal]
        } else {
            vec![Compare::Equal, Compare::NotEqual]
        };
        let orders =
            vec![Compare::Less, Compare::LessOrEqual, Compare::Greater, Compare::GreaterOrEqual];
        let compares = if ordered { [equalities, orders].concat() } else { equalities };
        let compare = {
            let field = field.clone();
            (select(compares), value(&field, kind))
                .prop_map(move |(compare, value)| Filter::Compare(field.clone(), compare, value))
        };
        let mut options = vec![compare.boxed(), Just(Filter::IsNull(field.clone())).boxed()];
        if kind != SearchType::Text {
            let values = prop::collection::vec(value(&field, kind), 1..4);
            let field = field.clone();
            options.push(values.prop_map(move |values| Filter::In(field.clone(), values)).boxed());
        }
        if ordered {
            let field = field.clone();
            let ends = (value(&field, kind), value(&field, kind));
            let between = move |(low, high)| Filter::Between(field.clone(), low, high);
            options.push(ends.prop_map(between).boxed());
        }
        if is_prefixed {
            let prefix = any::<String>();
            options
                .push(prefix.prop_map(move |text| Filter::StartsWith(field.clone(), text)).boxed());
        }
        prop::strategy::Union::new(options)
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    let boxed = |(a, b)| (Box::new(a), Box::new(b));
    condition().prop_recursive(6, 24, 2, move |inner| {
        let pair = (inner.clone(), inner.clone()).prop_map(boxed);
        prop_oneof![
            pair.clone().prop_map(|(a, b)| Filter::And(a, b)),
            pair.prop_map(|(a, b)| Filter::Or(a, b)),
            inner.prop_map(|filter| Filter::Not(Box::new(filter))),
        ]
    })
}

/// A filter as query text.
fn written(filter: &Filter) -> String {
    match filter {
        Filter::All => String::new(),
        Filter::And(a, b) => format!("({}) AND ({})", written(a), written(b)),
        Filter::Or(a, b) => format!("({}) OR ({})", written(a), written(b)),
        Filter::Not(inner) => format!("NOT ({})", written(inner)),
        Filter::Compare(field, compare, value) => {
            format!("{} {} {}", name(field), operator(*compare), literal(field, value))
        }
        Filter::In(field, values) => {
            let values: Vec<_> = values.iter().map(|value| literal(field, value)).collect();
            format!("{} IN ({})", name(field), values.join(", "))
        }
        Filter::Between(field, low, high) => {
            format!("{} BETWEEN {} AND {}", name(field), literal(field, low), literal(field, high))
        }
        Filter::IsNull(field) => format!("{} IS NULL", name(field)),
        Filter::StartsWith(field, prefix) => {
            format!("{} STARTS_WITH {}", name(field), quoted(prefix))
        }
    }
}

fn literal(field: &Field, value: &Value) -> String {
    match (field, value) {
        (Field::Error(ErrorField::State), Value::Int(number)) => {
            quoted(ErrorState::from_number(*number).expect("a state").name())
        }
        (Field::Error(ErrorField::Fingerprint), Value::Int(number)) => {
            quoted(&fingerprint::text(number.cast_unsigned()))
        }
        (_, value) => plain(value),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Double(value) => format!("{value:?}"),
        Value::Time(value) => value.nanos().to_string(),
        Value::Text(value) => quoted(value),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
