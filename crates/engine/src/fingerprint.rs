//! Errors that differ only in numbers, ids and quoted text are the same error.

use xxhash_rust::xxh3::xxh3_64;

/// One number for all errors of a kind.
pub fn of(error_type: &str, message: &str) -> u64 {
    let masked = format!("{error_type}|{}", mask(message));
    xxh3_64(masked.as_bytes())
}

/// A fingerprint as people see it: 16 hexadecimal digits.
pub fn text(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}

/// The fingerprint that is written so.
pub fn parse(digits: &str) -> Option<u64> {
    let is_whole = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_whole { u64::from_str_radix(digits, 16).ok() } else { None }
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
    fn a_fingerprint_is_written_and_read_with_16_digits() {
        for fingerprint in [0, 17, u64::MAX] {
            assert_eq!(parse(&text(fingerprint)), Some(fingerprint));
        }
        for wrong in ["", "17", "+000000000000017", "000000000000001g", "00000000000000017"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_apostrophe_is_not_an_open_quote() {
        assert_eq!(mask("can't connect"), "can't connect");
    }
}
