//! The code of a run, polled in a fixed order until nothing moves.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use super::{
    journal::{Ending, Journal},
    rest::Rest,
};
use crate::call::Called;

/// Code beside the main one.
pub(crate) struct Spawned(pub(crate) Pin<Box<dyn Future<Output = ()> + Send>>);

/// All code of a run: the main one and what it began beside.
pub(crate) struct Tasks {
    main: Option<(Called, Arc<Flag>)>,
    beside: BTreeMap<u64, (Spawned, Arc<Flag>)>,
    next: u64,
    ending: Option<Ending>,
    rest: Arc<Rest>,
}

/// The code panicked, with these words.
#[derive(Debug)]
pub(crate) struct Panicked(pub(crate) String);

/// Whether a task has something to do.
#[derive(Debug)]
struct Flag {
    is_raised: AtomicBool,
    rest: Arc<Rest>,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.is_raised.store(true, Ordering::Relaxed);
        self.rest.woken();
    }
}

impl Flag {
    fn raised(rest: &Arc<Rest>) -> Arc<Self> {
        Arc::new(Self { is_raised: AtomicBool::new(true), rest: Arc::clone(rest) })
    }

    fn take(&self) -> bool {
        self.is_raised.swap(false, Ordering::Relaxed)
    }
}

impl Tasks {
    /// The main code of a run.
    pub(crate) fn new(main: Called, journal: &Arc<Journal>) -> Self {
        let rest = Arc::new(Rest::of(Arc::downgrade(journal)));
        let main = Some((main, Flag::raised(&rest)));
        Self { main, beside: BTreeMap::new(), next: 0, ending: None, rest }
    }

    /// All that there was to do is done: whoever wakes the code now is nobody of whom it may wait for.
    pub(crate) fn rest(&self) {
        self.rest.begin();
    }

    /// There is something to do again. Says whether the code was left in peace meanwhile.
    pub(crate) fn stir(&self) -> bool {
        !self.rest.end()
    }

    /// How the main code ended, if it has.
    pub(crate) fn take_ending(&mut self) -> Option<Ending> {
        self.ending.take()
    }

    /// Whether the main code has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ending.is_some()
    }

    /// Puts away what was begun last beside the main code.
    pub(crate) fn drop_newest(&mut self) {
        self.beside.pop_last();
    }

    /// Polls whoever was woken, in order, until nobody is and no condition holds that somebody waits
    /// for.
    pub(crate) fn run(&mut self, journal: &Journal) -> Result<(), Panicked> {
        let mut moved = self.poll_woken(journal)?;
        while moved {
            // Something has happened, so a condition may hold now.
            let watchers = std::mem::take(&mut journal.state().watchers);
            watchers.into_iter().for_each(Waker::wake);
            self.poll_woken(journal)?;
            moved = std::mem::take(&mut journal.state().condition_held);
        }
        Ok(())
    }

    /// Polls whoever was woken until nobody is. Says whether anybody was.
    fn poll_woken(&mut self, journal: &Journal) -> Result<bool, Panicked> {
        let mut any = false;
        loop {
            self.adopt(journal);
            let mut moved = self.poll_main()?;
            moved |= self.poll_beside()?;
            if !moved {
                return Ok(any);
            }
            any = true;
        }
    }

    fn adopt(&mut self, journal: &Journal) {
        for spawned in std::mem::take(&mut journal.state().spawned) {
            self.beside.insert(self.next, (spawned, Flag::raised(&self.rest)));
            self.next += 1;
        }
    }

    fn poll_main(&mut self) -> Result<bool, Panicked> {
        let Some((main, flag)) = &mut self.main else { return Ok(false) };
        if !flag.take() {
            return Ok(false);
        }
        let waker = Waker::from(Arc::clone(flag));
        let polled = poll(main.as_mut(), &waker)?;
        if let Poll::Ready(result) = polled {
            self.main = None;
            self.ending = Some(match result {
                Ok(result) => Ending::Completed(result),
                Err(failure) => Ending::Failed(failure),
            });
        }
        Ok(true)
    }

    fn poll_beside(&mut self) -> Result<bool, Panicked> {
        let woken: Vec<u64> =
            self.beside.iter().filter(|(_, (_, flag))| flag.take()).map(|(id, _)| *id).collect();
        for id in &woken {
            let Some((spawned, flag)) = self.beside.get_mut(id) else { continue };
            let waker = Waker::from(Arc::clone(flag));
            if poll(spawned.0.as_mut(), &waker)?.is_ready() {
                self.beside.remove(id);
            }
        }
        Ok(!woken.is_empty())
    }
}

fn poll<T>(
    future: Pin<&mut (dyn Future<Output = T> + Send)>,
    waker: &Waker,
) -> Result<Poll<T>, Panicked> {
    let mut cx = Context::from_waker(waker);
    // The run is put away after a panic, so nothing half done is seen again.
    catch_unwind(AssertUnwindSafe(|| future.poll(&mut cx)))
        .map_err(|panic| Panicked(words(panic.as_ref())))
}

/// What a panic said.
pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("beside", &self.beside.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Spawned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spawned")
    }
}
