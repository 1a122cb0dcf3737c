//! A queue of work before the threads that own connections.
//!
//! The database blocks; the callers must not. So a call becomes a job in a queue, and its answer
//! comes back through a channel that can be awaited. A job is queued when the call is made, not
//! when its answer is first awaited, and it is done even if nobody waits for it any more.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    crew::{Chore, Connect, Crew, Message},
    fault::Fault,
};
use crate::{error::Error, store::Answer};

/// How long work may wait for a connection before there is one more: several times what it takes to make
/// one, and what most work is done in.
const PATIENCE: Duration = Duration::from_millis(5);

/// A queue of work and the threads that do it, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    sender: mpsc::Sender<Message>,
    crew: Arc<Crew>,
}

impl Lane {
    /// Up to so many threads, each of which makes its connection when it is needed.
    pub(super) fn new(name: &str, threads_max: usize, connect: Connect) -> Self {
        Self::patient(name, threads_max, PATIENCE, connect)
    }

    fn patient(name: &str, threads_max: usize, patience: Duration, connect: Connect) -> Self {
        let (sender, queue) = mpsc::channel();
        Self::with(sender, Crew::new(name, threads_max, patience, connect, queue))
    }

    /// Starts one thread that has something else to do, too, at the latest when there was no work for so
    /// long.
    pub(super) fn start_with(
        name: &str,
        connection: Connection,
        idle: Duration,
        chore: Chore,
    ) -> Result<Self, Error> {
        let (sender, queue) = mpsc::channel();
        Ok(Self::with(sender, Crew::of_one(name, connection, (idle, chore), queue)?))
    }

    fn with(sender: mpsc::Sender<Message>, crew: Crew) -> Self {
        Self { sender, crew: Arc::new(crew) }
    }

    /// Queues a piece of work.
    pub(super) fn call<'a, T, F>(&self, job: F) -> Answer<'a, T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let sent = self.crew.take_on().and_then(|piece| {
            let work = move |db: Result<&mut Connection, Error>| {
                let result =
                    db.and_then(|db| job(db).map_err(|fault| fault.into_error(&path_of(db))));
                // Whoever hears the answer finds the thread free.
                drop(piece);
                // Nobody may be waiting any more; the work is done all the same.
                _ = answer.send(result);
            };
            self.sender.send(Message::Work(Box::new(work))).map_err(|_| Error::Closed)
        });
        let crew = Arc::clone(&self.crew);
        Box::pin(async move {
            sent?;
            match answered.await {
                Ok(result) => result,
                Err(_) if crew.is_closed() => Err(Error::Closed),
                Err(_) => Err(Error::Io("the work was lost in a panic".to_owned())),
            }
        })
    }

    /// Waits until everything that is queued is done and the connections are closed.
    pub(super) fn stop<'a>(&self) -> Answer<'a, ()> {
        let stopped: Vec<_> = (0..self.crew.close())
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

fn path_of(db: &Connection) -> PathBuf {
    PathBuf::from(db.path().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        panic::resume_unwind,
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        task::{Context, Poll, Waker},
        thread,
        time::Duration,
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

    #[test]
    fn a_connection_is_made_when_no_other_has_time() {
        let (lane, made) = lane_of_two(Duration::ZERO);
        assert_eq!(made.load(Ordering::SeqCst), 0, "there is no work");
        for _ in 0..3 {
            assert!(matches!(wait(lane.call(|_| Ok(7))), Ok(7)));
        }
        assert_eq!(made.load(Ordering::SeqCst), 1, "one piece of work at a time");
        let (done, wait_for) = mpsc::channel::<()>();
        let first = lane.call(move |_| Ok(wait_for.recv().is_err()));
        assert!(matches!(wait(lane.call(|_| Ok(8))), Ok(8)), "beside the first");
        assert_eq!(made.load(Ordering::SeqCst), 2);
        let (again, wait_for) = mpsc::channel::<()>();
        let second = lane.call(move |_| Ok(wait_for.recv().is_err()));
        let third = lane.call(|_| Ok(9));
        drop((done, again));
        assert!(matches!(wait(first), Ok(true)));
        assert!(matches!(wait(second), Ok(true)));
        assert!(matches!(wait(third), Ok(9)), "after one of the others");
        assert_eq!(made.load(Ordering::SeqCst), 2, "there are no more than so many");
    }

    #[test]
    fn a_connection_is_not_made_for_work_that_hardly_waits() {
        let (lane, made) = lane_of_two(Duration::from_secs(3_600));
        let (done, wait_for) = mpsc::channel::<()>();
        let first = lane.call(move |_| Ok(wait_for.recv().is_err()));
        let second = lane.call(|_| Ok(8));
        drop(done);
        assert!(matches!(wait(first), Ok(true)));
        assert!(matches!(wait(second), Ok(8)));
        wait(lane.stop()).expect("what waits to connect hears of it");
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_connection_that_cannot_be_made_is_an_error_and_is_tried_again() {
        let tried = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&tried);
        let lane = Lane::new(
            "test",
            1,
            Arc::new(move || match count.fetch_add(1, Ordering::SeqCst) {
                0 => Err(Error::Io("too many open files".to_owned())),
                _ => Ok(Connection::open_in_memory().expect("a database")),
            }),
        );
        assert!(matches!(wait(lane.call(|_| Ok(7))), Err(Error::Io(_))));
        assert!(matches!(wait(lane.call(|_| Ok(7))), Ok(7)));
        wait(lane.stop()).expect("nothing more is done");
        assert_eq!(tried.load(Ordering::SeqCst), 2, "once for each piece of work");
    }

    /// And how many connections it made.
    fn lane_of_two(patience: Duration) -> (Lane, Arc<AtomicUsize>) {
        let made = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&made);
        let connect = move || {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(Connection::open_in_memory().expect("a database"))
        };
        (Lane::patient("test", 2, patience, Arc::new(connect)), made)
    }

    fn lane() -> Lane {
        let connect = || Ok(Connection::open_in_memory().expect("a database"));
        Lane::new("test", 1, Arc::new(connect))
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
