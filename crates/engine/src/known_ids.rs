//! Which workflow ids there may be, so that a start need not ask the store about a new one.
//!
//! Every id that is there leaves marks in a filter. An id without all of its marks is surely new; one
//! that has them may be there, and then the store is asked. A byte an id is enough to be right about
//! most new ones, and nothing depends on it.
//!
//! ```text
//!   a store with ids ──▶ enough were asked for in vain ──▶ all are read ──▶ known ──┐
//!   an empty store ────────────────────────────────────────────────────────▶ known ◀┤
//!                                  read anew, as there are twice as many by now ────┘
//! ```
//!
//! Ids that the engine creates are added as it does, those from before by whoever reads them. Nothing
//! is ever taken out: an id that was deleted is asked for until all are read anew.

use std::sync::{
    PoisonError, RwLock,
    atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering},
};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Which workflow ids there may be.
#[derive(Debug)]
pub(crate) struct KnownIds {
    filters: RwLock<Filters>,
    /// Ids that the store was asked for and did not have, since they were read last.
    in_vain: AtomicU64,
    /// How often they could not be read.
    given_up: AtomicU32,
    /// [`NO_WISH`], [`WISH`] or [`READING`].
    reading: AtomicU8,
}

#[derive(Debug)]
struct Filters {
    /// All ids that there are; `None` while nobody knows.
    all: Option<Filter>,
    /// Those that were found or created since somebody began to read them.
    found: Option<Filter>,
}

impl KnownIds {
    /// Of a store that is empty, or of which nothing is known.
    pub(crate) fn new(is_empty: bool) -> Self {
        let all = is_empty.then(|| Filter::for_ids(0));
        Self {
            filters: RwLock::new(Filters { all, found: None }),
            in_vain: AtomicU64::new(0),
            given_up: AtomicU32::new(0),
            reading: AtomicU8::new(NO_WISH),
        }
    }

    /// There is such an id from now on.
    pub(crate) fn add(&self, namespace_id: &str, workflow_id: &str) {
        let marks = Marks::of(namespace_id, workflow_id);
        let filters = self.filters.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &filters.found {
            found.add(&marks);
        }
        if filters.all.as_ref().is_some_and(|all| all.add(&marks)) {
            self.wish();
        }
    }

    /// Whether there is surely no such id.
    pub(crate) fn is_new(&self, namespace_id: &str, workflow_id: &str) -> bool {
        let filters = self.filters.read().unwrap_or_else(PoisonError::into_inner);
        filters.all.as_ref().is_some_and(|all| !all.has(&Marks::of(namespace_id, workflow_id)))
    }

    /// The store was asked for an id and does not have it. It has at most so many `runs`: reading
    /// them all should cost less than asking did, and what was read for nothing costs too.
    pub(crate) fn was_in_vain(&self, runs: u64) {
        let in_vain = self.in_vain.fetch_add(1, Ordering::Relaxed) + 1;
        let times = 1 << self.given_up.load(Ordering::Relaxed).min(TIMES_MAX);
        if in_vain < (runs / IDS_READ_MEANWHILE).saturating_mul(times) {
            return;
        }
        let filters = self.filters.read().unwrap_or_else(PoisonError::into_inner);
        if filters.all.is_none() {
            self.wish();
        }
    }

    /// Has the ids read, unless somebody does. Under the lock: who reads them changes the filters.
    fn wish(&self) {
        let _ = self.move_on(NO_WISH, WISH);
    }

    /// Whether the ids are to be read. Whoever is told so has to, and nobody else is told until then.
    pub(crate) fn is_wished(&self) -> bool {
        self.reading.load(Ordering::Relaxed) == WISH && self.move_on(WISH, READING).is_ok()
    }

    fn move_on(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.reading.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
    }

    /// Somebody begins to read all ids, at most so many. Those that are created from now on need not
    /// be found.
    pub(crate) fn begin(&self, ids_max: u64) {
        let mut filters = self.filters.write().unwrap_or_else(PoisonError::into_inner);
        let known = filters.all.as_ref().map_or(ids_max, Filter::ids);
        filters.found = Some(Filter::for_ids(known.min(ids_max)));
    }

