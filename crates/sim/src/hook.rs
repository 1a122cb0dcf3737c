//! Somebody outside who wants to hear of failures, and is not always at home.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use steadfast_engine::{PostError, Posted, Webhooks};

use crate::{chance::Chance, faults::Faults};

/// Where documents are sent to.
pub(crate) const URL: &str = "https://hook.example.com/failures";

/// Somebody who is told.
#[derive(Debug)]
pub(crate) struct Hook {
    chance: Mutex<Chance>,
    faults: Arc<Faults>,
    heard: Mutex<Vec<Value>>,
}

impl Hook {
    /// Somebody who has heard nothing yet.
    pub(crate) fn new(chance: Chance, faults: Arc<Faults>) -> Self {
        Self { chance: Mutex::new(chance), faults, heard: Mutex::default() }
    }

    /// Everything that it was told, in order; some of it more than once.
    pub(crate) fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hear(&self, body: &str) {
        let told = serde_json::from_str(body).unwrap_or(Value::Null);
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(told);
    }

    /// What it makes of the next document, and after how long.
    fn manner(&self) -> (Manner, Duration) {
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = chance.millis(0, 200);
        let manner = match chance.below(4) {
            _ if self.faults.are_over() => Manner::Takes,
            0 => Manner::Refuses,
            1 => Manner::TakesAndRefuses,
            _ => Manner::Takes,
        };
        (manner, wait)
    }
}

enum Manner {
    Takes,
    Refuses,
    /// It was heard, but the answer says no: it is told again.
    TakesAndRefuses,
}

impl Webhooks for Hook {
    fn post<'a>(&'a self, _: &'a str, body: &'a str) -> Posted<'a> {
        let (manner, wait) = self.manner();
        Box::pin(async move {
            #[expect(clippy::disallowed_methods, reason = "time is virtual here")]
            tokio::time::sleep(wait).await;
            if !matches!(manner, Manner::Refuses) {
                self.hear(body);
            }
            match manner {
                Manner::Takes => Ok(()),
                Manner::Refuses | Manner::TakesAndRefuses => {
                    Err(PostError::NotTaken("simulated".to_owned()))
                }
            }
        })
    }
}
