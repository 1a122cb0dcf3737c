//! Another policy, other time limits or another input for what is already retrying, with a look at
//! what that would move.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Activity, ActivityChange, ChangeActivity, Context, Input, Refused, Rulebook, Run, Selector,
    Timestamp, Unknown,
};
use steadfast_proto::common::WorkflowExecution;
use steadfast_store::{ErrorEntry, ErrorFilter, ErrorState, Order};

use super::acting::{address_of, selector};
use crate::{
    error::Error,
    failures::{Acted, NewPolicy, Selection, Who},
    namespaces::Namespace,
    service::{Engine, address},
    shard::Address,
};

/// What is to become different.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Who changes it, and why.
    pub who: Who,
    /// What.
    pub what: ActivityChange,
    /// Whether a wait that is under way is reckoned anew; otherwise the change holds from the next
    /// failure on.
    pub now: bool,
}

/// What a change would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    /// How many activities it is for.
    pub pending: u64,
    /// How many would be tried sooner.
    pub sooner: u64,
    /// How many would be tried later.
    pub later: u64,
    /// How many would be given up.
    pub ended: u64,
    /// How many would be parked.
    pub parked: u64,
    /// The most attempts in one second among all that are pending, and how long until then.
    pub peak: Option<(u64, Duration)>,
    /// Whether there are more than were looked at.
    pub is_cut: bool,
    /// Each of them.
    pub moved: Vec<Moved>,
}

/// What a change would do to one activity.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Moved {
    /// Its workflow's id.
    pub workflow_id: String,
    /// Its run's id.
    pub run_id: String,
    /// Its own id.
    pub activity_id: String,
    /// Its type.
    pub activity_type: String,
    /// When its next attempt is due as things are; `None` if it is at one, or parked.
    pub from: Option<Timestamp>,
    /// When it would be due.
    pub to: Option<Timestamp>,
    /// Whether it would have ended.
    pub ends: bool,
    /// Whether it would be parked.
    pub parks: bool,
}

impl Engine {
    /// Changes activities that are being retried or are parked.
    pub async fn change_errors(
        &self,
        namespace: &str,
        selection: Selection,
        change: &Change,
    ) -> Result<Vec<Acted>, Error> {
        self.steer(namespace, selection, &CHANGEABLE, |it| change.input(it)).await
    }

    /// Says what [`change_errors`](Self::change_errors) would move. Nothing is changed.
    pub async fn preview_change(
        &self,
        namespace: &str,
        selection: Selection,
        change: &Change,
    ) -> Result<Preview, Error> {
        let namespace = self.namespace(namespace)?;
        let mut preview = Preview::default();
        for entry in self.chosen(&namespace, selection, &CHANGEABLE).await? {
            let input = change.input(selector(&entry)?);
            self.look_ahead(&namespace, address_of(&entry), input, &mut preview).await?;
        }
        Ok(preview.with_peak(self.now()))
    }

    /// Says what a retry policy would change, if it were put and all waits that are under way were
    /// reckoned anew. Nothing is changed, and nothing is put.
    pub async fn preview_policy(&self, namespace: &str, put: NewPolicy) -> Result<Preview, Error> {
        let namespace = self.namespace(namespace)?;
        let mut book = (*self.shared().books.of(&namespace.id)).clone();
        book.put_policy(put, self.now(), Who::default())?;
        let (old, new) = (Arc::clone(&namespace.rulebook), Arc::new(book.rulebook()));
        let (mut preview, mut after) = (Preview::default(), None);
        let mut unmoved = Vec::new();
        let filter = ErrorFilter { states: vec![ErrorState::Retrying], ..ErrorFilter::default() };
        loop {
            let id = namespace.id.clone();
            let found = self.store().errors(id, filter.clone(), Order::Forward, after, PAGE);
            let found = found.await?;
            let of_activities = found.errors.iter().filter(|entry| entry.subject > 0);
            for entry in of_activities {
                preview.pending += 1;
                match self.moved_by(&namespace, entry, [&old, &new]).await? {
                    Some(moved) => preview.take(moved),
                    None => unmoved.extend(entry.row.next_at),
                }
            }
            after = found.next;
            preview.is_cut = after.is_some() && preview.pending >= PREVIEW_MAX;
            if after.is_none() || preview.is_cut {
                break;
            }
        }
        preview.peak = peak(preview.moved.iter().filter_map(|it| it.to).chain(unmoved), self.now());
        Ok(preview)
    }

    /// What would become of one activity if its wait were reckoned anew by new rules, if that is not
    /// what the old ones would say of it too.
    async fn moved_by(
        &self,
        namespace: &Arc<Namespace>,
        entry: &ErrorEntry,
        [old, new]: [&Arc<Rulebook>; 2],
    ) -> Result<Option<Moved>, Error> {
        let anew = Change { now: true, ..Change::default() };
        let input = anew.input(selector(entry)?);
        let looked = self.looked_ahead(namespace, address_of(entry), input, [old, new]);
        let [by_old, by_new] = looked.await?;
        let by_old = by_old?;
        Ok(by_new?.into_iter().find(|moved| !by_old.contains(moved)))
    }

