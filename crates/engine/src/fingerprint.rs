//! Errors that differ only in numbers, ids and quoted text are the same error.

use xxhash_rust::xxh3::xxh3_64;

/// One number for all errors of a kind.
pub fn of(error_type: &str, message: &str) -> u64 {
    let masked = format!("{error_type}|{}", mask(message));
    xxh3_64(masked.as_bytes())
}

/// The message with what varies taken out: quoted text becomes `?`, and so does every word that
/// has a digit in it (numbers, hex, UUIDs, most paths).
fn mask(message: &str) -> String {
    let mut masked = String::with_capacity(message.len());
    let mut rest = message.chars().peekable();
    while let Some(c) = rest.next() {
        if matches!(c, '"' | '\'' | '`') {
            let inside: String = rest.clone().take_while(|next| *next != c).collect();
            if rest.clone().any(|next| next == c) {
                // The closing quote goes with what it closes.
                let _ = rest.nth(inside.chars().count());
                masked.push('?');
                continue;
            }
        }
        if c.is_alphanumeric() {
            let mut word = String::from(c);
            while let Some(next) = rest.next_if(|next| is_word(*next)) {
                word.push(next);
            }
            let varies = word.chars().any(|c| c.is_ascii_digit());
            masked.push_str(if varies { "?" } else { &word });
        } else {
            masked.push(c);
        }
    }
    masked
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ids_and_quotes_do_not_make_another_error() {
        let same = [
            "user 17 not found in 'orders'",
            "user 9001 not found in 'invoices'",
            "user 5d41402a-bc4b not found in \"x\"",
        ];
        for message in same {
            assert_eq!(of("NotFound", message), of("NotFound", same[0]), "{}", mask(message));
        }
        assert_ne!(of("NotFound", same[0]), of("Other", same[0]));
        assert_ne!(of("NotFound", "user gone"), of("NotFound", same[0]));
    }

    #[test]
    fn an_apostrophe_is_not_an_open_quote() {
        assert_eq!(mask("can't connect"), "can't connect");
    }
}
