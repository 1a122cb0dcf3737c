//! The threads of a lane, as many as its work needs.
//!
//! The first is started when there is work, and connects for it. Another is started when none has time, and
//! connects if there is none a moment later either: most work is done sooner than a connection is made. So
//! a program that hardly reads has one connection for it, or none, and not as many as it may have.

use std::{
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::Error;

/// A piece of work, for which there may be no connection.
pub(super) type Job = Box<dyn FnOnce(Result<&mut Connection, Error>) + Send>;

/// Makes a connection.
pub(super) type Connect = Arc<dyn Fn() -> Result<Connection, Error> + Send + Sync>;

/// What a thread does besides its work, for which nobody waits: it is asked after each piece of work,
/// and again when there has been none for a while. Tells whether anything is left to do then.
pub(super) type Chore = Box<dyn FnMut(&mut Connection, Moment) -> bool + Send>;

/// When a chore is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Moment {
    /// There may be more work: only what has to be.
    Busy,
    /// There was none for so long.
    Idle,
}

/// What threads are sent.
pub(super) enum Message {
    Work(Job),
    /// Let go of the connection, and then say so by dropping the sender.
    Stop(oneshot::Sender<()>),
}

/// The threads, and what they have to do.
pub(super) struct Crew {
    name: String,
    threads_max: usize,
    /// How long work may wait for one of them before there is another.
    patience: Duration,
    /// None if they have what they need.
    connect: Option<Connect>,
    state: Mutex<State>,
    closed: Condvar,
}

struct State {
    /// None when there is to be no more.
    queue: Option<Queue>,
    threads: usize,
    /// Work that is queued or done.
    pieces: usize,
}

type Queue = Arc<Mutex<mpsc::Receiver<Message>>>;

/// A piece of work, until it is done or dropped.
pub(super) struct Piece(Arc<Crew>);

/// The connection of a thread.
struct Seat {
    db: Option<Connection>,
    connect: Option<Connect>,
}

impl Crew {
    /// None yet, and up to so many.
    pub(super) fn new(
        name: &str,
        threads_max: usize,
        patience: Duration,
        connect: Connect,
        queue: mpsc::Receiver<Message>,
    ) -> Self {
        Self { threads_max, patience, connect: Some(connect), ..Self::named(name, queue) }
    }

    /// One, with this connection. It has something else to do, too, at the latest when there was no work
    /// for so long.
    pub(super) fn of_one(
        name: &str,
        db: Connection,
        (idle, chore): (Duration, Chore),
        queue: mpsc::Receiver<Message>,
    ) -> Result<Self, Error> {
        let crew = Self::named(name, queue);
        crew.start(&mut crew.lock(), Some(db), Some((idle, chore)), None)?;
        Ok(crew)
    }

    fn named(name: &str, queue: mpsc::Receiver<Message>) -> Self {
        Self {
            name: name.to_owned(),
            threads_max: 1,
            patience: Duration::ZERO,
            connect: None,
            state: State::new(queue),
            closed: Condvar::new(),
        }
    }

    /// Takes on a piece of work, which is queued next. An error if nobody will ever do it.
    pub(super) fn take_on(self: &Arc<Self>) -> Result<Piece, Error> {
        let mut state = self.lock();
        if state.queue.is_none() {
            return Err(Error::Closed);
        }
        self.grow(&mut state)?;
        state.pieces += 1;
        drop(state);
        Ok(Piece(Arc::clone(self)))
    }

    /// Lets nobody in any more, and tells how many there are.
    pub(super) fn close(&self) -> usize {
        let mut state = self.lock();
        state.queue = None;
        self.closed.notify_all();
        state.threads
    }

    /// Whether nobody is let in any more.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().queue.is_none()
    }

    /// Starts one more if none has time: the first for good, another if it is needed in a moment.
    fn grow(self: &Arc<Self>, state: &mut State) -> Result<(), Error> {
        if state.pieces < state.threads || state.threads == self.threads_max {
            return Ok(());
        }
        if state.threads == 0 {
            return self.start(state, None, None, None);
        }
        // If it cannot be, those that there are do the work later.
        if let Err(error) = self.start(state, None, None, Some(Arc::clone(self))) {
            tracing::warn!(%error, "a thread is missing");
        }
        Ok(())
    }

    fn start(
        &self,
        state: &mut State,
        db: Option<Connection>,
        chore: Option<(Duration, Chore)>,
        others: Option<Arc<Self>>,
    ) -> Result<(), Error> {
        let queue = state.queue.clone().ok_or(Error::Closed)?;
        let seat = Seat { db, connect: self.connect.clone() };
        thread::Builder::new()
            .name(format!("{}-{}", self.name, state.threads))
            .spawn(move || {
                if others.is_none_or(|crew| crew.is_one_more_needed()) {
                    work(&queue, seat, chore);
                }
            })
            .map_err(|error| no_thread(&error))?;
        state.threads += 1;
        Ok(())
    }

    /// Whether work still waits in a moment. If not, the thread that asks is no longer counted. One that
    /// was told to stop meanwhile has to hear it.
    fn is_one_more_needed(&self) -> bool {
        let waiting = self
            .closed
            .wait_timeout_while(self.lock(), self.patience, |state| state.queue.is_some());
        let (mut state, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        let is_needed = state.queue.is_none() || state.pieces >= state.threads;
        state.threads -= usize::from(!is_needed);
        is_needed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new(queue: mpsc::Receiver<Message>) -> Mutex<Self> {
        Mutex::new(Self { queue: Some(Arc::new(Mutex::new(queue))), threads: 0, pieces: 0 })
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.0.lock().pieces -= 1;
    }
}

impl Seat {
    fn db(&mut self) -> Result<&mut Connection, Error> {
        if let (None, Some(connect)) = (&self.db, &self.connect) {
            self.db = Some(connect()?);
        }
        self.db.as_mut().ok_or(Error::Closed)
    }
}

/// The error for a thread that the system did not give us.
pub(super) fn no_thread(error: &io::Error) -> Error {
    Error::Io(format!("no thread could be started: {error}"))
}

fn work(
    queue: &Mutex<mpsc::Receiver<Message>>,
    mut seat: Seat,
    mut chore: Option<(Duration, Chore)>,
) {
    let mut is_left = false;
    loop {
        let idle = chore.as_ref().filter(|_| is_left).map(|(idle, _)| *idle);
        let moment = match next(queue, idle) {
            // A panic is a bug in one job. Its transaction was rolled back on the way out and its
            // caller gets an error; the thread goes on for the others.
            Ok(Message::Work(job)) => {
                _ = catch_unwind(AssertUnwindSafe(|| job(seat.db())));
                Moment::Busy
            }
            Ok(Message::Stop(stopped)) => {
                drop(seat);
                drop(stopped);
                return;
            }
            Err(RecvTimeoutError::Timeout) => Moment::Idle,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some((_, chore)) = &mut chore
            && let Ok(db) = seat.db()
        {
            is_left = catch_unwind(AssertUnwindSafe(|| chore(db, moment))).unwrap_or_default();
        }
    }
}

fn next(
    queue: &Mutex<mpsc::Receiver<Message>>,
    longest: Option<Duration>,
) -> Result<Message, RecvTimeoutError> {
    let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    match longest {
        Some(longest) => queue.recv_timeout(longest),
        None => queue.recv().map_err(|mpsc::RecvError| RecvTimeoutError::Disconnected),
    }
}
