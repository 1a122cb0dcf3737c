//! Copying the write-ahead log into the file, beside the commits.
//!
//! A checkpoint writes pages and waits for the disk. The writer would stand still for it; so
//! another thread does it, in the mode that waits for nobody. That alone would let the log grow for
//! ever under constant load, because it begins anew only when all of it is copied and there is
//! always one commit more. So the thread copies most of it, and the writer what has come since if
//! that is little. A log that begins anew early is overwritten in place, for which the disk takes
//! less time than for one that grows.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rusqlite::{Connection, hooks::Wal};

use super::{Counters, fault::Fault, lane::Lane};

/// Pages that the log grows by (of 4 KiB each) until they are copied in the background.
const MANY: u64 = 4_000;

/// Pages from which on the log is long: it should begin anew.
const LONG: u64 = 16_000;

/// Pages from which on it must, even if the writer has much to copy.
const TOO_LONG: u64 = 32_000;

/// Pages that the writer copies itself without being missed.
const LITTLE: u64 = 1_000;

/// What part of the log that may be: who copies little of a short one would do so often.
const PART: u64 = 16;

/// Has `lane` checkpoint whenever the commits of `writer` have made the log long.
pub(super) fn watch(
    writer: &mut Connection,
    lane: Lane,
    counters: &Arc<Counters>,
) -> Result<(), Fault> {
    let counters = Arc::clone(counters);
    let under_way = Arc::<AtomicBool>::default();
    let mut log = Log::default();
    let hook = move |wal: &mut Wal, pages| {
        let pages = u64::try_from(pages).unwrap_or(0);
        counters.wal_pages.store(pages, Ordering::Relaxed);
        match log.grown_to(pages, under_way.load(Ordering::Acquire)) {
            Next::Nothing => (),
            Next::InBackground => {
                under_way.store(true, Ordering::Release);
                in_background(&lane, &under_way, &counters);
            }
            // The commit is durable whatever becomes of this.
            Next::ByWriter => _ = wal.checkpoint().map(|()| counters.copied()),
        }
        Ok(())
    };
    Ok(writer.wal_hook(Some(hook))?)
}

/// What is known about the log.
#[derive(Debug, Default)]
struct Log {
    /// Its pages when a checkpoint was last begun in the background.
    asked_at: u64,
    /// Its pages when the writer last tried. A reader with an old snapshot may be in the way, and
    /// then trying again soon does not help.
    tried_at: u64,
}

/// What to do about the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Next {
    Nothing,
    InBackground,
    ByWriter,
}

impl Log {
    fn grown_to(&mut self, pages: u64, under_way: bool) -> Next {
        if pages < self.asked_at {
            // It has begun anew.
            *self = Self::default();
        }
        let since = pages - self.asked_at;
        let little = since < LITTLE.min(pages / PART) && !under_way;
        if (pages >= MANY && little || pages >= TOO_LONG) && pages - self.tried_at >= LITTLE {
            self.tried_at = pages;
            Next::ByWriter
        } else if !under_way && (since >= MANY || pages >= LONG && since >= LITTLE) {
            self.asked_at = pages;
            Next::InBackground
        } else {
            Next::Nothing
        }
    }
}

impl Counters {
    fn copied(&self) {
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
    }
}

fn in_background(lane: &Lane, under_way: &Arc<AtomicBool>, counters: &Arc<Counters>) {
    let (under_way, counters) = (Arc::clone(under_way), Arc::clone(counters));
    // Nobody waits for it: the answer is dropped, the work is done.
    drop(lane.call(move |db| {
        let copied = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
        _ = copied.map(|()| counters.copied());
        under_way.store(false, Ordering::Release);
        Ok(())
    }));
}

#[cfg(test)]
mod tests {
    use super::{LITTLE, LONG, Log, MANY, Next, PART, TOO_LONG};

    #[test]
    fn a_short_log_is_left_alone() {
        let mut log = Log::default();
        assert_eq!(log.grown_to(MANY - 1, false), Next::Nothing);
        assert_eq!(log.grown_to(MANY, false), Next::InBackground);
        assert_eq!(log.grown_to(MANY + 1, true), Next::Nothing);
    }

    #[test]
    fn a_log_that_grows_slowly_begins_anew_early() {
        let mut log = Log::default();
        assert_eq!(log.grown_to(MANY, false), Next::InBackground);
        assert_eq!(log.grown_to(MANY + 20, true), Next::Nothing, "the thread is copying");
        assert_eq!(log.grown_to(MANY + 40, false), Next::ByWriter);
        assert_eq!(log.grown_to(7, false), Next::Nothing, "begun anew");
    }

    #[test]
    fn one_that_grows_fast_is_left_to_the_thread_until_it_is_long() {
        let mut log = Log::default();
        assert_eq!(log.grown_to(MANY, false), Next::InBackground);
        assert_eq!(log.grown_to(MANY + 2 * MANY / PART, false), Next::Nothing);
        assert_eq!(log.grown_to(2 * MANY, false), Next::InBackground);
        assert_eq!(log.grown_to(LONG, false), Next::InBackground);
        assert_eq!(log.grown_to(LONG + LITTLE - 1, false), Next::ByWriter);
    }

    #[test]
    fn the_writer_copies_only_what_little_came_since() {
        let mut log = Log::default();
        assert_eq!(log.grown_to(LONG, false), Next::InBackground);
        assert_eq!(log.grown_to(LONG + 10, true), Next::Nothing, "the thread is copying");
        assert_eq!(log.grown_to(LONG + 20, false), Next::ByWriter);
        assert_eq!(log.grown_to(LONG + 30, false), Next::Nothing, "a reader is in the way");
        assert_eq!(log.grown_to(LONG + LITTLE, false), Next::InBackground);
        assert_eq!(log.grown_to(5, false), Next::Nothing, "begun anew");
        assert_eq!(log.grown_to(MANY + 5, false), Next::InBackground);
    }

    #[test]
    fn a_log_that_is_too_long_is_copied_whatever_it_costs() {
        let mut log = Log::default();
        assert_eq!(log.grown_to(TOO_LONG, true), Next::ByWriter);
        assert_eq!(log.grown_to(TOO_LONG + 1, true), Next::Nothing);
        assert_eq!(log.grown_to(TOO_LONG + LITTLE, true), Next::ByWriter);
    }
}