    /// An id that is in the store. `false` if there are too many of them to be of use.
    pub(crate) fn found(&self, namespace_id: &str, workflow_id: &str) -> bool {
        let filters = self.filters.read().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = &filters.found else { return false };
        found.add(&Marks::of(namespace_id, workflow_id));
        found.ids() < IDS_MAX
    }

    /// All ids are found.
    pub(crate) fn end(&self) {
        let mut filters = self.filters.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = filters.found.take() {
            filters.all = Some(found.until_twice());
        }
        self.reading.store(NO_WISH, Ordering::Relaxed);
    }

    /// The ids could not be read. That is tried again when it is worth twice as much.
    pub(crate) fn give_up(&self) {
        let mut filters = self.filters.write().unwrap_or_else(PoisonError::into_inner);
        filters.found = None;
        filters.all = filters.all.take().map(Filter::until_twice);
        self.given_up.fetch_add(1, Ordering::Relaxed);
        self.in_vain.store(0, Ordering::Relaxed);
        self.reading.store(NO_WISH, Ordering::Relaxed);
    }
}

/// Ids that leave marks: a few bits each, all of them in one line of memory.
#[derive(Debug)]
struct Filter {
    lines: Box<[Line]>,
    /// How many ids were added: at most so many are in it. When it is full it could not tell a new
    /// one from those that it has, and reading runs again costs as much as it does for new ids.
    ids: AtomicU64,
    /// How many there may be before it should be made anew.
    enough: u64,
}

type Line = [AtomicU64; WORDS];

impl Filter {
    /// For twice as many ids, and then not too small.
    fn for_ids(ids: u64) -> Self {
        let enough = ids.saturating_mul(2).clamp(BYTES_MIN, BYTES_MAX);
        let lines = enough.next_power_of_two() / LINE_BYTES;
        Self {
            lines: (0..lines).map(|_| Line::default()).collect(),
            ids: AtomicU64::new(0),
            enough,
        }
    }

    /// Good until it has twice as many ids as now.
    fn until_twice(mut self) -> Self {
        self.enough = self.enough.max(self.ids().saturating_mul(2));
        self
    }

    fn ids(&self) -> u64 {
        self.ids.load(Ordering::Relaxed)
    }

    fn line(&self, marks: &Marks) -> &Line {
        let lines = self.lines.len();
        &self.lines[usize::try_from(marks.line).unwrap_or_default() & (lines - 1)]
    }

    fn has(&self, marks: &Marks) -> bool {
        let line = self.line(marks);
        marks.places().all(|(word, bit)| line[word].load(Ordering::Relaxed) & bit != 0)
    }

    /// Whether it has more than enough by now.
    fn add(&self, marks: &Marks) -> bool {
        let line = self.line(marks);
        for (word, bit) in marks.places() {
            line[word].fetch_or(bit, Ordering::Relaxed);
        }
        self.ids.fetch_add(1, Ordering::Relaxed) >= self.enough
    }
}

/// Where an id leaves its marks.
struct Marks {
    line: u32,
    bits: u64,
}

impl Marks {
    fn of(namespace_id: &str, workflow_id: &str) -> Self {
        let hash = xxh3_64_with_seed(workflow_id.as_bytes(), xxh3_64(namespace_id.as_bytes()));
        // The bits are of another hash than the line, or they would be few in each line.
        let line = u32::try_from(hash >> 32).unwrap_or_default();
        Self { line, bits: hash.wrapping_mul(MIX) ^ (hash >> 29) }
    }

    /// Six of the places in a line: its word, and a bit of that.
    fn places(&self) -> impl Iterator<Item = (usize, u64)> {
        let bits = self.bits;
        (0..6).map(move |n| {
            let place = bits >> (n * 9);
            (usize::try_from(place & 7).unwrap_or_default(), 1 << (place >> 3 & 63))
        })
    }
}

