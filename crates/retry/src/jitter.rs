//! What chance does to a wait, so that many clients do not come back at the same moment.
//!
//! ```text
//! none          |                b
//! full          0 ~~~~~~~~~~~~~~ b
//! equal                 b/2 ~~~~ b
//! proportional              b-p ~~~ b+p
//! decorrelated  i ~~~~~~~~~~~~~~~~~~~~~~~~~~ 3 * previous wait
//! smooth        a curve without steps, after Polly's second formula
//! ```

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    number,
    seed::{Seed, Unit},
};

/// The kinds of jitter.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// The wait itself.
    #[default]
    None,
    /// Anything from nothing to the whole wait. Spreads best; halves the outage a policy outlives.
    Full,
    /// Half the wait for certain, the other half by chance.
    Equal,
    /// The wait, give or take a share `p` of it. May pass the cap by that share.
    Proportional(f64),
    /// Up to three times the previous wait. Near the cap it draws from the cap's last quarter.
    Decorrelated,
    /// Exponential growth without the steps.
    Smooth,
}

impl Jitter {
    /// The share that `proportional` uses when nothing else is said.
    pub const SHARE: f64 = 0.2;

    pub(crate) fn apply(self, window: Window, draw: &Draw<'_>) -> u128 {
        let base = window.base;
        match self {
            Self::None => base,
            Self::Full => draw.unit(0).of(base),
            Self::Equal => base / 2 + draw.unit(0).of(base - base / 2),
            Self::Proportional(share) => proportional(base, share, draw.unit(0)),
            Self::Decorrelated => decorrelated(window, draw),
            Self::Smooth => smooth(window, draw),
        }
    }
}

impl Jitter {
    /// The shortest and the longest wait that can come out.
    pub(crate) fn bounds(self, window: Window) -> (u128, u128) {
        let Window { base, initial, max, n } = window;
        match self {
            Self::None => (base, base),
            Self::Full => (0, base),
            Self::Equal => (base / 2, base),
            Self::Proportional(share) => {
                (proportional(base, share, Unit::ZERO), proportional(base, share, Unit::MAX))
            }
            Self::Decorrelated => {
                let widest = initial.saturating_mul(3_u128.saturating_pow(n));
                (initial.min(max / 4 * 3), widest.min(max))
            }
            Self::Smooth => (0, smooth_widest(window)),
        }
    }

    /// The name in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "no",
            Self::Full => "full",
            Self::Equal => "equal",
            Self::Proportional(_) => "proportional",
            Self::Decorrelated => "decorrelated",
            Self::Smooth => "smooth",
        }
    }
}

/// Where a jitter takes its numbers from.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// Who is retrying.
    pub seed: Seed<'a>,
    /// The failure's number over the whole life of the work.
    pub failure: u64,
    /// The wait before this one, if there was one.
    pub previous: Option<Duration>,
}

impl Draw<'_> {
    fn unit(&self, stream: u64) -> Unit {
        self.seed.unit(self.failure, stream)
    }

    /// The number that the failure before this one drew.
    fn unit_before(&self) -> Unit {
        self.failure.checked_sub(1).map_or(Unit::ZERO, |before| self.seed.unit(before, 0))
    }
}

/// What a jitter needs to know of the backoff, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) base: u128,
    pub(crate) initial: u128,
    pub(crate) max: u128,
    pub(crate) n: u32,
}

fn proportional(base: u128, share: f64, unit: Unit) -> u128 {
    let share = share.clamp(0.0, 1.0);
    number::nanos(number::float(base) * (1.0 - share + 2.0 * share * unit.get()))
}

fn decorrelated(window: Window, draw: &Draw<'_>) -> u128 {
    let Window { initial, max, .. } = window;
    let previous = draw.previous.map_or(initial, |delay| delay.as_nanos());
    let width = previous.saturating_mul(3).saturating_sub(initial);
    let delay = initial.saturating_add(draw.unit(0).of(width));
    if delay < max {
        return delay;
    }
    // Everyone who passes the cap would wait exactly the cap; a second draw keeps them apart.
    max / 4 * 3 + draw.unit(1).of(max - max / 4 * 3)
}

/// The difference of two neighbouring points of a smooth curve, one drawn in each step.
///
/// When the window of possible waits reaches past the cap, the window shrinks to fit; clamping the
/// sample would put everyone on the cap.
fn smooth(window: Window, draw: &Draw<'_>) -> u128 {
    let step = smooth_step(window);
    let before = if step > 0.0 { curve(step - 1.0 + draw.unit_before().get()) } else { 0.0 };
    let sample = curve(step + draw.unit(0).get()) - before;
    let share = sample / smooth_width(step);
    number::nanos(share * number::float(smooth_widest(window))).min(window.max)
}

/// The longest wait that the window holds, which is the cap once the window has grown to it.
fn smooth_widest(window: Window) -> u128 {
    if window.n > SMOOTH_STEPS {
        return window.max;
    }
    let width = smooth_width(smooth_step(window));
    number::nanos(width * number::float(window.initial) / 1.4).min(window.max)
}

fn smooth_step(window: Window) -> f64 {
    f64::from((window.n - 1).min(SMOOTH_STEPS))
}

fn smooth_width(step: f64) -> f64 {
    curve(step + 1.0) - if step > 0.0 { curve(step - 1.0) } else { 0.0 }
}

fn curve(t: f64) -> f64 {
    t.exp2() * (4.0 * t).sqrt().tanh()
}

/// Beyond this step the shape of the window no longer changes, only its size.
const SMOOTH_STEPS: u32 = 48;
