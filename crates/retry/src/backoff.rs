//! How long to wait before the next attempt, before chance has its say.
//!
//! A [`Curve`] says how the wait grows, in integer nanoseconds that saturate; a [`Backoff`] caps it
//! and then jitters it. The cap comes first: capping a jittered wait puts every client that is
//! past the cap back in step, which is what jitter was there to prevent.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    jitter::{Draw, Jitter, Window},
    number,
    span::{self, Span},
};

/// A curve, its cap, its jitter and its floor.
///
/// ```
/// # use std::time::Duration;
/// # use steadfast_retry::Backoff;
/// let backoff = Backoff::exponential(Duration::from_millis(500), 1.5).capped(Duration::from_secs(1));
/// let bases: Vec<_> = (1..=4).filter_map(|n| backoff.base(n)).map(|d| d.as_millis()).collect();
/// assert_eq!(bases, [500, 750, 1000, 1000]);
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Written")]
pub struct Backoff {
    /// How the wait grows from failure to failure.
    #[serde(flatten)]
    pub curve: Curve,
    /// No base wait is longer. `None` leaves the curve alone.
    #[serde(with = "span::optional", skip_serializing_if = "Option::is_none")]
    pub max: Option<Duration>,
    /// What chance does to the capped wait.
    pub jitter: Jitter,
    /// No wait is shorter, so that a policy cannot spin. Presets that promise a zero wait set 0.
    #[serde(with = "span::text")]
    pub floor: Duration,
}

/// How the wait grows. `n` is the failure's number, from 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Curve {
    /// Always `initial`.
    Constant {
        /// Every wait.
        #[serde(with = "span::text")]
        initial: Duration,
    },
    /// `initial + (n-1) * step`.
    Linear {
        /// The first wait.
        #[serde(with = "span::text")]
        initial: Duration,
        /// What each failure adds.
        #[serde(with = "span::text")]
        step: Duration,
    },
    /// `initial * coef^(n-1)`.
    Exponential {
        /// The first wait.
        #[serde(with = "span::text")]
        initial: Duration,
        /// What each failure multiplies by.
        coef: f64,
    },
    /// `initial * n^power`.
    Polynomial {
        /// The first wait.
        #[serde(with = "span::text")]
        initial: Duration,
        /// The degree: 2 for a parabola.
        power: u32,
    },
    /// `initial * fib(n)`: 1, 1, 2, 3, 5, …
    Fibonacci {
        /// The first and the second wait.
        #[serde(with = "span::text")]
        initial: Duration,
    },
    /// Exactly these waits, in order.
    Schedule {
        /// The waits.
        #[serde(with = "span::list")]
        delays: Vec<Duration>,
        /// What comes after the last one.
        then: Then,
    },
}

/// What comes after the last wait of a [`Curve::Schedule`].
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The last wait again, and again.
    #[default]
    Repeat,
    /// Nothing: the rule has used itself up.
    Exhaust,
}

impl Backoff {
    /// A backoff along `curve`: no cap, no jitter, floor of 1 ms.
    #[must_use]
    pub const fn new(curve: Curve) -> Self {
        Self { curve, max: None, jitter: Jitter::None, floor: FLOOR }
    }

    /// Always the same wait.
    #[must_use]
    pub const fn constant(initial: Duration) -> Self {
        Self::new(Curve::Constant { initial })
    }

    /// Each wait is `coef` times the one before.
    #[must_use]
    pub const fn exponential(initial: Duration, coef: f64) -> Self {
        Self::new(Curve::Exponential { initial, coef })
    }

    /// Exactly these waits, in order.
    #[must_use]
    pub fn schedule(delays: impl Into<Vec<Duration>>, then: Then) -> Self {
        Self::new(Curve::Schedule { delays: delays.into(), then })
    }

    /// With no base wait longer than `max`.
    #[must_use]
    pub fn capped(self, max: Duration) -> Self {
        Self { max: Some(max), ..self }
    }

    /// With this jitter.
    #[must_use]
    pub fn jittered(self, jitter: Jitter) -> Self {
        Self { jitter, ..self }
    }

