//! Sends documents about failures to those who want them, in the background.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
};

use steadfast_core::{Identity, Input};
use tokio::sync::Semaphore;

use crate::{
    errands,
    error::Error,
    running::Running,
    service::Engine,
    shard::{Address, InputJob},
    webhooks::{
        AT_ONCE_MAX, ATTEMPTS_MAX, Post, PostError, UNDER_WAY_MAX, Undelivered, Webhooks, wait,
    },
};

impl Engine {
    /// Begins to send documents.
    pub(crate) fn post_documents(&self, webhooks: Option<Arc<dyn Webhooks>>) {
        let Some(posts) = self.shared().webhooks.take() else { return };
        let running = Arc::downgrade(&self.running);
        let at_once = Arc::new(Semaphore::new(AT_ONCE_MAX));
        self.running.spawn(errands::run(posts, UNDER_WAY_MAX, move |post| {
            deliver(running.clone(), webhooks.clone(), Arc::clone(&at_once), post)
        }));
    }

    /// Lists the documents that nobody has taken yet, the oldest first.
    pub fn list_undelivered(&self, namespace: &str) -> Result<Vec<Undelivered>, Error> {
        let namespace = self.namespace(namespace)?;
        Ok(self.shared().undeliverable.of_namespace(&namespace.id))
    }

    /// How many documents are sent again and again, and how many are set aside, in all namespaces.
    pub fn count_undelivered(&self) -> (usize, usize) {
        self.shared().undeliverable.count()
    }

    /// Has documents sent again at once, those that were set aside too; all of the namespace if none
    /// is named. How many they are.
    pub fn resend_undelivered(&self, namespace: &str, ids: &[u64]) -> Result<usize, Error> {
        let chosen = self.undelivered(namespace, ids)?;
        let shared = self.shared();
        for post in shared.undeliverable.take_given_up(&chosen) {
            shared.webhooks.send(post);
        }
        shared.undeliverable.again.notify_waiters();
        Ok(chosen.len())
    }

    /// Drops documents: nobody is told. How many they are.
    pub async fn drop_undelivered(&self, namespace: &str, ids: &[u64]) -> Result<usize, Error> {
        if ids.is_empty() {
            return Err(Error::invalid("ids: at least one document must be named"));
        }
        let chosen = self.undelivered(namespace, ids)?;
        let undeliverable = &self.shared().undeliverable;
        for id in &chosen {
            if let Some(post) = undeliverable.post(*id) {
                self.forget_document(&post).await?;
                undeliverable.forget(*id);
            }
        }
        Ok(chosen.len())
    }

    fn undelivered(&self, namespace: &str, ids: &[u64]) -> Result<BTreeSet<u64>, Error> {
        let all: BTreeSet<u64> =
            self.list_undelivered(namespace)?.into_iter().map(|it| it.id).collect();
        if ids.is_empty() {
            return Ok(all);
        }
        if let Some(missing) = ids.iter().find(|id| !all.contains(id)) {
            return Err(Error::not_found(format!(
                "there is no undelivered document {missing}: it was taken, or dropped"
            )));
        }
        Ok(ids.iter().copied().collect())
    }

    /// Has a document's run forget it, unless something that passes prevents it.
    async fn forget_document(&self, post: &Post) -> Result<(), Error> {
        let (address, delivered) = settled(post);
        match self.apply(address, String::new(), delivered, |_| ()).await {
            Err(error) if error.code.is_passing() => Err(error),
            Err(error) => {
                tracing::debug!(%error, "a run is gone whose document is dropped");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// What is said to whom when a document was taken, or is dropped: its run need not keep it.
fn settled(post: &Post) -> (Address, Input) {
    let Identity { namespace_id, workflow_id, run_id, .. } = &post.from;
    (Address::of(namespace_id, workflow_id, run_id), Input::MessageDelivered(post.message))
}

/// Sends one document, again and again until it was taken. One that is not taken for long is set
/// aside: it stays where it is, and somebody may have it sent again.
async fn deliver(
    running: Weak<Running>,
    webhooks: Option<Arc<dyn Webhooks>>,
    at_once: Arc<Semaphore>,
    post: Post,
) {
    let Some(shared) = running.upgrade().map(|it| Arc::clone(&it.shared)) else { return };
    let id = shared.undeliverable.id();
    let clock = Arc::clone(&shared.clock);
    drop(shared);
    for attempts in 1..=ATTEMPTS_MAX {
        let outcome = match &webhooks {
            None => Err(PostError::Address("this engine has no way to post".to_owned())),
            Some(webhooks) => {
                // The semaphore is never closed.
                let _turn = at_once.acquire().await;
                webhooks.post(&post.told.to, &post.told.body).await
            }
        };
        let Some(engine) = Engine::upgrade(&running) else { return };
        let undeliverable = &engine.shared().undeliverable;
        let Err(error) = outcome else {
            undeliverable.forget(id);
            let (address, delivered) = settled(&post);
            engine.post(InputJob::to(address, delivered));
            return;
        };
        if attempts > 1 && !undeliverable.has(id) {
            // Somebody has dropped it.
            return;
        }
        undeliverable.note(id, &post, attempts, &error, clock.now());
        if matches!(error, PostError::Address(_)) || attempts == ATTEMPTS_MAX {
            tracing::error!(url = post.told.to, %error, "a webhook was not told: set aside");
            undeliverable.give_up(id);
            return;
        }
        tracing::warn!(url = post.told.to, attempts, %error, "a webhook was not told");
        let shared = Arc::clone(engine.shared());
        drop(engine);
        let again = shared.undeliverable.again.notified();
        tokio::select! {
            () = clock.sleep(wait(attempts)) => {}
            () = again => {}
        }
    }
}
