//! Answers that are ready at the same time leave together.
//!
//! Many calls share a connection, and each answer wakes the task that writes to it. If that wrote at
//! once, each answer would be a packet and a system call of its own. So what is said is kept until the
//! others who are ready have had their turn, and then all of it is written.
//!
//! The layer above asks for a flush after each frame that is not small, so that a flush alone does not
//! mean that everything has been said. It is done in the next turn, which this one asks for.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection that waits for one turn of everybody else before it writes.
#[derive(Debug)]
pub(super) struct Together<C> {
    connection: C,
    /// What was said and is not written yet.
    said: Vec<u8>,
    /// How much of it is.
    written: usize,
    /// Whether the others have had their turn since something was written.
    has_waited: bool,
}

/// Bytes that are worth a system call of their own. Nothing waits beyond them, and what has as many
/// is not kept at all.
const ENOUGH: usize = 64 * 1024;

impl<C> Together<C> {
    pub(super) fn new(connection: C) -> Self {
        Self { connection, said: Vec::new(), written: 0, has_waited: false }
    }
}

impl<C: AsyncWrite + Unpin> Together<C> {
    /// Writes what was said.
    fn poll_out(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.said.get(self.written..).filter(|rest| !rest.is_empty()) {
            let length = ready!(Pin::new(&mut self.connection).poll_write(context, rest))?;
            if length == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += length;
        }
        // A connection on which nothing happens keeps no memory.
        (self.said, self.written, self.has_waited) = (Vec::new(), 0, false);
        Poll::Ready(Ok(()))
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for Together<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(context, buffer)
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Together<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.said.len() + bytes.len() > ENOUGH {
            ready!(self.poll_out(context))?;
        }
        if bytes.len() >= ENOUGH {
            return Pin::new(&mut self.connection).poll_write(context, bytes);
        }
        self.said.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.said.is_empty() && !std::mem::replace(&mut self.has_waited, true) {
            // Woken while it runs, a task goes behind all that are ready, and then flushes again.
            context.waker().wake_by_ref();
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_out(context))?;
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_out(context))?;
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        pin::Pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll, Wake, Waker},
    };

    use tokio::io::AsyncWrite;

    use super::{ENOUGH, Together};

    #[derive(Default)]
    struct Turns(AtomicUsize);

    impl Wake for Turns {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes so many bytes at a time, and every other time none.
    #[derive(Default)]
    struct Narrow {
        bytes_max: usize,
        is_busy: bool,
        writes: Vec<Vec<u8>>,
        is_shut: bool,
    }

    impl AsyncWrite for Narrow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.is_busy = !self.is_busy;
            if self.is_busy {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let length = bytes.len().min(self.bytes_max);
            self.writes.push(bytes[..length].to_vec());
            Poll::Ready(Ok(length))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.is_shut = true;
            Poll::Ready(Ok(()))
        }
    }

    struct Rig {
        turns: Arc<Turns>,
        connection: Together<Narrow>,
    }

    impl Rig {
        fn new(bytes_max: usize) -> Self {
            let narrow = Narrow { bytes_max, ..Narrow::default() };
            Self { turns: Arc::default(), connection: Together::new(narrow) }
        }

        fn turns(&self) -> usize {
            self.turns.0.load(Ordering::Relaxed)
        }

        fn poll<T>(
            &mut self,
            poll: impl FnOnce(Pin<&mut Together<Narrow>>, &mut Context<'_>) -> Poll<io::Result<T>>,
        ) -> Option<T> {
            let waker = Waker::from(Arc::clone(&self.turns));
            match poll(Pin::new(&mut self.connection), &mut Context::from_waker(&waker)) {
                Poll::Ready(done) => Some(done.expect("no error")),
                Poll::Pending => None,
            }
        }

        fn say(&mut self, words: &str) {
            let said = self.poll(|it, context| it.poll_write(context, words.as_bytes()));
            assert_eq!(said, Some(words.len()));
        }

        fn flush(&mut self) -> Option<()> {
            self.poll(Together::poll_flush)
        }

        fn written(&self) -> Vec<&str> {
            let writes = &self.connection.connection.writes;
            writes.iter().map(|bytes| str::from_utf8(bytes).expect("text")).collect()
        }
    }

    #[test]
    fn what_is_said_in_a_turn_and_the_next_is_one_write() {
        let mut rig = Rig::new(usize::MAX);
        for turn in 1..=2 {
            rig.say("first, ");
            assert_eq!(rig.flush(), Some(()), "the one above may go on");
            rig.say("second, ");
            assert_eq!(rig.turns(), 2 * turn - 1, "it comes back by itself");
            assert_eq!(rig.written().len(), turn - 1);

            rig.say("third; ");
            assert_eq!(rig.flush(), None, "the connection is busy");
            assert_eq!(rig.flush(), Some(()));
            assert_eq!(rig.written(), vec!["first, second, third; "; turn]);
        }
        assert_eq!(rig.flush(), Some(()), "there is nothing to say");
        assert_eq!((rig.turns(), rig.written().len()), (4, 2));
    }

    #[test]
    fn what_the_connection_does_not_take_at_once_is_written_after_it() {
        let mut rig = Rig::new(4);
        rig.say("together");
        assert_eq!(rig.flush(), Some(()));
        while rig.flush().is_none() {}
        assert_eq!(rig.written(), ["toge", "ther"]);
    }

    #[test]
    fn much_is_not_kept() {
        let mut rig = Rig::new(usize::MAX);
        rig.say("little");
        let much = vec![b'.'; ENOUGH];
        while rig.poll(|it, context| it.poll_write(context, &much)).is_none() {}
        let lengths: Vec<_> = rig.written().iter().map(|bytes| bytes.len()).collect();
        assert_eq!(lengths, [6, ENOUGH]);
        assert_eq!(rig.connection.said.capacity(), 0);
    }

    #[test]
    fn nothing_is_left_behind_when_it_closes() {
        let mut rig = Rig::new(usize::MAX);
        rig.say("farewell");
        while rig.poll(Together::poll_shutdown).is_none() {}
        assert_eq!(rig.written(), ["farewell"]);
        assert!(rig.connection.connection.is_shut);
    }
}
