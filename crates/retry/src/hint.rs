//! When the other side says how long to wait: the author's next delay, or a Retry-After.
//!
//! Four answers are told apart: nothing said, now, after a while, never.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{seed::Unit, span};

/// What the other side said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hint {
    /// Come back after this long; zero is now.
    After(Duration),
    /// Do not come back.
    Never,
}

impl Hint {
    /// Now.
    pub const NOW: Self = Self::After(Duration::ZERO);
}

/// How far a hint is followed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hints {
    /// How the hint and the computed wait are put together.
    pub mode: HintMode,
    /// The longest hint that is waited for; `None` follows any.
    #[serde(with = "span::optional")]
    pub max: Option<Duration>,
    /// What a longer hint leads to.
    pub beyond: Beyond,
    /// Whose wait it is.
    pub scope: HintScope,
}

/// How the hint and the computed wait are put together.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HintMode {
    /// The hint, to the nanosecond: no jitter, no cap.
    Exact,
    /// Never before the hint, spread a little after it, and never before the computed wait.
    #[default]
    AtLeast,
    /// The hint, but no earlier than the computed wait and no later than this much after it.
    Bounded(#[serde(with = "span::text")] Duration),
    /// The computed wait.
    Ignore,
}

/// What a hint beyond the longest leads to.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// Park until then: nobody should hold a timer and a promise for that long.
    #[default]
    Park,
    /// Wait for the longest instead.
    Clamp,
}

/// Whose wait it is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HintScope {
    /// This piece of work only.
    #[default]
    One,
    /// Everything that calls the same downstream: one 429 stops the fleet.
    Key,
}

/// What following a hint comes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Followed {
    /// Wait this long, and the hint is why.
    Wait(Duration),
    /// Wait as computed; the hint changed nothing.
    Computed(Duration),
    /// Too long to wait for.
    Park(Duration),
    /// Do not come back.
    Never,
}

impl Hints {
    /// Follows hints to the letter, however long.
    #[must_use]
    pub const fn exact() -> Self {
        Self { mode: HintMode::Exact, max: None, beyond: Beyond::Park, scope: HintScope::One }
    }

    /// Follows no hint.
    #[must_use]
    pub const fn ignored() -> Self {
        Self { mode: HintMode::Ignore, ..Self::exact() }
    }

    pub(crate) fn follow(
        &self,
        hint: Hint,
        computed: Duration,
        unit: impl FnOnce() -> Unit,
    ) -> Followed {
        if self.mode == HintMode::Ignore {
            return Followed::Computed(computed);
        }
        let Hint::After(hint) = hint else { return Followed::Never };
        let (hint, is_beyond) = match self.max {
            Some(max) if hint > max => {
                (if self.beyond == Beyond::Clamp { max } else { hint }, true)
            }
            _ => (hint, false),
        };
        if is_beyond && self.beyond == Beyond::Park {
            return Followed::Park(hint);
        }
        match self.mode {
            HintMode::Exact => Followed::Wait(hint),
            HintMode::AtLeast => at_least(hint, computed, unit),
            HintMode::Bounded(window) => {
                Followed::Wait(hint.clamp(computed, computed.saturating_add(window)))
            }
            HintMode::Ignore => Followed::Computed(computed),
        }
    }
}

impl Default for Hints {
    /// At least the hint, up to a day, then parked.
    fn default() -> Self {
        Self {
            mode: HintMode::AtLeast,
            max: Some(DAY),
            beyond: Beyond::Park,
            scope: HintScope::One,
        }
    }
}

/// Everyone was told the same second; a little chance after it keeps them from coming together.
fn at_least(hint: Duration, computed: Duration, unit: impl FnOnce() -> Unit) -> Followed {
    if hint <= computed {
        return Followed::Computed(computed);
    }
    let spread = (hint / 2).min(SPREAD_MAX);
    let extra = crate::number::duration(unit().of(spread.as_nanos()));
    Followed::Wait(hint.saturating_add(extra))
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const SPREAD_MAX: Duration = Duration::from_secs(60);
