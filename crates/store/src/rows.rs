//! The rows: what one commit writes, and what the reads give back.

use std::{collections::BTreeMap, mem, sync::Arc, time::Duration};

use steadfast_retry::Timestamp;

use crate::{aside::Aside, error_rows::ErrorWrite, filter::Value};

/// A run's number in this store: small, growing, never reused. Ids for people are in
/// [`RunIdentity`].
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RunNumber(pub i64);

/// A part of the work that has one owner. A workflow id belongs to one shard for ever.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ShardNumber(pub u32);

/// How often a shard has changed hands. A commit with an old epoch is refused.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Epoch(pub u64);

/// What an owner is given with its shards.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lease {
    /// How many shards there are: as many as were asked for when the store was new.
    pub shards: u32,
    /// The epoch that its commits must name.
    pub epoch: Epoch,
    /// The first run number that nobody has used yet.
    pub next_run: RunNumber,
    /// The sequence number of the last commit that is durable; the next one is one higher.
    pub last_commit: u64,
}

/// Everything that becomes durable together.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Batch {
    /// One more than the commit before it. After a failure whose outcome is unknown,
    /// [`Store::last_commit`](crate::Store::last_commit) tells whether this batch is in.
    pub sequence: u64,
    /// The shards written to and the epoch under which they are owned.
    pub leases: BTreeMap<ShardNumber, Epoch>,
    /// At most one entry a run: see [`RunWrite::merge_all`].
    pub writes: Vec<RunWrite>,
}

/// What one commit changes of one run. What few of them have is boxed: they are moved a lot.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunWrite {
    /// Which run.
    pub run: RunNumber,
    /// The shard that owns it.
    pub shard: ShardNumber,
    /// Set when this write creates the run, which takes a state too.
    pub create: Option<Box<RunIdentity>>,
    /// The new state, if it changed.
    pub state: Option<StateRow>,
    /// What wakes the run before this: a hint, which saves looking. Without it, or with a wrong
    /// one, the right thing happens too.
    pub woken_by: Option<Waking>,
    /// Pending things written or deleted, at most one entry a key.
    pub items: Vec<ItemWrite>,
    /// Events to append, oldest first. They follow those that are there.
    pub events: Vec<EventBatch>,
    /// The row that lists and counts are made from, if it changed.
    pub visibility: Option<Box<VisibilityRow>>,
    /// Attempts that ended. One with a number that is there already replaces it.
    pub attempts: Vec<AttemptRow>,
    /// Errors written or settled, at most one entry a subject.
    pub errors: Vec<ErrorWrite>,
    /// The run goes away, with everything that belongs to it. Nothing else is written then.
    pub delete: bool,
    /// What is written with it into tables that are not ours. If that fails, nothing of this run is
    /// written, and the rest of the batch is.
    pub aside: Option<Arc<Aside>>,
}

/// The names of a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunIdentity {
    /// The namespace's id, not its name; or a space beside it, for what is no run but is kept like
    /// one.
    pub namespace: String,
    /// The id that the user gave.
    pub workflow_id: String,
    /// The id of this run of it.
    pub run_id: String,
}

/// The part of a run that is rewritten with each step.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StateRow {
    /// Encoded by [`codec`](crate::codec).
    pub data: Vec<u8>,
    /// When the run must be looked at again even if nothing happens to it.
    pub next_due: Option<Timestamp>,
    /// Whether the run has something to hand out (a task, a message to another run), so that it
    /// must be loaded when its shard is taken over.
    pub has_work: bool,
}

impl StateRow {
    /// What wakes the run.
    pub fn waking(&self) -> Waking {
        Waking { due: self.next_due, has_work: self.has_work }
    }
}

/// What wakes a run that nobody asks for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Waking {
    /// When it is looked at even if nothing happens to it.
    pub due: Option<Timestamp>,
    /// Whether it is loaded when its shard is taken over.
    pub has_work: bool,
}

/// What a pending thing is. The numbers are stored: never reuse one.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum ItemKind {
    /// A pending activity, by its scheduled event id.
    Activity = 1,
    /// A pending timer, by its id.
    Timer = 2,
    /// A pending child, by its initiated event id.
    Child = 3,
    /// A signal or cancel request to another run, by its initiated event id.
    External = 4,
    /// An update, by its id.
    Update = 5,
    /// A request that was applied, by its request id.
    Request = 6,
    /// An event that waits for the workflow task to end, by its place in the queue.
    Buffered = 7,
    /// A message to another run that is not yet acknowledged, by its number.
    Message = 8,
    /// What is left of a dead-lettered activity, by its scheduled event id.
    DeadLetter = 9,
}

/// One pending thing of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Its name among its kind. Numbers are written big-endian, so that they sort.
    pub key: Vec<u8>,
    /// Encoded by [`codec`](crate::codec).
    pub data: Vec<u8>,
}

