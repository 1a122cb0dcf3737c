//! Who owns the shards.

use super::Data;
use crate::{
    check,
    error::Error,
    rows::{Batch, Epoch, Lease, RunNumber},
};

impl Data {
    pub(super) fn acquire(&mut self, shards: u32) -> Result<Lease, Error> {
        let found = u32::try_from(self.shards.len()).unwrap_or(u32::MAX);
        let shards = check::shards(found, shards)?;
        let newest = self.shards.iter().max().copied().unwrap_or_default();
        let epoch = Epoch(newest.0 + 1);
        self.shards = (0..shards).map(|_| epoch).collect();
        let next_run = RunNumber(self.last_run + 1);
        Ok(Lease { shards, epoch, next_run, last_commit: self.last_commit })
    }

    /// Refuses a batch whose owner has lost one of its shards.
    pub(super) fn fence(&self, batch: &Batch) -> Result<(), Error> {
        for (shard, held) in &batch.leases {
            let place = usize::try_from(shard.0).unwrap_or(usize::MAX);
            let found = self.shards.get(place).ok_or_else(|| check::unknown_shard(shard.0))?;
            if found != held {
                return Err(Error::Fenced { shard: shard.0, held: held.0, found: found.0 });
            }
        }
        Ok(())
    }
}
