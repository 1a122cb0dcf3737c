//! What an attempt of an activity is told beside its input: fields of its header.
//!
//! The key and the fence are only for workers that want them: a codec that reads headers may refuse
//! what it did not write itself. They are in the encoding that every SDK has.

use std::time::Duration;

use steadfast_proto::common::{Header, Payload};
use xxhash_rust::xxh3::xxh3_128;

use crate::{run::Run, state::Activity};

/// What a worker over gRPC says in the metadata of its calls, with the value `true`, to be given the
/// two fields below.
pub const ATTEMPT_KEYS: &str = "steadfast-attempt-keys";
/// What such a worker says too if it gives signs of life by itself: after how many milliseconds of
/// silence it counts as lost. Its attempts are ended then, unless the workflow asks for heartbeats.
pub const SILENCE_MAX: &str = "steadfast-silence-max";
/// The longest such silence. Whoever may be silent for longer is not watched.
pub const SILENCE_LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// What it says, with the value `true`, in the heartbeat with which it leaves an attempt to somebody
/// else: from then on nobody is waited for but whoever ends it.
pub const LEAVES: &str = "steadfast-leaves";
/// The header field of attempts for which the worker is to give signs of life. JSON, `true`.
pub const SPOKEN_FOR_HEADER: &str = "steadfast-watched";
/// The header field with a key that is the same however often the activity is tried: over attempts,
/// crashes, resets and retries of the workflow. A JSON string.
pub const IDEMPOTENCY_HEADER: &str = "steadfast-idempotency-key";
/// The header field with a number that grows with every delivery of the activity. A JSON number.
pub const FENCE_HEADER: &str = "steadfast-fence";

impl Activity {
    /// The header of the attempt that is handed out now, as the workflow and whoever resumed it have
    /// written it.
    pub fn task_header(&self) -> Header {
        let mut header = self.scheduled.header.clone().unwrap_or_default();
        if let Some(only) = &self.row.next_only {
            header.fields.extend(only.fields.clone());
        }
        header
    }
}

impl Run {
    /// The header of an attempt with its idempotency key and fence.
    pub fn task_header_with_keys(&self, activity: &Activity) -> Header {
        let mut header = activity.task_header();
        let [key, fence] = self.keys(activity);
        header.fields.insert(IDEMPOTENCY_HEADER.to_owned(), Payload::json(key));
        header.fields.insert(FENCE_HEADER.to_owned(), Payload::json(fence));
        if activity.is_spoken_for() {
            header.fields.insert(SPOKEN_FOR_HEADER.to_owned(), Payload::json("true"));
        }
        header
    }

    /// The attempt's idempotency key and fence and nothing else, as bare JSON.
    pub fn task_keys(&self, activity: &Activity) -> Header {
        let bare = |text: String| Payload { data: text.into_bytes(), ..Payload::default() };
        let names = [IDEMPOTENCY_HEADER, FENCE_HEADER].into_iter().map(str::to_owned);
        Header { fields: names.zip(self.keys(activity).map(bare)).collect() }
    }

    /// The attempt's idempotency key and fence, as JSON.
    fn keys(&self, activity: &Activity) -> [String; 2] {
        let mut key = String::with_capacity(KEY_DIGITS + 2);
        key.push('"');
        key.push_str(&self.key_of(activity));
        key.push('"');
        [key, activity.row.deliveries.to_string()]
    }

    /// The key that an activity has now: another one each time that somebody gave it a new one.
    fn key_of(&self, activity: &Activity) -> String {
        let id = &activity.scheduled.activity_id;
        match activity.row.rekeyed {
            0 => self.idempotency_key(id),
            // No id of an activity ends like this by chance.
            times => self.idempotency_key(&format!("{id}\u{0}{times}")),
        }
    }

    /// What names the work of an activity to the outside world, however often it is tried.
    ///
    /// The first run that was tried stands for the workflow's work, not the first run of the chain:
    /// runs that continue as new number their activities anew and do other work. 128 bits of a fast
    /// hash are enough to tell calls apart; nothing is secret about them.
    pub fn idempotency_key(&self, activity_id: &str) -> String {
        let identity = &self.identity;
        let parts =
            [&identity.namespace, &identity.workflow_id, self.first_tried_run_id(), activity_id];
        let mut named = Vec::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
        for part in parts {
            named.extend_from_slice(part.as_bytes());
            // Never part of UTF-8 text, so that no two lists of parts read the same.
            named.push(0xff);
        }
        base32(xxh3_128(&named))
    }
}

/// All of a number's bits, five to a digit.
fn base32(mut number: u128) -> String {
    let mut digits = [0; KEY_DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[usize::try_from(number & 31).unwrap_or_default()];
        number >>= 5;
    }
    digits.into_iter().map(char::from).collect()
}

/// Digits of a number of 128 bits.
const KEY_DIGITS: usize = 26;
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn key(namespace: &str, workflow_id: &str, activity_id: &str) -> String {
        let mut run = Run::default();
        run.identity.namespace = namespace.to_owned();
        run.identity.workflow_id = workflow_id.to_owned();
        run.state.first_tried_run_id = "first".to_owned();
        run.idempotency_key(activity_id)
    }

    #[test]
    fn keys_keep_their_value_for_ever() {
        assert_eq!(key("default", "order-7", "charge"), "e6v6ivdplnisk3adllabiwu5de");
        assert_ne!(key("ab", "c", "d"), key("a", "bc", "d"));
        assert_ne!(key("a", "b", "cd"), key("a", "bc", "d"));
    }

    #[test]
    fn no_two_of_a_hundred_thousand_keys_are_the_same() {
        let keys: BTreeSet<String> = (0..100_000)
            .map(|n| key("default", &format!("order-{}", n / 10), &(n % 10).to_string()))
            .collect();
        assert_eq!(keys.len(), 100_000);
        assert!(keys.iter().all(|key| key.len() == 26));
    }
}
