//! Names of the API's enumerations, as people write and read them.
//!
//! On the wire: `WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE`. On a terminal: `AllowDuplicate`; as an
//! argument also `allow-duplicate`, `allow_duplicate` and `ALLOW_DUPLICATE`.

pub(crate) use steadfast_proto::names::shown;

/// The full name of what was written, whether or not the enumeration has it.
pub(crate) fn full(written: &str, prefix: &str) -> String {
    let mut name = prefix.to_owned();
    let mut after_lower = false;
    for character in written.chars() {
        if character == '-' || character == ' ' {
            name.push('_');
        } else {
            if character.is_ascii_uppercase() && after_lower {
                name.push('_');
            }
            name.push(character.to_ascii_uppercase());
        }
        after_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
    }
    name
}

/// A value of an enumeration that was given as an argument.
pub(crate) fn parse<E>(
    written: &str,
    prefix: &str,
    from: impl Fn(&str) -> Option<E>,
    values: &'static str,
) -> Result<E, NotAName> {
    from(&full(written, prefix)).ok_or(NotAName { values })
}

/// A text that names no value of its enumeration.
#[derive(Debug, thiserror::Error)]
#[error("not one of {values}")]
pub(crate) struct NotAName {
    values: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_every_manner_and_shown_in_one() {
        for written in ["AllowDuplicate", "allow-duplicate", "ALLOW_DUPLICATE", "allow_duplicate"] {
            assert_eq!(full(written, "X_"), "X_ALLOW_DUPLICATE", "{written}");
        }
        assert_eq!(shown("X_ALLOW_DUPLICATE", "X_"), "AllowDuplicate");
        assert_eq!(shown("X_UNSPECIFIED", "X_"), "");
    }
}
