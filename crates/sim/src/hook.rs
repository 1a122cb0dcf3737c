//! Somebody outside who wants to hear of failures, and is not always at home.

use std::{
    collections::BTreeSet,
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
    /// What it did not take, and will be told again.
    owed: Mutex<BTreeSet<String>>,
}

impl Hook {
    /// Somebody who has heard nothing yet.
    pub(crate) fn new(chance: Chance, faults: Arc<Faults>) -> Self {
        Self { chance: Mutex::new(chance), faults, heard: Mutex::default(), owed: Mutex::default() }
    }

    /// Everything that it was told, in order; some of it more than once.
    pub(crate) fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether there is something that it is still to be told.
    pub(crate) fn is_owed(&self) -> bool {
        !self.owed.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
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
            let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
            match manner {
                Manner::Takes => {
                    owed.remove(body);
                    Ok(())
                }
                Manner::Refuses | Manner::TakesAndRefuses => {
                    owed.insert(body.to_owned());
                    Err(PostError::NotTaken("simulated".to_owned()))
                }
            }
        })
    }
}
