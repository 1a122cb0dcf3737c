//! What the disk of the simulated machine is made of: memory, or a file as in production.
//!
//! Whichever it is, it answers at once in virtual time: the only thread of a simulation waits for the
//! threads that write the file, so that nothing else happens meanwhile and each run of a seed is the
//! same.

use std::{
    future::Future as _,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use steadfast_store::{
    Answer, Aside, Error, Memory, Sqlite, Store,
    sqlite::{Check, Options, Synchronous},
};
use tempfile::TempDir;

/// What the disk is made of.
#[derive(Debug)]
pub(crate) enum Medium {
    /// Memory.
    Memory(Arc<Memory>),
    /// A file, which goes when this does.
    File(Arc<Sqlite>, #[expect(dead_code, reason = "it is held, not read")] TempDir),
}

impl Medium {
    /// A new disk in memory.
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::new(Memory::new()))
    }

    /// A new disk in a file, with a table for what own workers write.
    pub(crate) fn file() -> Self {
        let dir = TempDir::new().expect("a directory for the file of a simulation");
        // The plug of this machine is not pulled: a simulated crash leaves the file alone.
        let options =
            Options { synchronous: Synchronous::Off, check: Check::Never, ..Options::embedded() };
        let file = Sqlite::open(dir.path().join("simulated.db"), &options).expect("a new file");
        let table = Aside::new(|db| Ok(db.execute_batch("CREATE TABLE effects (result TEXT)")?));
        wait_for(file.run_aside(table)).expect("a table in a new file");
        Self::File(Arc::new(file), dir)
    }

    /// The store on it.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(memory) => Arc::<Memory>::clone(memory),
            Self::File(file, _) => Arc::<Sqlite>::clone(file),
        }
    }

    /// Whether an activity can write something together with its result.
    pub(crate) fn takes_asides(&self) -> bool {
        matches!(self, Self::File(..))
    }

    /// Everything that activities wrote together with their results.
    pub(crate) fn effects(&self) -> Vec<String> {
        let Self::File(file, _) = self else { return Vec::new() };
        let found = Arc::<Mutex<Vec<String>>>::default();
        let found_by_aside = Arc::clone(&found);
        let read = Aside::new(move |db| {
            let mut rows = db.prepare("SELECT result FROM effects ORDER BY rowid")?;
            let all = rows.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?;
            *found_by_aside.lock().unwrap_or_else(PoisonError::into_inner) = all;
            Ok(())
        });
        wait_for(file.run_aside(read)).expect("a table that can be read");
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *found)
    }
}

/// What an activity writes together with its result; a bad one then says that it could not.
pub(crate) fn effect(result: &str, is_bad: bool) -> Aside {
    let result = result.to_owned();
    Aside::new(move |db| {
        db.execute("INSERT INTO effects (result) VALUES (?1)", [&result])?;
        if is_bad { Err("planned".into()) } else { Ok(()) }
    })
}

/// The answer, for which this thread waits.
pub(crate) fn wait_for<T>(answer: Answer<'_, T>) -> Result<T, Error> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    // The runtime would have a task that did a lot wait for its next turn, which never comes here.
    let mut answer = pin!(tokio::task::unconstrained(answer));
    loop {
        if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
            return answer;
        }
        thread::park();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
