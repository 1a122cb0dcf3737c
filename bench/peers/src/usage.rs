//! What a run of a case takes: CPU and memory.

use std::{fs, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// CPU of all threads of this process.
pub fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(spent.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(spent.tv_nsec).unwrap_or_default())
}

/// Lets the highest memory use be counted anew.
pub fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The highest memory use since [`reset_peak`], in MiB.
pub fn peak_rss_mib() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}

/// The span that `percent` of all spans do not exceed, in milliseconds. Sorts them.
pub fn percentile_ms(spans: &mut [Duration], percent: usize) -> f64 {
    spans.sort_unstable();
    let place = (spans.len() * percent).div_ceil(100).max(1) - 1;
    spans.get(place).copied().unwrap_or_default().as_secs_f64() * 1e3
}
