//! What a bulk resume has to tell of those that did not go on: what failed again, by fingerprint, and
//! why others could not be resumed.

use crate::fingerprint;

/// What became of some of the errors of a job, alike. It is kept as it is told: a tag is never reused.
#[derive(Clone, Eq, PartialEq, prost::Message)]
pub struct JobReport {
    /// Equal for texts that differ only in numbers, ids and quoted text; 0 for all that there was no
    /// room for.
    #[prost(fixed64, tag = "1")]
    pub fingerprint: u64,
    /// What one of them said.
    #[prost(string, tag = "2")]
    pub text: String,
    /// How many they are.
    #[prost(uint64, tag = "3")]
    pub count: u64,
}

impl JobReport {
    /// Counts one more that says `text`.
    pub(crate) fn count(all: &mut Vec<Self>, kind: &str, text: &str) {
        let print = fingerprint::of(kind, text);
        let said = if kind.is_empty() { text.to_owned() } else { format!("{kind}: {text}") };
        let known = all.iter().position(|it| it.fingerprint == print);
        let rest = || all.iter().position(|it| it.fingerprint == 0);
        let place = known.or_else(|| if all.len() < KINDS_MAX { None } else { rest() });
        if let Some(found) = place.and_then(|place| all.get_mut(place)) {
            found.count += 1;
        } else if all.len() < KINDS_MAX {
            all.push(Self { fingerprint: print, text: said, count: 1 });
        } else {
            all.push(Self { fingerprint: 0, text: "others".to_owned(), count: 1 });
        }
    }

    /// As they are told, the commonest first.
    pub(crate) fn told(all: &[Self]) -> Vec<Self> {
        let mut told = all.to_vec();
        told.sort_by_key(|it| std::cmp::Reverse(it.count));
        told
    }
}

/// Kinds that are told apart; the rest is counted together.
const KINDS_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_is_counted_together_and_there_is_an_end_to_kinds() {
        let mut all = Vec::new();
        for n in 0..5 {
            JobReport::count(&mut all, "Timeout", &format!("no answer after {n} s"));
        }
        let words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
        for first in words {
            for second in words {
                JobReport::count(&mut all, "", &format!("{first} and {second}"));
            }
        }
        let told = JobReport::told(&all);
        assert_eq!(told.len(), KINDS_MAX + 1);
        assert_eq!((told[0].text.as_str(), told[0].count), ("others", 81));
        assert_eq!((told[1].text.as_str(), told[1].count), ("Timeout: no answer after 0 s", 5));
        assert_eq!(told.iter().map(|it| it.count).sum::<u64>(), 105);
    }
}
