//! The name of an error: the run's number in the store, and what of the run has failed.

use std::{fmt, str::FromStr};

use steadfast_store::{ErrorEntry, RunNumber};

/// The name of an error, short enough to be typed: `812-5` is event 5 of run 812, `812` is the run
/// itself, `812-task` its workflow task.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ErrorId {
    /// The run.
    pub run: RunNumber,
    /// The activity's scheduled event; 0 for the run itself, -1 for its workflow task.
    pub subject: i64,
}

/// What was given is no name of an error.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not the id of an error; ids look like 812-5 and are listed with the errors")]
pub struct BadErrorId(pub String);

impl fmt::Display for ErrorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = self.run.0;
        match self.subject {
            0 => f.pad(&run.to_string()),
            TASK => f.pad(&format!("{run}-task")),
            event => f.pad(&format!("{run}-{event}")),
        }
    }
}

impl From<&ErrorEntry> for ErrorId {
    fn from(entry: &ErrorEntry) -> Self {
        Self { run: entry.run, subject: entry.subject }
    }
}

impl FromStr for ErrorId {
    type Err = BadErrorId;

    fn from_str(text: &str) -> Result<Self, BadErrorId> {
        let bad = || BadErrorId(text.to_owned());
        let number = |text: &str| text.parse::<i64>().ok().filter(|it| *it > 0).ok_or_else(bad);
        let (run, subject) = match text.split_once('-') {
            None => (number(text)?, 0),
            Some((run, "task")) => (number(run)?, TASK),
            Some((run, event)) => (number(run)?, number(event)?),
        };
        Ok(Self { run: RunNumber(run), subject })
    }
}

const TASK: i64 = -1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_it_was_written() {
        for subject in [-1, 0, 1, 5, i64::MAX] {
            let id = ErrorId { run: RunNumber(812), subject };
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for bad in ["", "x", "812-", "-5", "812-0", "812--1", "812-5-6", "0"] {
            assert_eq!(bad.parse::<ErrorId>(), Err(BadErrorId(bad.to_owned())));
        }
    }
}
