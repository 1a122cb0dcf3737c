//! The little language of the scripts: words, calls, quotes.
//!
//! ```text
//! 6 fail a "it broke" type=Bad        a line: a time, a verb, arguments
//! schedule(a,Charge,stc=10s)          a call: a name, arguments in brackets
//! ```

use std::collections::BTreeMap;

use steadfast_core::span::to_wire;
use steadfast_proto::prost_types::Duration;

/// A verb or a command with its arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    named: BTreeMap<String, String>,
}

impl Call {
    /// `name(arg,key=value)`, or `name` alone.
    pub(crate) fn of(text: &str) -> Self {
        match text.split_once('(') {
            None => Self::new(text, Vec::new()),
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')').unwrap_or_else(|| panic!("no ) in {text:?}"));
                Self::new(name, split(inside, |c| c == ','))
            }
        }
    }

    /// A name and its arguments, some of them named.
    pub(crate) fn new(name: &str, words: Vec<String>) -> Self {
        let mut call = Self { name: name.to_owned(), ..Self::default() };
        for word in words {
            match word.split_once('=') {
                Some((key, value)) if !word.starts_with(['"', '#']) && !key.contains('(') => {
                    call.named.insert(key.to_owned(), unquoted(value));
                }
                _ => call.args.push(unquoted(&word)),
            }
        }
        call
    }

    /// The argument at this place; the script is wrong without it.
    pub(crate) fn arg(&self, at: usize) -> &str {
        self.opt(at).unwrap_or_else(|| panic!("{} needs an argument {at}: {self:?}", self.name))
    }

    /// The argument at this place.
    pub(crate) fn opt(&self, at: usize) -> Option<&str> {
        self.args.get(at).map(String::as_str)
    }

    /// Whether this word is among the arguments.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|arg| arg == flag)
    }

    /// The value that has this name.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.named.get(key).map(String::as_str)
    }

    /// The text that has this name; empty if there is none.
    pub(crate) fn text(&self, key: &str) -> String {
        self.get(key).unwrap_or_default().to_owned()
    }

    /// The number that has this name; 0 if there is none.
    pub(crate) fn number<N: std::str::FromStr + Default>(&self, key: &str) -> N {
        self.get(key).map_or_else(N::default, |text| {
            text.parse().unwrap_or_else(|_| panic!("{key}={text} is not a number"))
        })
    }

    /// The span that has this name, as the wire has it.
    pub(crate) fn span(&self, key: &str) -> Option<Duration> {
        self.get(key).map(span)
    }

    /// All that have names.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// A span as the wire has it; `-1s` is one that must be refused.
pub(crate) fn span(text: &str) -> Duration {
    match text.strip_prefix('-') {
        Some(text) => {
            let span = span(text);
            Duration { seconds: -span.seconds, nanos: -span.nanos }
        }
        None => to_wire(length(text)).unwrap(),
    }
}

/// A span.
pub(crate) fn length(text: &str) -> std::time::Duration {
    steadfast_retry::span::parse(text).unwrap_or_else(|_| panic!("{text:?} is not a span"))
}

/// Splits where no quote or bracket is open.
pub(crate) fn split(text: &str, at: impl Fn(char) -> bool) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut depth, mut quoted) = (0, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if !quoted && depth == 0 && at(c) {
            words.push(std::mem::take(&mut word));
        } else {
            word.push(c);
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn unquoted(text: &str) -> String {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.unwrap_or(text).to_owned()
}
