//! Threads that own connections, and the queue of work before them.
//!
//! The database blocks; the callers must not. So a call becomes a job in a queue, and its answer
//! comes back through a channel that can be awaited. A job is queued when the call is made, not
//! when its answer is first awaited, and it is done even if nobody waits for it any more.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::fault::Fault;
use crate::{error::Error, store::Answer};

/// A queue of work and the threads that do it, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    sender: mpsc::Sender<Message>,
    threads: usize,
    stopping: Arc<AtomicBool>,
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

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

enum Message {
    Work(Job),
    /// Let go of the connection, and then say so by dropping the sender.
    Stop(oneshot::Sender<()>),
}

impl Lane {
    /// Starts one thread for each connection.
    pub(super) fn start(name: &str, connections: Vec<Connection>) -> Result<Self, Error> {
        Self::begin(name, connections.into_iter().map(|db| (db, None)).collect())
    }

    /// Starts a thread that has something else to do, too, at the latest when there was no work for so
    /// long.
    pub(super) fn start_with(
        name: &str,
        connection: Connection,
        idle: Duration,
        chore: Chore,
    ) -> Result<Self, Error> {
        Self::begin(name, vec![(connection, Some((idle, chore)))])
    }

    fn begin(
        name: &str,
        connections: Vec<(Connection, Option<(Duration, Chore)>)>,
    ) -> Result<Self, Error> {
        let (sender, receiver) = mpsc::channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let threads = connections.len();
        for (index, (connection, chore)) in connections.into_iter().enumerate() {
            let receiver = Arc::clone(&receiver);
            thread::Builder::new()
                .name(format!("{name}-{index}"))
                .spawn(move || work(&receiver, connection, chore))
                .map_err(|error| no_thread(&error))?;
        }
        Ok(Self { sender, threads, stopping: Arc::default() })
    }

    /// Queues a piece of work.
    pub(super) fn call<'a, T, F>(&self, job: F) -> Answer<'a, T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let work = move |db: &mut Connection| {
            let result = job(db).map_err(|fault| fault.into_error(&path_of(db)));
            // Nobody may be waiting any more; the work is done all the same.
            _ = answer.send(result);
        };
        let sent = self.sender.send(Message::Work(Box::new(work)));
        let stopping = Arc::clone(&self.stopping);
        Box::pin(async move {
            sent.map_err(|_| Error::Closed)?;
            match answered.await {
                Ok(result) => result,
                Err(_) if stopping.load(Ordering::SeqCst) => Err(Error::Closed),
                Err(_) => Err(Error::Io("the work was lost in a panic".to_owned())),
            }
        })
    }

    /// Waits until everything that is queued is done and the connections are closed.
    pub(super) fn stop<'a>(&self) -> Answer<'a, ()> {
        self.stopping.store(true, Ordering::SeqCst);
        let stopped: Vec<_> = (0..self.threads)
            .filter_map(|_| {
                let (sender, receiver) = oneshot::channel();
                self.sender.send(Message::Stop(sender)).ok().map(|()| receiver)
            })
            .collect();
        Box::pin(async move {
            for receiver in stopped {
                // An error is what we wait for: the thread has dropped the sender.
                _ = receiver.await;
            }
            Ok(())
        })
    }
}

/// The error for a thread that the system did not give us.
pub(super) fn no_thread(error: &io::Error) -> Error {
    Error::Io(format!("no thread could be started: {error}"))
}

fn work(
    receiver: &Mutex<mpsc::Receiver<Message>>,
    mut db: Connection,
    mut chore: Option<(Duration, Chore)>,
) {
    let mut is_left = false;
    loop {
        let idle = chore.as_ref().filter(|_| is_left).map(|(idle, _)| *idle);
        let moment = match next(receiver, idle) {
            // A panic is a bug in one job. Its transaction was rolled back on the way out and its
            // caller gets an error; the thread goes on for the others.
            Ok(Message::Work(job)) => {
                _ = catch_unwind(AssertUnwindSafe(|| job(&mut db)));
                Moment::Busy
            }
            Ok(Message::Stop(stopped)) => {
                drop(db);
                drop(stopped);
                return;
            }
            Err(RecvTimeoutError::Timeout) => Moment::Idle,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some((_, chore)) = &mut chore {
            is_left = catch_unwind(AssertUnwindSafe(|| chore(&mut db, moment))).unwrap_or_default();
        }
    }
}

fn next(
    receiver: &Mutex<mpsc::Receiver<Message>>,
    longest: Option<Duration>,
) -> Result<Message, RecvTimeoutError> {
    let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
    match longest {
        Some(longest) => receiver.recv_timeout(longest),
        None => receiver.recv().map_err(|mpsc::RecvError| RecvTimeoutError::Disconnected),
    }
}

fn path_of(db: &Connection) -> PathBuf {
    PathBuf::from(db.path().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        panic::resume_unwind,
        pin::pin,
        task::{Context, Poll, Waker},
        thread,
    };

    use rusqlite::Connection;

    use super::Lane;
    use crate::{error::Error, store::Answer};

    #[test]
    fn a_panic_in_one_job_is_an_error_for_its_caller_alone() {
        let lane = lane();
        // Like a panic, but without its message in the output of the tests.
        let lost = wait(lane.call(|_| -> Result<(), _> { resume_unwind(Box::new("a bug")) }));
        assert!(matches!(lost, Err(Error::Io(_))), "{lost:?}");
        assert!(matches!(wait(lane.call(|_| Ok(7))), Ok(7)));
    }

    #[test]
    fn work_is_done_even_if_nobody_waits_for_it() {
        let lane = lane();
        drop(lane.call(|db| Ok(db.execute_batch("CREATE TABLE t (x)")?)));
        let found = wait(lane.call(|db| Ok(db.execute("INSERT INTO t VALUES (1)", ())?)));
        assert!(matches!(found, Ok(1)), "{found:?}");
    }

    #[test]
    fn a_stopped_lane_answers_closed() {
        let lane = lane();
        assert!(wait(lane.stop()).is_ok());
        assert!(matches!(wait(lane.call(|_| Ok(()))), Err(Error::Closed)));
    }

    fn lane() -> Lane {
        let connection = Connection::open_in_memory().expect("a database");
        Lane::start("test", vec![connection]).expect("a thread")
    }

    fn wait<T>(answer: Answer<'_, T>) -> Result<T, Error> {
        let mut answer = pin!(answer);
        loop {
            match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(result) => return result,
                Poll::Pending => thread::yield_now(),
            }
        }
    }
}
