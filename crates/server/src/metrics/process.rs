//! Numbers about this process, as the kernel has them. Elsewhere than on Linux there are none.

use std::fs;

/// What the kernel knows of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Process {
    pub(super) cpu_seconds: Option<f64>,
    pub(super) resident_bytes: Option<u64>,
    pub(super) open_files: Option<u64>,
}

impl Process {
    pub(super) fn look() -> Self {
        let read = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).ok();
        Self {
            cpu_seconds: read("stat").and_then(|stat| cpu_seconds(&stat)),
            resident_bytes: read("status").and_then(|status| resident_bytes(&status)),
            open_files: fs::read_dir("/proc/self/fd")
                .ok()
                .and_then(|files| files.count().try_into().ok()),
        }
    }
}

/// Fields 14 and 15, in hundredths of a second whatever the kernel's own clock does. The second
/// field is a name in parentheses that may hold anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut ticks = rest.split_whitespace().skip(11).map(str::parse::<u32>);
    let (user, system) = (ticks.next()?.ok()?, ticks.next()?.ok()?);
    Some((f64::from(user) + f64::from(system)) / 100.0)
}

fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_understood() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 900 0 0 0 250 50 0 0 20 0 4 0 12345 1000 99";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("7 (a) S 1"), None);
        assert_eq!(resident_bytes("VmPeak:\t 9 kB\nVmRSS:\t   12 kB\n"), Some(12_288));
        assert_eq!(resident_bytes(""), None);
    }
}