    /// With waits of exactly what the curve says, zero included.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { floor: Duration::ZERO, ..self }
    }

    /// The capped wait after failure `n` (from 1), before jitter; `None` when a schedule is used up.
    #[must_use]
    pub fn base(&self, n: u32) -> Option<Duration> {
        self.capped_nanos(n).map(number::duration)
    }

    /// The wait after failure `n` (from 1); `None` when a schedule is used up.
    #[must_use]
    pub fn delay(&self, n: u32, draw: &Draw<'_>) -> Option<Duration> {
        let window = self.window(n)?;
        Some(number::duration(self.jitter.apply(window, draw)).max(self.floor))
    }

    /// The shortest and the longest wait that can follow failure `n` (from 1).
    #[must_use]
    pub fn range(&self, n: u32) -> Option<(Duration, Duration)> {
        let (shortest, longest) = self.jitter.bounds(self.window(n)?);
        let floored = |nanos| number::duration(nanos).max(self.floor);
        Some((floored(shortest), floored(longest)))
    }

    fn window(&self, n: u32) -> Option<Window> {
        let initial = self.curve.initial().as_nanos();
        let base = self.capped_nanos(n)?;
        Some(Window { base, initial, max: self.max_nanos(), n: n.max(1) })
    }

    fn capped_nanos(&self, n: u32) -> Option<u128> {
        self.curve.nanos(n.max(1)).map(|base| base.min(self.max_nanos()))
    }

    fn max_nanos(&self) -> u128 {
        self.max.map_or(u128::MAX, |max| max.as_nanos())
    }
}

impl Curve {
    /// The first wait.
    #[must_use]
    pub fn initial(&self) -> Duration {
        match self {
            Self::Constant { initial }
            | Self::Linear { initial, .. }
            | Self::Exponential { initial, .. }
            | Self::Polynomial { initial, .. }
            | Self::Fibonacci { initial } => *initial,
            Self::Schedule { delays, .. } => delays.first().copied().unwrap_or_default(),
        }
    }

    /// The uncapped wait after failure `n`, saturating; `None` when a schedule is used up.
    fn nanos(&self, n: u32) -> Option<u128> {
        let before = u128::from(n - 1);
        Some(match self {
            Self::Constant { initial } => initial.as_nanos(),
            Self::Linear { initial, step } => {
                initial.as_nanos().saturating_add(step.as_nanos().saturating_mul(before))
            }
            Self::Exponential { initial, coef } => exponential(*initial, *coef, n - 1),
            Self::Polynomial { initial, power } => {
                initial.as_nanos().saturating_mul(u128::from(n).saturating_pow(*power))
            }
            Self::Fibonacci { initial } => initial.as_nanos().saturating_mul(fibonacci(n)),
            Self::Schedule { delays, then } => return scheduled(delays, *then, n),
        })
    }
}

/// Zero stays zero, however large the power: 0 times infinity would be not-a-number.
fn exponential(initial: Duration, coef: f64, exponent: u32) -> u128 {
    if initial.is_zero() {
        return 0;
    }
    number::nanos(number::float(initial.as_nanos()) * number::power(coef, exponent))
}

/// Stops as soon as it saturates, after 186 steps.
fn fibonacci(n: u32) -> u128 {
    let (mut current, mut next) = (1_u128, 1_u128);
    for _ in 1..n {
        (current, next) = (next, current.saturating_add(next));
        if current == u128::MAX {
            break;
        }
    }
    current
}

fn scheduled(delays: &[Duration], then: Then, n: u32) -> Option<u128> {
    let index = usize::try_from(n - 1).unwrap_or(usize::MAX);
    let delay = match then {
        Then::Repeat => delays.get(index).or_else(|| delays.last()),
        Then::Exhaust => delays.get(index),
    };
    delay.map(Duration::as_nanos)
}

/// Short enough not to be felt, long enough not to spin.
const FLOOR: Duration = Duration::from_millis(1);

impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.curve)?;
        if let Some(max) = self.max {
            write!(f, " up to {}", Span(max))?;
        }
        if self.jitter != Jitter::None {
            write!(f, ", {} jitter", self.jitter.name())?;
        }
        Ok(())
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let initial = Span(self.initial());
        match self {
            Self::Constant { .. } => write!(f, "{initial}"),
            Self::Linear { step, .. } => write!(f, "{initial} +{}", Span(*step)),
            Self::Exponential { coef, .. } => write!(f, "{initial} x{coef}"),
            Self::Polynomial { power, .. } => write!(f, "{initial} n^{power}"),
            Self::Fibonacci { .. } => write!(f, "{initial} fibonacci"),
            Self::Schedule { delays, then } => {
                let delays: Vec<String> =
                    delays.iter().map(|delay| Span(*delay).to_string()).collect();
                let after = if *then == Then::Exhaust { "" } else { ", …" };
                write!(f, "{}{after}", delays.join(", "))
            }
        }
    }
}

/// A backoff as people write it: every field spelled out, so that a typo is an error and so is a
/// field of another curve.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: Kind,
    #[serde(default, with = "span::optional")]
    initial: Option<Duration>,
    #[serde(default, with = "span::optional")]
    step: Option<Duration>,
    coef: Option<f64>,
    power: Option<u32>,
    #[serde(default, with = "span::list")]
    delays: Vec<Duration>,
    then: Option<Then>,
    #[serde(default, with = "span::optional")]
    max: Option<Duration>,
    #[serde(default)]
    jitter: Jitter,
    #[serde(default, with = "span::optional")]
    floor: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Constant,
    Linear,
    Exponential,
    Polynomial,
    Fibonacci,
    Schedule,
}

/// A field that the curve needs and was not given, or was given and the curve has no use for.
#[derive(Debug, thiserror::Error)]
enum Misfit {
    #[error("a backoff of this kind needs `{field}`")]
    Missing { field: &'static str },
    #[error("a backoff of this kind has no `{field}`")]
    Foreign { field: &'static str },
}

impl TryFrom<Written> for Backoff {
    type Error = Misfit;

    fn try_from(mut written: Written) -> Result<Self, Misfit> {
        let Written { max, jitter, floor, .. } = written;
        let curve = written.curve()?;
        written.nothing_left()?;
        Ok(Self { curve, max, jitter, floor: floor.unwrap_or(FLOOR) })
    }
}

impl Written {
    /// Takes the fields that the curve needs.
    fn curve(&mut self) -> Result<Curve, Misfit> {
        Ok(match self.kind {
            Kind::Constant => Curve::Constant { initial: self.initial()? },
            Kind::Linear => {
                let initial = self.initial()?;
                Curve::Linear { initial, step: self.step.take().unwrap_or(initial) }
            }
            Kind::Exponential => {
                let coef = self.coef.take().unwrap_or(COEFFICIENT);
                Curve::Exponential { initial: self.initial()?, coef }
            }
            Kind::Polynomial => {
                let power = self.power.take().ok_or(Misfit::Missing { field: "power" })?;
                Curve::Polynomial { initial: self.initial()?, power }
            }
            Kind::Fibonacci => Curve::Fibonacci { initial: self.initial()? },
            Kind::Schedule => {
                let delays = std::mem::take(&mut self.delays);
                Curve::Schedule { delays, then: self.then.take().unwrap_or_default() }
            }
        })
    }

    fn initial(&mut self) -> Result<Duration, Misfit> {
        self.initial.take().ok_or(Misfit::Missing { field: "initial" })
    }

    fn nothing_left(&self) -> Result<(), Misfit> {
        let left = [
            ("initial", self.initial.is_some()),
            ("step", self.step.is_some()),
            ("coef", self.coef.is_some()),
            ("power", self.power.is_some()),
            ("delays", !self.delays.is_empty()),
            ("then", self.then.is_some()),
        ];
        let foreign = left.into_iter().find(|(_, is_left)| *is_left);
        foreign.map_or(Ok(()), |(field, _)| Err(Misfit::Foreign { field }))
    }
}

/// What each failure multiplies by when nobody says.
const COEFFICIENT: f64 = 2.0;
