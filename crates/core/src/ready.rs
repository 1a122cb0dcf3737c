//! What only this run knows to hand out: kept apart, so that asking for it costs nothing.
//!
//! What a worker inside the engine's process has in hand is there too: if the process ends, nobody
//! else will hand it out again.

use std::collections::{BTreeMap, BTreeSet};

use crate::state::{Activity, Child};

/// The pending things that wait for somebody else, by their events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ready {
    /// With their stamps.
    activities: BTreeMap<i64, u32>,
    children: BTreeSet<i64>,
    held_within: BTreeSet<i64>,
}

impl Ready {
    pub(crate) fn is_empty(&self) -> bool {
        self.activities.is_empty() && self.children.is_empty() && self.held_within.is_empty()
    }

    /// Activities that wait for a worker.
    pub(crate) fn activities(&self) -> impl Iterator<Item = i64> {
        self.activities.keys().copied()
    }

    /// The stamp of an activity, if it waits for a worker.
    pub(crate) fn stamp_of(&self, activity: i64) -> Option<u32> {
        self.activities.get(&activity).copied()
    }

    /// Children that were not started yet.
    pub(crate) fn children(&self) -> impl Iterator<Item = i64> {
        self.children.iter().copied()
    }

    /// Activities that a worker inside the engine's process has.
    pub(crate) fn held_within(&self) -> impl Iterator<Item = i64> {
        self.held_within.iter().copied()
    }

    pub(crate) fn set_activity(&mut self, id: i64, activity: Option<&Activity>) {
        set(&mut self.held_within, id, activity.is_some_and(Activity::is_held_within));
        match activity.filter(|it| it.is_offered()) {
            Some(offered) => _ = self.activities.insert(id, offered.row.stamp),
            None => _ = self.activities.remove(&id),
        }
    }

    pub(crate) fn set_child(&mut self, id: i64, child: Option<&Child>) {
        set(&mut self.children, id, child.is_some_and(|child| child.row.run_id.is_empty()));
    }
}

fn set(set: &mut BTreeSet<i64>, id: i64, wanted: bool) {
    if wanted {
        set.insert(id);
    } else {
        set.remove(&id);
    }
}
