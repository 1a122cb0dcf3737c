//! Typed values as the text that orchestrations exchange: JSON, and a string as it is.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A value as text. Strings are not quoted, so that typed and untyped code understand each other.
pub(super) fn of<T: Serialize + ?Sized>(value: &T) -> Result<String, String> {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => Ok(text),
        Ok(value) => Ok(value.to_string()),
        Err(error) => {
            Err(format!("a {} cannot be written as JSON: {error}", std::any::type_name::<T>()))
        }
    }
}

/// Text as a value: JSON, or else a string as it is.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).or_else(|error| {
        let whole = serde_json::from_value(Value::String(text.to_owned()));
        // The text was meant as JSON, most likely: that is what is wrong with it.
        whole.map_err(|_| format!("a {} was expected: {error}", std::any::type_name::<T>()))
    })
}

/// What came from outside as text. Nothing at all is no text.
pub(super) fn of_value(value: Value) -> String {
    if let Value::String(text) = value {
        return text;
    }
    if value.is_null() { String::new() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back() {
        assert_eq!(of("plain"), Ok("plain".to_owned()));
        assert_eq!(read::<String>("plain"), Ok("plain".to_owned()));
        assert_eq!(of(&vec![1, 2]), Ok("[1,2]".to_owned()));
        assert_eq!(read::<Vec<u32>>("[1,2]"), Ok(vec![1, 2]));
        assert_eq!(of(&Some(5)), Ok("5".to_owned()));
        assert_eq!(read::<Option<u32>>("5"), Ok(Some(5)));
        assert_eq!(read::<Option<u32>>(&of(&None::<u32>).unwrap()), Ok(None));
    }

    #[test]
    fn what_is_something_else_is_named() {
        let error = read::<u32>("five").unwrap_err();
        assert_eq!(error, "a u32 was expected: expected ident at line 1 column 2");
    }
}
