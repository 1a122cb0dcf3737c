//! What workers of our own SDK say beyond the public protocol, in the metadata of their calls.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use steadfast_engine::{ATTEMPT_KEYS, Engine, LEAVES, SILENCE_LONGEST, SILENCE_MAX};

/// A caller that wants the idempotency keys and fences of its attempts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct OwnWorker {
    /// After how much silence it counts as lost, if it gives signs of life; otherwise zero.
    silence_max: Duration,
    /// Whether it leaves the attempt that it speaks of to somebody else.
    leaves: bool,
}

/// What such a caller is told by.
static OWN: HeaderName = HeaderName::from_static(ATTEMPT_KEYS);

/// Why metadata cannot be understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{SILENCE_MAX} is {said:?}: it must be a whole number of milliseconds from 1 to {}",
    SILENCE_LONGEST.as_millis()
)]
pub(super) struct BadSilence {
    said: String,
}

/// Reads who calls, if it is such a worker.
pub(super) fn of(headers: &HeaderMap) -> Result<Option<OwnWorker>, BadSilence> {
    let is_true = |said: &http::HeaderValue| said == "true";
    if !headers.get(&OWN).is_some_and(is_true) {
        return Ok(None);
    }
    let silence_max = headers.get(SILENCE_MAX).map(silence).transpose()?.unwrap_or_default();
    Ok(Some(OwnWorker { silence_max, leaves: headers.get(LEAVES).is_some_and(is_true) }))
}

impl OwnWorker {
    /// The engine as it is for this worker.
    pub(super) fn introduce(self, engine: &Engine) -> Engine {
        let engine = engine.with_attempt_keys().with_signs_of_life(self.silence_max);
        if self.leaves { engine.leaving() } else { engine }
    }
}

fn silence(said: &http::HeaderValue) -> Result<Duration, BadSilence> {
    let bad = || BadSilence { said: String::from_utf8_lossy(said.as_bytes()).into_owned() };
    let millis = said.to_str().ok().and_then(|said| said.parse().ok()).ok_or_else(bad)?;
    let span = Duration::from_millis(millis);
    (!span.is_zero() && span <= SILENCE_LONGEST).then_some(span).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn said(silence: &'static str) -> Result<Option<OwnWorker>, BadSilence> {
        let mut headers = HeaderMap::new();
        headers.insert(ATTEMPT_KEYS, HeaderValue::from_static("true"));
        headers.insert(SILENCE_MAX, HeaderValue::from_static(silence));
        of(&headers)
    }

    #[test]
    fn whoever_says_nothing_is_none_of_ours() {
        assert_eq!(of(&HeaderMap::new()), Ok(None));
    }

    #[test]
    fn silence_is_counted_in_milliseconds() {
        let silence_max = Duration::from_secs(30);
        assert_eq!(said("30000"), Ok(Some(OwnWorker { silence_max, leaves: false })));
    }

    #[test]
    fn silence_that_is_none_is_refused_by_name() {
        for bad in ["0", "-1", "30s", "", "86400001", "99999999999999999999"] {
            let words = said(bad).unwrap_err().to_string();
            let expected = format!(
                "steadfast-silence-max is {bad:?}: it must be a whole number of milliseconds from 1 to \
                 86400000"
            );
            assert_eq!(words, expected);
        }
    }
}
