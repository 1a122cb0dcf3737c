//! What a run of a case takes: time, CPU, memory.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// What time it is, by a clock that does not jump.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits for real.
#[expect(clippy::disallowed_methods, reason = "a benchmark waits in real time")]
pub(crate) async fn pause(span: Duration) {
    tokio::time::sleep(span).await;
}

/// A stopwatch for time and CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    began: Instant,
    cpu: Duration,
}

impl Stopwatch {
    /// Starts it.
    pub(crate) fn start() -> Self {
        Self { began: now(), cpu: cpu() }
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// CPU of all threads since the start.
    pub(crate) fn cpu(&self) -> Duration {
        cpu().saturating_sub(self.cpu)
    }
}

/// Lets the highest memory use of this process be counted anew.
pub(crate) fn reset_peak() {
    // Not every kernel allows it. The peak is then that of the whole process: too high, not too low.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The highest memory use of this process since [`reset_peak`], in MiB.
pub(crate) fn peak_rss_mib() -> f64 {
    status("VmHWM:")
}

/// The memory that this process uses now, in MiB.
pub(crate) fn rss_mib() -> f64 {
    status("VmRSS:")
}

fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(spent.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(spent.tv_nsec).unwrap_or_default())
}

fn status(field: &str) -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}
