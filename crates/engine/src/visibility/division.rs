//! Workflows that belong to a division of their namespace are the system's own. A list shows them
//! only to whoever asks for a division.

use steadfast_store::{Field, Filter, SearchType};

/// Those that match, without the system's own unless the query is about them.
pub(crate) fn without_internal(filter: Filter) -> Filter {
    if names_division(&filter) {
        return filter;
    }
    let plain = Filter::IsNull(division());
    if filter == Filter::All {
        return plain;
    }
    Filter::And(Box::new(filter), Box::new(plain))
}

fn names_division(filter: &Filter) -> bool {
    let division = division();
    match filter {
        Filter::All => false,
        Filter::And(one, other) | Filter::Or(one, other) => {
            names_division(one) || names_division(other)
        }
        Filter::Not(inner) => names_division(inner),
        Filter::Compare(field, ..)
        | Filter::In(field, _)
        | Filter::Between(field, ..)
        | Filter::IsNull(field)
        | Filter::StartsWith(field, _) => *field == division,
    }
}

fn division() -> Field {
    Field::Custom("TemporalNamespaceDivision".to_owned(), SearchType::Keyword)
}
