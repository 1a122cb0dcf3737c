//! What happened, line by line. Two runs of a seed must give the same bytes.

use std::{
    fmt::Write as _,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// What happened, line by line.
#[derive(Debug, Default)]
pub(crate) struct Log {
    text: Mutex<String>,
    /// Whether each line is shown at once.
    shown: bool,
}

impl Log {
    /// An empty log; `shown` prints each line as it comes.
    pub(crate) fn new(shown: bool) -> Self {
        Self { text: Mutex::default(), shown }
    }

    /// Writes a line.
    pub(crate) fn line(&self, at: Duration, who: &str, what: &str) {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = text.len();
        let millis = at.as_millis();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:>4}.{:03} {who:<10} {what}", millis / 1_000, millis % 1_000);
        if self.shown {
            print!("{}", &text[begin..]);
        }
    }

    /// All of it.
    pub(crate) fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
