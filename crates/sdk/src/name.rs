//! The names that functions and types have in history.

/// The last part of a type's path, without its parameters: `charge` for the function
/// `shop::billing::charge`. A closure has none.
pub(crate) fn of_type<T: ?Sized>() -> &'static str {
    last_part(std::any::type_name::<T>())
}

fn last_part(path: &str) -> &str {
    let path = path.split('<').next().unwrap_or(path);
    path.rsplit("::").find(|part| !part.starts_with('{')).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_known_by_its_last_name() {
        assert_eq!(last_part("shop::billing::charge"), "charge");
        assert_eq!(last_part("shop::order<shop::Item>"), "order");
        assert_eq!(last_part("shop::main::{{closure}}::greet"), "greet");
    }
}