/// One pending thing written, or deleted (`data` is `None`).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ItemWrite {
    /// What it is.
    pub kind: ItemKind,
    /// Its name among its kind.
    pub key: Vec<u8>,
    /// The new content; `None` deletes, and deleting what is not there is fine.
    pub data: Option<Vec<u8>>,
}

impl ItemWrite {
    /// Which of the run's items it is about.
    fn place(&self) -> (u8, &[u8]) {
        (self.kind.number(), &self.key)
    }
}

/// Consecutive events of one run, encoded together.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EventBatch {
    /// Id of the first event in it.
    pub first: i64,
    /// Id of the last event in it.
    pub last: i64,
    /// Encoded by [`codec`](crate::codec).
    pub data: Vec<u8>,
}

impl EventBatch {
    /// Whether another one follows it, and both together are not too large for a row.
    fn has_room_for(&self, next: &Self) -> bool {
        self.last + 1 == next.first
            && self.data.first() == next.data.first()
            && self.data.len() + next.data.len() <= BATCH_BYTES_MAX
    }

    /// Takes in the events that follow: behind the byte that tells the format, lists of messages are
    /// one behind the other.
    fn append(&mut self, next: &Self) {
        self.last = next.last;
        self.data.extend_from_slice(next.data.get(1..).unwrap_or_default());
    }
}

/// A row is read whole, also for one event of it.
const BATCH_BYTES_MAX: usize = 16 * 1024;

/// How to name the run to load.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Lookup {
    /// By its number.
    Number(RunNumber),
    /// The newest run of a workflow id.
    Current {
        /// The namespace's id.
        namespace: String,
        /// The id that the user gave.
        workflow_id: String,
    },
    /// One run of a workflow id.
    Run(RunIdentity),
}

/// All of a run but its history.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunRows {
    /// Its number.
    pub run: RunNumber,
    /// The shard that owns it.
    pub shard: ShardNumber,
    /// Its names.
    pub identity: RunIdentity,
    /// Its state.
    pub state: StateRow,
    /// Its pending things, ordered by kind and key.
    pub items: Vec<Item>,
}

/// The status of a run that is running: neither closed nor paused.
pub(crate) const RUNNING: i32 = 1;

/// The row that lists and counts are made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VisibilityRow {
    /// The run's names, as it was created with.
    pub identity: RunIdentity,
    /// The workflow's type.
    pub workflow_type: String,
    /// The task queue it was started on.
    pub task_queue: String,
    /// The public `WorkflowExecutionStatus` number.
    pub status: i32,
    /// When it was created.
    pub start_time: Timestamp,
    /// When its first task was due.
    pub execution_time: Timestamp,
    /// When it closed.
    pub close_time: Option<Timestamp>,
    /// Number of events; known once it closed.
    pub history_length: i64,
    /// Bytes of history; known once it closed.
    pub history_size: i64,
    /// Steps taken; known once it closed.
    pub state_transitions: i64,
    /// Parent's workflow id and run id.
    pub parent: Option<(String, String)>,
    /// Root's workflow id and run id; the run itself if it has no parent.
    pub root: Option<(String, String)>,
    /// The public `Memo` message, encoded.
    pub memo: Vec<u8>,
    /// The public `SearchAttributes` message, encoded, as it is given back.
    pub search_attributes: Vec<u8>,
    /// The same attributes as values to search by. A list has several entries with one name. They
    /// are given back in the order of their names; a number that is not one (NaN) is left out.
    pub search_values: Vec<(String, Value)>,
}

impl Eq for VisibilityRow {}

/// A place in the order of a listing: open runs first, then newest close, then newest start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct VisibilityPosition {
    /// Close time; `None` while open.
    pub close_time: Option<Timestamp>,
    /// Start time.
    pub start_time: Timestamp,
    /// The run's number.
    pub run: RunNumber,
}

/// One page of a listing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Listing {
    /// The rows, in order.
    pub rows: Vec<(RunNumber, VisibilityRow)>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<VisibilityPosition>,
}

/// One group of a count.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The value that its runs share; `None` when the count was not grouped or they have none.
    pub value: Option<Value>,
    /// How many.
    pub count: u64,
}

/// How an attempt ended. The numbers are stored: never reuse one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(u8)]
pub enum AttemptOutcome {
    /// It failed.
    #[default]
    Failed = 1,
    /// It ran out of time.
    TimedOut = 2,
    /// It succeeded.
    Completed = 3,
    /// It was cancelled.
    Cancelled = 4,
}

/// One attempt of an activity (or of a run, as `activity` 0, or of a workflow task, as -1).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AttemptRow {
    /// The activity's scheduled event id.
    pub activity: i64,
    /// The activity's id.
    pub activity_id: String,
    /// The activity's type.
    pub activity_type: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Who ran it.
    pub worker: String,
    /// When it became due.
    pub scheduled_at: Timestamp,
    /// When a worker took it, if one did.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// The error's type, if it failed.
    pub error_type: String,
    /// The error's message, if it failed.
    pub message: String,
    /// Equal for errors that differ only in numbers, ids and quoted text.
    pub fingerprint: u64,
    /// Why it is retried, or why not.
    pub why: String,
    /// When the next attempt is due, if there is one.
    pub next_at: Option<Timestamp>,
    /// The rule that decided, as it was written; empty if none did.
    pub rule: String,
    /// Whose rule it was.
    pub layer: String,
    /// The policy that the rule is from.
    pub policy: String,
    /// Where the delay comes from.
    pub source: String,
    /// How long to wait, as it was decided.
    pub delay: Option<Duration>,
    /// What kind of failure it was.
    pub class: String,
    /// Whether it was parked after this attempt.
    pub parked: bool,
}

