//! A server that is away for a moment: the same call is made again until it answers, for a while.
//!
//! A server that is started again, a connection that is cut, a moment of too much work: that is no news
//! for a program that runs for months. Every call can be made twice: it names its request, or its
//! update, or what it changes is the same afterwards. Polls for tasks are not made again here; whoever
//! polls does that itself.

use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use steadfast_engine::{Clock as _, Error, SystemClock};
use tokio::time::Instant;

use super::is_passing;

/// Makes a call until the server answers it, or has been away for longer than `patience`.
pub(super) async fn until_answered<R, T, F>(
    patience: Duration,
    request: R,
    call: impl Fn(R) -> F,
) -> Result<T, Error>
where
    R: Clone,
    F: Future<Output = Result<T, Error>>,
{
    let began = Instant::now();
    let mut pause = PAUSE_MIN;
    loop {
        let error = match call(request.clone()).await {
            Err(error) if is_passing(error.code) => error,
            answered => return answered,
        };
        let left = patience.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(error);
        }
        tracing::warn!(%error, "the server did not take a call, which is made again");
        SystemClock.sleep(spread(pause).min(left)).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// A server says of a run that takes nothing just now what it says when it has too much to do.
pub(super) use self::until_answered as until_taken;

/// Makes a call once.
pub(super) async fn once<R, T, F>(
    _: Duration,
    request: R,
    call: impl FnOnce(R) -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    call(request).await
}

/// Between a half and the whole of a pause: those who were cut off together do not come back together.
fn spread(pause: Duration) -> Duration {
    let chance = RandomState::new().hash_one(()) % 1024;
    let chance = u32::try_from(chance).unwrap_or_default();
    pause / 2 + pause * chance / 2048
}

const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(3);
