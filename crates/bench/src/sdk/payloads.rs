//! How much duroxide's stress test of large payloads does by default. The peers include this file: both
//! sides do the same.

use std::time::Duration;

pub(super) const SMALL_KB: usize = 10;
pub(super) const MEDIUM_KB: usize = 50;
pub(super) const LARGE_KB: usize = 100;

/// Activities with small payloads, and as many with medium ones.
pub(super) const FEW: usize = 6;
/// Activities with large payloads.
pub(super) const MORE: usize = 8;
/// Activities after the children.
pub(super) const LAST: usize = 10;
pub(super) const CHILDREN: usize = 5;
/// How long each activity takes.
pub(super) const TASK: Duration = Duration::from_millis(5);

/// So many KiB of text.
pub(super) fn payload(kb: usize) -> String {
    const PATTERN: &str =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!@#$%^&*()";
    let mut payload = PATTERN.repeat(kb * 1024 / PATTERN.len() + 1);
    payload.truncate(kb * 1024);
    payload
}
