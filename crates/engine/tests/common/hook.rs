//! Somebody who wants to hear of failures.

use std::sync::Mutex;

use steadfast_engine::{Posted, Webhooks};
use tokio::sync::Semaphore;

/// Takes whatever it is told, once it is at home.
#[derive(Debug)]
pub(crate) struct Hook {
    heard: Mutex<Vec<String>>,
    /// Whoever has it keeps the hook from hearing anything.
    pub(crate) door: Semaphore,
}

impl Default for Hook {
    fn default() -> Self {
        Self { heard: Mutex::default(), door: Semaphore::new(1) }
    }
}

impl Hook {
    /// How many documents it was told.
    pub(crate) fn heard(&self) -> usize {
        self.heard.lock().expect("whole").len()
    }
}

impl Webhooks for Hook {
    fn post<'a>(&'a self, _: &'a str, body: &'a str) -> Posted<'a> {
        Box::pin(async move {
            let _home = self.door.acquire().await;
            self.heard.lock().expect("whole").push(body.to_owned());
            Ok(())
        })
    }
}
