//! Names of enumerations, as people read them.

/// A name without its enumeration's own: `shown("EVENT_TYPE_TIMER_FIRED", "EVENT_TYPE_")` is
/// `TimerFired`. Nothing for the unspecified one.
pub fn shown(full: &str, prefix: &str) -> String {
    let short = full.strip_prefix(prefix).unwrap_or(full);
    if short == "UNSPECIFIED" {
        return String::new();
    }
    short.split('_').map(capitalised).collect()
}

fn capitalised(word: &str) -> String {
    let mut rest = word.chars();
    let first = rest.next().map(|first| first.to_ascii_uppercase()).into_iter();
    first.chain(rest.map(|character| character.to_ascii_lowercase())).collect()
}
