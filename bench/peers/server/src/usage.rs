//! What a process takes: CPU and memory, as the kernel counts them.

use std::{fs, time::Duration};

use anyhow::{Context as _, Result};

/// A process that is watched from outside.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    pid: u32,
}

impl Process {
    pub const fn new(pid: u32) -> Self {
        Self { pid }
    }

    /// This one.
    pub fn own() -> Self {
        Self::new(std::process::id())
    }

    /// CPU of all its threads since it began, in user space and in the kernel.
    pub fn cpu(self) -> Result<Duration> {
        let path = format!("/proc/{}/stat", self.pid);
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        // The second field is a name in parentheses, and may hold anything.
        let (_, fields) = text.rsplit_once(')').with_context(|| path.clone())?;
        let ticks = |place: usize| -> Result<u64> {
            let field = fields.split_whitespace().nth(place).with_context(|| path.clone())?;
            Ok(field.parse()?)
        };
        let spent = ticks(UTIME)? + ticks(STIME)?;
        Ok(Duration::from_millis(spent * MS_PER_TICK))
    }

    /// The memory that it uses now, in MiB.
    pub fn rss_mib(self) -> f64 {
        self.status("VmRSS:")
    }

    /// The most that it ever used.
    pub fn peak_rss_mib(self) -> f64 {
        self.status("VmHWM:")
    }

    fn status(self, field: &str) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        kib.unwrap_or_default() / 1024.0
    }
}

/// Places in `/proc/PID/stat`, counted from the field after the name.
const UTIME: usize = 11;
const STIME: usize = 12;

/// What the kernel shows to programs is in hundredths of a second, on every machine.
const MS_PER_TICK: u64 = 10;

/// The machine's load of the last minute.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or_default()
}

/// The span that `percent` of all spans do not exceed, in milliseconds. Sorts them.
pub fn percentile_ms(spans: &mut [Duration], percent: usize) -> f64 {
    spans.sort_unstable();
    let place = (spans.len() * percent).div_ceil(100).max(1) - 1;
    spans.get(place).copied().unwrap_or_default().as_secs_f64() * 1e3
}
