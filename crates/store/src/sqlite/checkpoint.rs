//! Copying the write-ahead log into the file, beside the commits.
//!
//! A checkpoint writes pages and waits for the disk. The writer would stand still for it; so
//! another thread does it, in the mode that waits for nobody. That alone would let the log grow for
//! ever under constant load, because it begins anew only when all of it is copied and there is
//! always one commit more. So when the log is long, the writer copies what is left, which is
//! little.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rusqlite::{Connection, hooks::Wal};

use super::{Counters, fault::Fault, lane::Lane};

/// Pages that the log grows by (of 4 KiB each) until they are copied in the background.
const PAGES_MANY: u64 = 4_000;

/// Pages in the log from which on the writer copies what is left.
const PAGES_MAX: u64 = 16_000;

/// Pages that the writer lets come together before it tries that again: a reader with an old
/// snapshot may be in the way, and then trying costs and does not help.
const PAGES_LEFT: u64 = 1_000;

/// Has `lane` checkpoint whenever the commits of `writer` have made the log long.
pub(super) fn watch(
    writer: &mut Connection,
    lane: Lane,
    counters: &Arc<Counters>,
) -> Result<(), Fault> {
    let counters = Arc::clone(counters);
    let under_way = Arc::<AtomicBool>::default();
    let (mut asked_at, mut copied_at) = (0, 0);
    let hook = move |wal: &mut Wal, pages| {
        let pages = u64::try_from(pages).unwrap_or(0);
        counters.wal_pages.store(pages, Ordering::Relaxed);
        if pages < asked_at {
            // The log has begun anew.
            (asked_at, copied_at) = (0, 0);
        }
        if pages >= PAGES_MAX && pages - copied_at >= PAGES_LEFT {
            copied_at = pages;
            // The commit is durable whatever becomes of this.
            if wal.checkpoint().is_ok() {
                counters.checkpoints.fetch_add(1, Ordering::Relaxed);
            }
        } else if pages - asked_at >= PAGES_MANY && !under_way.swap(true, Ordering::AcqRel) {
            asked_at = pages;
            in_background(&lane, &under_way, &counters);
        }
        Ok(())
    };
    Ok(writer.wal_hook(Some(hook))?)
}

fn in_background(lane: &Lane, under_way: &Arc<AtomicBool>, counters: &Arc<Counters>) {
    let (under_way, counters) = (Arc::clone(under_way), Arc::clone(counters));
    // Nobody waits for it: the answer is dropped, the work is done.
    drop(lane.call(move |db| {
        let copied = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
        if copied.is_ok() {
            counters.checkpoints.fetch_add(1, Ordering::Relaxed);
        }
        under_way.store(false, Ordering::Release);
        Ok(())
    }));
}
