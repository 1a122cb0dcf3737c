//! How values compare: the one set of rules that memory evaluates and SQL is compiled to.
//!
//! Values of different families never compare: a number is neither equal to a text nor unequal.

use std::cmp::Ordering;

use crate::filter::{ErrorField, Field, SearchType, Value};

/// Values that compare with each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Family {
    Bool,
    Number,
    Time,
    Text,
}

impl Family {
    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Self::Bool,
            Value::Int(_) | Value::Double(_) => Self::Number,
            Value::Time(_) => Self::Time,
            Value::Text(_) => Self::Text,
        }
    }

    pub(crate) fn of_field(field: &Field) -> Self {
        match field {
            Field::WorkflowId
            | Field::RunId
            | Field::WorkflowType
            | Field::TaskQueue
            | Field::ParentWorkflowId
            | Field::ParentRunId
            | Field::RootWorkflowId
            | Field::RootRunId
            | Field::Error(ErrorField::ActivityType | ErrorField::Cause) => Self::Text,
            Field::Status
            | Field::ExecutionDuration
            | Field::HistoryLength
            | Field::HistorySize
            | Field::StateTransitions
            | Field::Error(ErrorField::State | ErrorField::Attempts | ErrorField::Fingerprint) => {
                Self::Number
            }
            Field::StartTime | Field::ExecutionTime | Field::CloseTime => Self::Time,
            Field::Custom(_, kind) => Self::of_type(*kind),
        }
    }

    fn of_type(kind: SearchType) -> Self {
        match kind {
            SearchType::Bool => Self::Bool,
            SearchType::Int | SearchType::Double => Self::Number,
            SearchType::Datetime => Self::Time,
            SearchType::Keyword | SearchType::KeywordList | SearchType::Text => Self::Text,
        }
    }
}

/// Whether `value` can be compared with what `field` holds. A number that is not one cannot.
pub(crate) fn comparable(field: &Field, value: &Value) -> bool {
    let number = !matches!(value, Value::Double(number) if number.is_nan());
    number && Family::of_field(field) == Family::of_value(value)
}

/// Whether `field` is matched word by word.
pub(crate) fn by_words(field: &Field) -> bool {
    matches!(field, Field::Custom(_, SearchType::Text))
}

/// The order of two values of one family; `None` across families.
pub(crate) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Double(b)) => int_with_double(*a, *b),
        (Value::Double(a), Value::Int(b)) => int_with_double(*b, *a).map(Ordering::reverse),
        (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (
            Value::Bool(_) | Value::Int(_) | Value::Double(_) | Value::Time(_) | Value::Text(_),
            _,
        ) => None,
    }
}

/// Whether `text` has all the words of `wanted`, whatever their case and order. A search for no
/// word at all finds nothing.
pub(crate) fn has_words(text: &str, wanted: &str) -> bool {
    let text = text.to_lowercase();
    let wanted = wanted.to_lowercase();
    let mut any = false;
    let all = words(&wanted).all(|word| {
        any = true;
        words(&text).any(|found| found == word)
    });
    any && all
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Compares without rounding: a large whole number is not equal to the double nearest to it.
fn int_with_double(int: i64, double: f64) -> Option<Ordering> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63, exact as a double
    if double.is_nan() {
        return None;
    }
    if double >= LIMIT {
        return Some(Ordering::Less);
    }
    if double < -LIMIT {
        return Some(Ordering::Greater);
    }
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the whole part fits, as checked above"
    )]
    let whole = double.trunc() as i64;
    Some(int.cmp(&whole).then_with(|| 0.0_f64.total_cmp(&(double.fract() + 0.0))))
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{has_words, order};
    use crate::filter::Value;

    #[test]
    fn numbers_compare_without_rounding() {
        let table = [
            (1, 1.0, Ordering::Equal),
            (1, 1.5, Ordering::Less),
            (-1, -1.5, Ordering::Greater),
            (0, -0.0, Ordering::Equal),
            (9_007_199_254_740_993, 9_007_199_254_740_992.0, Ordering::Greater),
            (i64::MAX, 9_223_372_036_854_775_808.0, Ordering::Less),
            (i64::MIN, -9_223_372_036_854_775_808.0, Ordering::Equal),
            (i64::MIN, f64::NEG_INFINITY, Ordering::Greater),
        ];
        for (int, double, expected) in table {
            let found = order(&Value::Int(int), &Value::Double(double));
            assert_eq!(found, Some(expected), "{int} with {double}");
        }
    }

    #[test]
    fn all_words_must_occur_in_any_case_and_order() {
        assert!(has_words("The order, in Paris: failed!", "PARIS order"));
        assert!(!has_words("The order, in Paris", "Paris London"));
        assert!(!has_words("orders", "order"), "whole words only");
        assert!(!has_words("anything", " - "), "no word finds nothing");
    }
}
