//! What the tests of this folder share: a namespace with an attribute of each type, and filters as
//! text.

mod info;
mod properties;
mod query;
mod values;

use steadfast_store::{Compare, Field, Filter, SearchType, Value};

use super::Schema;

/// One attribute of each type, named after it, and one with a name that needs quotes.
fn schema() -> Schema {
    let custom = [
        ("MyBool", SearchType::Bool),
        ("MyTime", SearchType::Datetime),
        ("MyDouble", SearchType::Double),
        ("MyInt", SearchType::Int),
        ("MyKeyword", SearchType::Keyword),
        ("MyList", SearchType::KeywordList),
        ("MyText", SearchType::Text),
        ("test-keyword", SearchType::Keyword),
        ("Order", SearchType::Int),
    ];
    Schema::new(custom.map(|(name, kind)| (name.to_owned(), kind)).into())
}

/// A filter as an s-expression.
fn shown(filter: &Filter) -> String {
    match filter {
        Filter::All => "all".to_owned(),
        Filter::And(a, b) => format!("(and {} {})", shown(a), shown(b)),
        Filter::Or(a, b) => format!("(or {} {})", shown(a), shown(b)),
        Filter::Not(inner) => format!("(not {})", shown(inner)),
        Filter::Compare(field, compare, value) => {
            format!("({} {} {})", operator(*compare), field_name(field), value_text(value))
        }
        Filter::In(field, values) => {
            let values: Vec<_> = values.iter().map(value_text).collect();
            format!("(in {} {})", field_name(field), values.join(" "))
        }
        Filter::Between(field, low, high) => {
            format!("(between {} {} {})", field_name(field), value_text(low), value_text(high))
        }
        Filter::IsNull(field) => format!("(null {})", field_name(field)),
        Filter::StartsWith(field, prefix) => format!("(starts {} {prefix:?})", field_name(field)),
    }
}

fn field_name(field: &Field) -> String {
    if let Field::Custom(name, _) = field { name.clone() } else { format!("{field:?}") }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Double(value) => format!("{value:?}"),
        Value::Time(value) => format!("@{value}"),
        Value::Text(value) => format!("{value:?}"),
    }
}

fn operator(compare: Compare) -> &'static str {
    match compare {
        Compare::Equal => "=",
        Compare::NotEqual => "!=",
        Compare::Less => "<",
        Compare::LessOrEqual => "<=",
        Compare::Greater => ">",
        Compare::GreaterOrEqual => ">=",
    }
}
