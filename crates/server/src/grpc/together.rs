//! Answers that are ready at the same time leave together.
//!
//! Many calls share a connection, and each answer wakes the task that writes to it. If that wrote at
//! once, each answer would be a packet and a system call of its own. So it first lets the others who
//! are ready have their turn, and then writes what all of them have said.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection that waits for one turn of everybody else before it writes.
#[derive(Debug)]
pub(super) struct Together<C> {
    connection: C,
    /// Whether the others have had their turn since the last flush.
    has_waited: bool,
}

impl<C> Together<C> {
    pub(super) fn new(connection: C) -> Self {
        Self { connection, has_waited: false }
    }

    fn poll_turn(&mut self, context: &Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.has_waited, true) {
            return Poll::Ready(());
        }
        // Woken while it runs, a task goes behind all that are ready.
        context.waker().wake_by_ref();
        Poll::Pending
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
        ready!(self.poll_turn(context));
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(context));
        Pin::new(&mut self.connection).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.connection).poll_flush(context))?;
        self.has_waited = false;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll, Wake, Waker},
    };

    use tokio::io::AsyncWrite as _;

    use super::Together;

    #[derive(Default)]
    struct Turns(AtomicUsize);

    impl Wake for Turns {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn everybody_else_has_a_turn_before_each_flush() {
        let turns = Arc::new(Turns::default());
        let waker = Waker::from(Arc::clone(&turns));
        let mut context = Context::from_waker(&waker);
        let mut connection = Together::new(Vec::new());
        for turn in 1..=2 {
            let write = Pin::new(&mut connection).poll_write(&mut context, b"first ");
            assert!(write.is_pending());
            assert_eq!(turns.0.load(Ordering::Relaxed), turn, "it comes back by itself");
            for words in [&b"first, "[..], b"second; "] {
                let write = Pin::new(&mut connection).poll_write(&mut context, words);
                assert!(matches!(write, Poll::Ready(Ok(length)) if length == words.len()));
            }
            assert!(Pin::new(&mut connection).poll_flush(&mut context).is_ready());
        }
        assert_eq!(connection.connection, b"first, second; first, second; ");
    }
}