/// The attempts of one activity: the first five, the last fifty, and how often each error came in
/// between.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AttemptLog {
    /// The rows that were kept, by attempt.
    pub rows: Vec<AttemptRow>,
    /// For those that were not: how many had which fingerprint.
    pub dropped: BTreeMap<u64, u64>,
}

/// An activity that was tried again.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Retried {
    /// The run that it belongs to.
    pub run: RunNumber,
    /// The run's names.
    pub identity: RunIdentity,
    /// The newest of its attempts that have ended. Its number is how many there were.
    pub last: AttemptRow,
}

/// A namespace.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NamespaceRow {
    /// Its id, a UUID.
    pub id: String,
    /// Its name, unique among those not deleted.
    pub name: String,
    /// Encoded by [`codec`](crate::codec).
    pub data: Vec<u8>,
}

impl ItemKind {
    /// The number that is stored.
    pub const fn number(self) -> u8 {
        match self {
            Self::Activity => 1,
            Self::Timer => 2,
            Self::Child => 3,
            Self::External => 4,
            Self::Update => 5,
            Self::Request => 6,
            Self::Buffered => 7,
            Self::Message => 8,
            Self::DeadLetter => 9,
        }
    }

    /// The kind that is stored as `number`.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::Activity),
            2 => Some(Self::Timer),
            3 => Some(Self::Child),
            4 => Some(Self::External),
            5 => Some(Self::Update),
            6 => Some(Self::Request),
            7 => Some(Self::Buffered),
            8 => Some(Self::Message),
            9 => Some(Self::DeadLetter),
            _ => None,
        }
    }
}

impl AttemptOutcome {
    /// The number that is stored.
    pub const fn number(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::TimedOut => 2,
            Self::Completed => 3,
            Self::Cancelled => 4,
        }
    }

    /// The outcome that is stored as `number`.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::Failed),
            2 => Some(Self::TimedOut),
            3 => Some(Self::Completed),
            4 => Some(Self::Cancelled),
            _ => None,
        }
    }
}

impl RunWrite {
    /// Folds later writes of the same run into this one, in their order. Many at once cost less
    /// than one by one.
    pub fn merge_all(&mut self, later: impl IntoIterator<Item = Self>) {
        for write in later {
            assert_eq!(self.run, write.run, "only writes of one run fold together");
            self.create = self.create.take().or(write.create);
            self.state = write.state.or_else(|| self.state.take());
            self.woken_by = self.woken_by.or(write.woken_by);
            self.visibility = write.visibility.or_else(|| self.visibility.take());
            self.merge_events(write.events);
            self.attempts.extend(write.attempts);
            self.merge_errors(write.errors);
            self.delete |= write.delete;
            self.aside = self.aside.take().or(write.aside);
            self.items.extend(write.items);
        }
        self.fold_items();
    }

    /// Bytes of the pending things and events in it.
    pub fn new_bytes(&self) -> usize {
        let items = self.items.iter().filter_map(|item| item.data.as_ref()).map(Vec::len);
        items.chain(self.events.iter().map(|batch| batch.data.len())).sum()
    }

    /// Bytes of all that may be large in it.
    pub fn bytes(&self) -> usize {
        let state = self.state.as_ref().map_or(0, |state| state.data.len());
        let visible = self.visibility.as_ref();
        let visible = visible.map_or(0, |row| row.memo.len() + row.search_attributes.len());
        self.new_bytes() + state + visible
    }

    /// Leaves the last word about each item.
    fn fold_items(&mut self) {
        // Those of one key stay in their order.
        self.items.sort_by(|one, other| one.place().cmp(&other.place()));
        self.items.dedup_by(|later, kept| {
            let is_same = later.place() == kept.place();
            if is_same {
                mem::swap(later, kept);
            }
            is_same
        });
    }

    /// Events that follow one another go together: each batch is a row.
    fn merge_events(&mut self, later: Vec<EventBatch>) {
        for batch in later {
            match self.events.last_mut() {
                Some(last) if last.has_room_for(&batch) => last.append(&batch),
                Some(_) | None => self.events.push(batch),
            }
        }
    }

    /// Few things of one run fail together, so they are looked for one by one.
    fn merge_errors(&mut self, later: Vec<ErrorWrite>) {
        for error in later {
            match self.errors.iter_mut().find(|known| known.subject == error.subject) {
                Some(known) => *known = error,
                None => self.errors.push(error),
            }
        }
    }
}