    /// Changes activities of a workflow, whether they have failed or not.
    pub async fn change_activities(
        &self,
        namespace: &str,
        execution: &WorkflowExecution,
        selector: Selector,
        change: &Change,
    ) -> Result<(), Error> {
        self.tell_activities(namespace, execution, change.input(selector)).await
    }

    /// Says what [`change_activities`](Self::change_activities) would move. Nothing is changed.
    pub async fn preview_activities(
        &self,
        namespace: &str,
        execution: &WorkflowExecution,
        selector: Selector,
        change: &Change,
    ) -> Result<Preview, Error> {
        let namespace = self.namespace(namespace)?;
        let address = address(&namespace, Some(execution))?;
        let mut preview = Preview::default();
        self.look_ahead(&namespace, address, change.input(selector), &mut preview).await?;
        Ok(preview.with_peak(self.now()))
    }

    /// Adds what an input would move in one run.
    async fn look_ahead(
        &self,
        namespace: &Arc<Namespace>,
        address: Address,
        input: Input,
        preview: &mut Preview,
    ) -> Result<(), Error> {
        let rules = [&namespace.rulebook];
        let [looked] = self.looked_ahead(namespace, address, input, rules).await?;
        for one in looked? {
            preview.pending += 1;
            preview.take(one);
        }
        Ok(())
    }

    /// What an input would move in one run, under each of some rules.
    async fn looked_ahead<const N: usize>(
        &self,
        namespace: &Arc<Namespace>,
        address: Address,
        input: Input,
        rules: [&Arc<Rulebook>; N],
    ) -> Result<[Result<Vec<Moved>, Refused>; N], Error> {
        let (now, entropy) = (self.now(), self.shared().ids.entropy());
        let (namespace, rules) = (Arc::clone(namespace), rules.map(Arc::clone));
        let look = move |run: &Run, rules: &Rulebook| {
            let mut changed = run.clone();
            let context = Context {
                now,
                entropy: entropy.clone(),
                limits: &namespace.limits,
                rules,
                company: &Unknown,
            };
            changed.apply(input.clone(), context).map(|_| moved(run, &changed))
        };
        self.look(address, move |_, run| rules.map(|rules| look(run, &rules))).await
    }
}

/// What has become of the activities of a run that are not as they were.
fn moved(before: &Run, after: &Run) -> Vec<Moved> {
    let identity = before.identity();
    let mut moved = Vec::new();
    for (id, activity) in before.activities().iter() {
        let then = after.activities().get(id);
        if then == Some(activity) {
            continue;
        }
        moved.push(Moved {
            workflow_id: identity.workflow_id.clone(),
            run_id: identity.run_id.clone(),
            activity_id: activity.scheduled.activity_id.clone(),
            activity_type: activity.type_name().to_owned(),
            from: due(activity),
            to: then.and_then(due),
            ends: then.is_none(),
            parks: !activity.is_parked() && then.is_some_and(Activity::is_parked),
        });
    }
    moved
}

/// When the next attempt of an activity is due, if it waits for one.
fn due(activity: &Activity) -> Option<Timestamp> {
    let waits = !activity.is_started() && !activity.is_paused() && !activity.is_parked();
    waits.then_some(Timestamp(activity.row.scheduled_at))
}

impl Change {
    fn input(&self, selector: Selector) -> Input {
        Input::ChangeActivity(Box::new(ChangeActivity {
            selector,
            change: self.what.clone(),
            identity: self.who.identity.clone(),
            reason: self.who.reason.clone(),
            now: self.now,
        }))
    }
}

impl Preview {
    /// Adds what would become of one.
    fn take(&mut self, moved: Moved) {
        self.ended += u64::from(moved.ends);
        self.parked += u64::from(moved.parks);
        if let (Some(from), Some(to)) = (moved.from, moved.to) {
            self.sooner += u64::from(to < from);
            self.later += u64::from(to > from);
        }
        self.moved.push(moved);
    }

    fn with_peak(self, now: Timestamp) -> Self {
        let peak = peak(self.moved.iter().filter_map(|it| it.to), now);
        Self { peak, ..self }
    }
}

/// The most of these times that are within one second, and how long until then.
fn peak(times: impl Iterator<Item = Timestamp>, now: Timestamp) -> Option<(u64, Duration)> {
    let mut times: Vec<Timestamp> = times.collect();
    times.sort_unstable();
    let mut best: Option<(u64, Duration)> = None;
    let mut last = 0;
    for (first, at) in times.iter().enumerate() {
        while times.get(last).is_some_and(|it| *it < at.after(Duration::from_secs(1))) {
            last += 1;
        }
        let count = u64::try_from(last - first).unwrap_or(u64::MAX);
        if best.is_none_or(|(most, _)| count > most) {
            best = Some((count, at.since(now)));
        }
    }
    best
}

/// Errors that are read at a time, and that a preview looks at.
const PAGE: usize = 1_000;
const PREVIEW_MAX: u64 = 10_000;

const CHANGEABLE: [ErrorState; 2] = [ErrorState::Retrying, ErrorState::Parked];
