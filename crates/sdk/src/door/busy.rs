//! A run that takes nothing for a moment, because it is about to close: then there is its next run,
//! which takes it, or none.

use std::time::Duration;

use steadfast_engine::{Clock as _, Code, Error, SystemClock};
use steadfast_proto::enums::ResourceExhaustedCause;

/// Makes a call to the engine in this process until the run takes it, for a while. Every such call
/// names its request, so that it counts once.
pub(super) async fn until_taken<R, T, F>(request: R, call: impl Fn(R) -> F) -> Result<T, Error>
where
    R: Clone,
    F: Future<Output = Result<T, Error>>,
{
    let mut pause = PAUSE_MIN;
    loop {
        let answer = call(request.clone()).await;
        if pause > PAUSE_MAX || !answer.as_ref().is_err_and(is_busy) {
            return answer;
        }
        SystemClock.sleep(pause).await;
        pause *= 2;
    }
}

fn is_busy(error: &Error) -> bool {
    error.code == Code::ResourceExhausted
        && error.exhausted_by() == Some(ResourceExhaustedCause::BusyWorkflow)
}

const PAUSE_MIN: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_secs(2);
