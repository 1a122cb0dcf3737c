//! The ids of promises: how they are written in the table, and in the names of tests.
//!
//! ```text
//!   in the table   C-05   D-117   X-T08   P-03
//!   in a test      c_05   d_117   x_t08   p_03
//! ```

use std::{fmt, ops::RangeInclusive};

/// A promise's id.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Id {
    /// `C`, `D`, `E`, `T`, `X`, `X-T` or `P`.
    prefix: &'static str,
    number: u32,
}

/// A run of ids with one prefix.
pub(super) struct Series {
    /// What it is called in messages.
    pub(super) name: &'static str,
    /// Whether these are faults that must not be repeated rather than promises.
    pub(super) peer_faults: bool,
    prefix: &'static str,
    numbers: &'static [RangeInclusive<u32>],
}

/// All ids there are.
pub(super) const SERIES: &[Series] = &[
    series("C", &[1..=45, 101..=115]),
    series("D", &[1..=45, 101..=117]),
    series("E", &[1..=36, 40..=70, 101..=110]),
    series("T", &[1..=37]),
    series("X", &[1..=40]),
    series("X-T", &[1..=49]),
    Series { name: "P", peer_faults: true, prefix: "P", numbers: &[1..=23] },
];

const fn series(prefix: &'static str, numbers: &'static [RangeInclusive<u32>]) -> Series {
    Series { name: prefix, peer_faults: false, prefix, numbers }
}

impl Series {
    /// Its ids, in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> + use<> {
        let prefix = self.prefix;
        self.numbers.iter().cloned().flatten().map(move |number| Id { prefix, number })
    }
}

impl Id {
    /// Reads `C-05`, as it stands in the table.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (letter, rest) = text.split_once('-')?;
        let id = Self::from_parts(&letter.to_lowercase(), &rest.to_lowercase())?;
        (id.to_string() == text).then_some(id)
    }

    /// `letter` is `c` or `x`, `rest` is `05` or `t08`.
    fn from_parts(letter: &str, rest: &str) -> Option<Self> {
        let (prefix, digits) = match (letter, rest.strip_prefix('t')) {
            ("c", None) => ("C", rest),
            ("d", None) => ("D", rest),
            ("e", None) => ("E", rest),
            ("t", None) => ("T", rest),
            ("p", None) => ("P", rest),
            ("x", None) => ("X", rest),
            ("x", Some(digits)) => ("X-T", digits),
            _ => return None,
        };
        let is_number =
            (2..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        Some(Self { prefix, number: digits.parse().ok().filter(|_| is_number)? })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dash = if self.prefix == "X-T" { "" } else { "-" };
        write!(f, "{}{dash}{:02}", self.prefix, self.number)
    }
}

/// `ids`, which are in order, with neighbours drawn together: `C-01..C-45 C-102`.
pub(super) fn ranges(ids: &[Id]) -> String {
    let neighbours = |a: &Id, b: &Id| a.prefix == b.prefix && a.number + 1 == b.number;
    let shown = |run: &[Id]| match run {
        [first, .., last] => format!("{first}..{last}"),
        run => run.iter().map(Id::to_string).collect(),
    };
    ids.chunk_by(neighbours).map(shown).collect::<Vec<_>>().join(" ")
}

/// The ids that the name of a test begins with.
pub(super) fn leading(name: &str) -> Vec<Id> {
    let name = name.strip_prefix("test_").unwrap_or(name);
    let parts: Vec<&str> = name.split('_').collect();
    let mut found = Vec::new();
    for pair in parts.chunks(2) {
        let [letter, rest] = pair else { break };
        let Some(id) = Id::from_parts(letter, rest) else { break };
        found.push(id);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str) -> String {
        leading(name).iter().map(Id::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ids_are_read_from_names() {
        assert_eq!(shown("c_05_the_first_delay"), "C-05");
        assert_eq!(shown("x_t08_overflow"), "X-T08");
        assert_eq!(shown("d_117_ends"), "D-117");
        assert_eq!(shown("test_t_05_is_retried"), "T-05");
        assert_eq!(shown("c_36_c_37_x_t01_started_once"), "C-36 C-37 X-T01");
    }

    #[test]
    fn other_names_have_none() {
        for name in ["a_second_cancel", "c_5_short", "timer_05", "t_t05_x", "x_tt1_y", "c_0005"] {
            assert_eq!(shown(name), "", "{name}");
        }
    }

    #[test]
    fn ids_are_read_from_the_table_only_as_they_are_written() {
        for text in ["C-05", "D-117", "X-T08", "P-03"] {
            assert_eq!(Id::parse(text).map(|id| id.to_string()).as_deref(), Some(text));
        }
        for text in ["c-05", "C-5", "C05", "K-01", "id", "---", "C-005"] {
            assert_eq!(Id::parse(text), None, "{text}");
        }
    }

    #[test]
    fn neighbours_are_drawn_together() {
        let ids: Vec<Id> = ["C-01", "C-02", "C-03", "C-05", "C-101"]
            .iter()
            .filter_map(|id| Id::parse(id))
            .collect();
        assert_eq!(ranges(&ids), "C-01..C-03 C-05 C-101");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn there_are_325_promises_and_23_faults_of_peers() {
        let count = |peer| {
            let series = SERIES.iter().filter(|series| series.peer_faults == peer);
            series.flat_map(Series::ids).count()
        };
        assert_eq!((count(false), count(true)), (325, 23));
    }
}
