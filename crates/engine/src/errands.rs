//! Errands: what one part of the engine leaves for another to do in the background.

use std::sync::{Mutex, PoisonError};

use tokio::{sync::mpsc, task::JoinSet};

/// Where errands are left.
#[derive(Debug)]
pub(crate) struct Errands<T> {
    sender: mpsc::UnboundedSender<T>,
    /// Taken by whoever does them.
    receiver: Mutex<Option<mpsc::UnboundedReceiver<T>>>,
}

impl<T> Default for Errands<T> {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl<T> Errands<T> {
    pub(crate) fn send(&self, errand: T) {
        // If nobody takes it any more, the engine ends; the next one does it.
        let _ = self.sender.send(errand);
    }

    /// What is left here, for the one who does it.
    pub(crate) fn take(&self) -> Option<mpsc::UnboundedReceiver<T>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Does errands as they come, so many at once, for as long as somebody may leave one.
pub(crate) async fn run<T, D: Future<Output = ()> + Send + 'static>(
    mut errands: mpsc::UnboundedReceiver<T>,
    at_once_max: usize,
    run_one: impl Fn(T) -> D,
) {
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            // The rest waits as what it is, a few words each.
            errand = errands.recv(), if under_way.len() < at_once_max => {
                let Some(errand) = errand else { return };
                under_way.spawn(run_one(errand));
            }
            Some(_) = under_way.join_next() => {}
        }
    }
}
