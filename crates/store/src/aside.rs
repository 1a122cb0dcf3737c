//! An aside: what a caller writes into tables of its own, in the transaction that writes a run.
//!
//! ```text
//!   BEGIN ─▶ run 1 ─▶ SAVEPOINT ─▶ aside of run 2 ─▶ run 2 ─▶ RELEASE ─▶ run 3 ─▶ COMMIT
//!                         └── it fails: ROLLBACK TO, run 2 is left out, the others are in
//! ```
//!
//! The store runs it and knows nothing more of it; the engine carries it and knows even less.

use std::{
    error, fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

use rusqlite::Connection;

/// Why an aside gave up, in its author's words.
pub type Failure = Box<dyn error::Error + Send + Sync>;

/// Something to write together with a run: both become durable, or neither.
///
/// It may be run more than once, as when the disk was full and the commit is tried again; of all but
/// the last time nothing is left. So it must do the same each time, and nothing outside of the
/// database. It may create tables, read and write them, but not write Steadfast's own, nor begin or
/// end transactions, nor change how the database works. It holds up everybody else's writing: it
/// should be short. The names of Steadfast's tables (`runs`, `events`, `items`, `attempts` and some
/// more) are taken.
///
/// ```
/// # use steadfast_store::Aside;
/// let paid = Aside::new(|db| {
///     db.execute("INSERT INTO payments (order_id, cents) VALUES (?1, ?2)", ("order-7", 4_200))?;
///     Ok(())
/// });
/// assert_eq!(paid.failure(), None);
/// ```
pub struct Aside {
    work: Work,
    failure: Mutex<Option<String>>,
}

type Work = Box<dyn Fn(&Connection) -> Result<(), Failure> + Send + Sync>;

impl Aside {
    /// What `work` writes.
    pub fn new(work: impl Fn(&Connection) -> Result<(), Failure> + Send + Sync + 'static) -> Self {
        Self { work: Box::new(work), failure: Mutex::default() }
    }

    /// Why nothing was written; `None` if it was, or has not been tried.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it was tried and has failed.
    pub fn has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Nothing of it is written, and this is why. For stores, and for those that give up on one.
    pub fn refuse(&self, reason: impl Into<String>) {
        self.set(Some(reason.into()));
    }

    /// Runs it. For stores, within a transaction that is rolled back if it fails.
    pub fn run(&self, db: &Connection) -> Result<(), Failure> {
        self.set(None);
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(db)));
        done.unwrap_or_else(|panic| Err(panicked(&*panic).into()))
    }

    fn set(&self, failure: Option<String>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }
}

impl fmt::Debug for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aside").field("failure", &self.failure()).finish_non_exhaustive()
    }
}

/// Two are the same only if they are one: what they do cannot be compared.
impl PartialEq for Aside {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Aside {}

fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("for no reason that can be told"))
}
