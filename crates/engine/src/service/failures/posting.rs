//! Sends documents about failures to those who want them, in the background.

use std::sync::{Arc, Weak};

use steadfast_core::{Identity, Input};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    running::Running,
    service::Engine,
    shard::Address,
    webhooks::{AT_ONCE_MAX, ATTEMPTS_MAX, Post, PostError, UNDER_WAY_MAX, Webhooks, wait},
};

impl Engine {
    /// Begins to send documents.
    pub(crate) fn post_documents(&self, webhooks: Option<Arc<dyn Webhooks>>) {
        let Some(mut posts) = self.shared().webhooks.take() else { return };
        let running = Arc::downgrade(&self.running);
        let at_once = Arc::new(Semaphore::new(AT_ONCE_MAX));
        self.running.spawn(async move {
            let mut under_way = JoinSet::new();
            loop {
                tokio::select! {
                    // The rest waits as what it is, a few words each.
                    post = posts.recv(), if under_way.len() < UNDER_WAY_MAX => {
                        let Some(post) = post else { return };
                        let (running, webhooks) = (running.clone(), webhooks.clone());
                        under_way.spawn(deliver(running, webhooks, Arc::clone(&at_once), post));
                    }
                    Some(_) = under_way.join_next() => {}
                }
            }
        });
    }

    /// A document was taken, or is given up: its run need not keep it.
    async fn forget_document(&self, post: &Post) {
        let Identity { namespace_id, workflow_id, run_id, .. } = &post.from;
        let address = Address::of(namespace_id, workflow_id, run_id);
        let delivered = Input::MessageDelivered(post.message);
        if let Err(error) = self.apply(address, String::new(), delivered, |_| ()).await {
            tracing::debug!(%error, "a run is gone whose document was sent");
        }
    }
}

/// Sends one document, again and again until it was taken.
async fn deliver(
    running: Weak<Running>,
    webhooks: Option<Arc<dyn Webhooks>>,
    at_once: Arc<Semaphore>,
    post: Post,
) {
    for attempts in 1..=ATTEMPTS_MAX {
        let outcome = match &webhooks {
            None => Err(PostError::Address("this engine has no way to post".to_owned())),
            Some(webhooks) => {
                // The semaphore is never closed.
                let _turn = at_once.acquire().await;
                webhooks.post(&post.told.to, &post.told.body).await
            }
        };
        match outcome {
            Ok(()) => break,
            Err(PostError::Address(problem)) => {
                tracing::error!(url = post.told.to, problem, "a webhook cannot be told");
                break;
            }
            Err(error) => {
                tracing::warn!(url = post.told.to, attempts, %error, "a webhook was not told");
            }
        }
        let Some(running_now) = running.upgrade() else { return };
        let clock = Arc::clone(&running_now.shared.clock);
        drop(running_now);
        clock.sleep(wait(attempts)).await;
    }
    if let Some(engine) = Engine::upgrade(&running) {
        engine.forget_document(&post).await;
    }
}
