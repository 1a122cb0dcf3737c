//! Runs: loading one, and finding those that are due or have work.

use std::{collections::BTreeSet, ops::Bound};

use steadfast_retry::Timestamp;

use super::{Data, Run};
use crate::{
    rows::{Item, Lookup, RunNumber, RunRows, ShardNumber},
    store::WorkflowId,
};

impl Data {
    pub(super) fn load(&self, lookup: &Lookup) -> Option<RunRows> {
        let number = self.find(lookup)?;
        self.runs.get(&number).map(|run| run.rows(number))
    }

    pub(super) fn due(
        &self,
        shard: ShardNumber,
        until: Timestamp,
        after: Option<(Timestamp, RunNumber)>,
        limit: usize,
    ) -> Vec<(Timestamp, RunNumber)> {
        let begin = match after {
            Some((due, run)) => Bound::Excluded((shard, due, run)),
            None => Bound::Included((shard, Timestamp(i64::MIN), RunNumber(i64::MIN))),
        };
        self.due
            .range((begin, Bound::Unbounded))
            .take_while(|(owner, due, _)| *owner == shard && *due <= until)
            .map(|(_, due, run)| (*due, *run))
            .take(limit)
            .collect()
    }

    pub(super) fn with_work(
        &self,
        shard: ShardNumber,
        after: RunNumber,
        limit: usize,
    ) -> Vec<RunNumber> {
        self.with_work
            .range((Bound::Excluded((shard, after)), Bound::Unbounded))
            .take_while(|(owner, _)| *owner == shard)
            .map(|(_, run)| *run)
            .take(limit)
            .collect()
    }

    pub(super) fn workflow_ids(&self, after: Option<WorkflowId>, limit: usize) -> Vec<WorkflowId> {
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let ids = self.by_workflow_id.range((begin, Bound::Unbounded));
        ids.map(|(id, _)| id.clone()).take(limit).collect()
    }

    fn find(&self, lookup: &Lookup) -> Option<RunNumber> {
        match lookup {
            Lookup::Number(number) => Some(*number),
            Lookup::Current { namespace, workflow_id } => self
                .by_workflow_id
                .get(&(namespace.clone(), workflow_id.clone()))
                .and_then(BTreeSet::last)
                .copied(),
            Lookup::Run(identity) => {
                let number = self.by_run_id.get(&identity.run_id)?;
                let run = self.runs.get(number)?;
                (run.identity == *identity).then_some(*number)
            }
        }
    }
}

impl Run {
    fn rows(&self, number: RunNumber) -> RunRows {
        let item = |((kind, key), data): (&(_, Vec<u8>), &Vec<u8>)| Item {
            kind: *kind,
            key: key.clone(),
            data: data.clone(),
        };
        RunRows {
            run: number,
            shard: self.shard,
            identity: self.identity.clone(),
            state: self.state.clone(),
            items: self.items.iter().map(item).collect(),
        }
    }
}
