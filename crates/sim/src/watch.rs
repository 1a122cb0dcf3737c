//! What can be seen on the disk alone: who had which error go on, and how often.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use steadfast_store::{Batch, ErrorState};

/// What was seen of resumes.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The numbers of the resumes of an error, by its run and subject and by who resumed it.
    resumes: Mutex<BTreeMap<(i64, i64, String), BTreeSet<u32>>>,
}

impl Watch {
    /// Looks at a commit that was done.
    pub(crate) fn see(&self, batch: &Batch) {
        let mut resumes = self.resumes.lock().unwrap_or_else(PoisonError::into_inner);
        for write in &batch.writes {
            for error in &write.errors {
                let Some(row) = &error.row else { continue };
                let Some(by) = row.reason.strip_prefix("resumed by ") else { continue };
                if row.state == ErrorState::Retrying {
                    let key = (write.run.0, error.subject, by.to_owned());
                    resumes.entry(key).or_default().insert(row.resumes);
                }
            }
        }
    }

    /// How often each error was resumed by each who did.
    pub(crate) fn resumes(&self) -> Vec<((i64, i64, String), usize)> {
        let resumes = self.resumes.lock().unwrap_or_else(PoisonError::into_inner);
        resumes.iter().map(|(key, numbers)| (key.clone(), numbers.len())).collect()
    }
}
