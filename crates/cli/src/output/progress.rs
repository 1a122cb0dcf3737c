//! A line that says how far long work has come, where somebody looks on.

use std::io::{IsTerminal as _, Write as _, stderr};

/// A line in the making. It is written over and over, and is gone when the work is done.
#[derive(Debug)]
pub(crate) struct Progress {
    what: String,
    /// What else there is to say.
    note: String,
    is_seen: bool,
    percent: Option<u64>,
}

impl Progress {
    /// A line for work of this name.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            note: String::new(),
            is_seen: stderr().is_terminal(),
            percent: None,
        }
    }

    /// What else there is to say; shown from the next time on.
    pub(crate) fn note(&mut self, note: &str) {
        if self.note != note {
            note.clone_into(&mut self.note);
            self.percent = None;
        }
    }

    /// The work has come so far.
    pub(crate) fn at(&mut self, done: u64, all: u64) {
        let percent = Some(done.saturating_mul(100).checked_div(all).unwrap_or(100));
        if self.is_seen && percent != self.percent {
            self.percent = percent;
            write(&format!("{}  {}", line(&self.what, done, all), self.note));
        }
    }

    /// The work is done.
    pub(crate) fn end(&mut self) {
        if self.is_seen {
            write("");
        }
    }
}

fn write(text: &str) {
    // Whoever cannot read it does not miss it.
    let _ = write!(stderr(), "\r\x1b[2K{text}");
}

fn line(what: &str, done: u64, all: u64) -> String {
    let percent = done.saturating_mul(100).checked_div(all).unwrap_or(100).min(100);
    let full = usize::try_from(percent / 5).unwrap_or_default();
    format!("{what}  [{}{}] {percent:>3} %", "#".repeat(full), "·".repeat(20 - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_it_has_come() {
        assert_eq!(line("job", 1, 4), "job  [#####···············]  25 %");
        assert_eq!(line("job", 0, 0), "job  [####################] 100 %");
        assert_eq!(line("job", 9, 4), "job  [####################] 100 %");
    }
}