/// Nobody has to read the ids.
const NO_WISH: u8 = 0;
/// They are to be read, and nobody has begun.
const WISH: u8 = 1;
/// Somebody reads them. A second one would begin anew what the first has found.
const READING: u8 = 2;
/// Words in a line of memory.
const WORDS: usize = 8;
const LINE_BYTES: u64 = 64;
/// A filter is good for as many ids as it has bytes: of those that are new, it takes one in thirty for
/// one that may be there.
const BYTES_MIN: u64 = 1 << 14;
const BYTES_MAX: u64 = 1 << 22;
/// With so many ids in the largest filter, nearly every new one seems to be there.
const IDS_MAX: u64 = 4 * BYTES_MAX;
/// Ids that can be read in a row while one is asked for.
const IDS_READ_MEANWHILE: u64 = 32;
const TIMES_MAX: u32 = 20;
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(known: &KnownIds, ids: std::ops::Range<u64>) {
        ids.for_each(|n| known.add("default", &format!("order-{n}")));
    }

    fn strangers(known: &KnownIds) -> usize {
        (0..10_000).filter(|n| !known.is_new("default", &format!("stranger-{n}"))).count()
    }

    #[test]
    fn an_id_that_is_there_is_never_new_and_few_others_seem_to_be_there() {
        let known = KnownIds::new(true);
        assert!(known.is_new("default", "order-1"));
        fill(&known, 0..BYTES_MIN);
        assert!((0..BYTES_MIN).all(|n| !known.is_new("default", &format!("order-{n}"))));
        let mistaken = strangers(&known);
        assert!(mistaken < 400, "{mistaken} of 10,000");
        assert!(known.is_new("other", "order-1"), "namespaces have ids of their own");
        assert!(!known.is_wished());
    }

    #[test]
    fn nothing_is_new_until_all_ids_were_read() {
        let known = KnownIds::new(false);
        assert!(!known.is_new("default", "order-1"));
        (0..30).for_each(|_| known.was_in_vain(1_000));
        assert!(!known.is_wished(), "reading 1,000 ids costs more than that");
        known.was_in_vain(1_000);
        assert!(known.is_wished() && !known.is_wished(), "one has to read them");
        known.begin(1_000);
        assert!(known.found("default", "order-1"));
        fill(&known, 2..3);
        assert!(!known.is_new("default", "order-3"));
        known.end();
        assert!(known.is_new("default", "order-3"));
        assert!(!known.is_new("default", "order-1") && !known.is_new("default", "order-2"));
    }

    #[test]
    fn when_there_are_too_many_a_larger_one_is_made() {
        let known = KnownIds::new(true);
        fill(&known, 0..3 * BYTES_MIN);
        assert!(known.is_wished() && !known.is_wished());
        let before = strangers(&known);
        known.begin(u64::MAX);
        for n in 0..3 * BYTES_MIN {
            assert!(known.found("default", &format!("order-{n}")));
        }
        known.end();
        assert!(strangers(&known) < before / 4);
        fill(&known, 0..3 * BYTES_MIN);
        assert!(!known.is_wished(), "there are not twice as many");
    }

    #[test]
    fn one_reads_the_ids_at_a_time() {
        let known = KnownIds::new(true);
        fill(&known, 0..2 * BYTES_MIN);
        assert!(known.is_wished());
        fill(&known, 2 * BYTES_MIN..3 * BYTES_MIN);
        assert!(!known.is_wished(), "somebody is about to");
        known.begin(u64::MAX);
        fill(&known, 3 * BYTES_MIN..4 * BYTES_MIN);
        assert!(!known.is_wished(), "somebody does");
        known.end();

        let unknown = KnownIds::new(false);
        unknown.was_in_vain(1);
        assert!(unknown.is_wished());
        unknown.was_in_vain(1);
        assert!(!unknown.is_wished(), "somebody is about to");
    }

    #[test]
    fn ids_that_cannot_be_read_are_tried_again_when_it_is_worth_twice_as_much() {
        let unknown = KnownIds::new(false);
        (0..2).for_each(|_| unknown.was_in_vain(64));
        assert!(unknown.is_wished());
        unknown.begin(64);
        unknown.give_up();
        assert!(!unknown.is_new("default", "order-1"));
        (0..3).for_each(|_| unknown.was_in_vain(64));
        assert!(!unknown.is_wished());
        unknown.was_in_vain(64);
        assert!(unknown.is_wished());

        let known = KnownIds::new(true);
        fill(&known, 0..2 * BYTES_MIN);
        assert!(known.is_wished());
        known.begin(u64::MAX);
        known.give_up();
        fill(&known, 2 * BYTES_MIN..3 * BYTES_MIN);
        assert!(!known.is_wished() && !known.is_new("default", "order-7"));
        fill(&known, 3 * BYTES_MIN..9 * BYTES_MIN);
        assert!(known.is_wished());
    }
}
