//! Resume policies: kept, tried on what is there, applied to it.

use steadfast_core::{Input, RUN, Resumable, ScheduleResume, Selector};
use steadfast_retry::resume::{Draft, Policy};
use steadfast_store::ErrorEntry;

use super::acting::address_of;
use crate::{
    error::{Code, Error},
    failures::{Book, Loaded, Who},
    namespaces::Namespace,
    service::Engine,
};

impl Engine {
    /// Adds a resume policy: it is asked about every failure from now on.
    pub async fn create_resume_policy(
        &self,
        namespace: &str,
        draft: Draft,
        who: Who,
    ) -> Result<Policy, Error> {
        let random = self.random();
        let change = |book: &mut Book, _| {
            let policy = book.create_resume_policy(draft, random)?;
            let what = format!("created resume policy {}", policy.name);
            Ok((policy, what))
        };
        self.change_book(namespace, who, change).await
    }

    /// Puts another resume policy in the place of one. What that has scheduled stays scheduled.
    pub async fn update_resume_policy(
        &self,
        namespace: &str,
        id: &str,
        draft: Draft,
        who: Who,
    ) -> Result<Policy, Error> {
        let change = |book: &mut Book, _| {
            let id = book.resume_policy(id)?.id.clone();
            let policy = book.update_resume_policy(&id, draft)?;
            let what = format!("updated resume policy {}", policy.name);
            Ok((policy, what))
        };
        self.change_book(namespace, who, change).await
    }

    /// Removes a resume policy. What it has scheduled stays scheduled.
    pub async fn delete_resume_policy(
        &self,
        namespace: &str,
        id: &str,
        who: Who,
    ) -> Result<Policy, Error> {
        let change = |book: &mut Book, _| {
            let policy = book.delete_resume_policy(id)?;
            let what = format!("deleted resume policy {}", policy.name);
            Ok((policy, what))
        };
        self.change_book(namespace, who, change).await
    }

    /// Adds resume policies, in the place of all that there are if `replace_all`. Those that are
    /// wrong are left out; what came of each is said in their order.
    pub async fn load_resume_policies(
        &self,
        namespace: &str,
        drafts: Vec<Draft>,
        replace_all: bool,
        who: Who,
    ) -> Result<Loaded, Error> {
        let change = |book: &mut Book, _| {
            let loaded = book.load_resume_policies(drafts, replace_all, || self.random());
            let kept = loaded.iter().filter(|it| it.is_ok()).count();
            let what = format!("loaded {kept} resume policies, replace all: {replace_all}");
            Ok((loaded, what))
        };
        self.change_book(namespace, who, change).await
    }

    /// Says how many of the errors that there are a resume policy would take. Nothing is changed.
    pub async fn try_resume_policy(&self, namespace: &str, draft: Draft) -> Result<u64, Error> {
        let namespace = self.namespace(namespace)?;
        let mut book = (*self.shared().books.of(&namespace.id)).clone();
        // One that is there may be tried again, changed.
        let known = book
            .resume_policies
            .iter()
            .find(|it| Some(&it.id) == draft.id.as_ref() || Some(&it.name) == draft.name.as_ref());
        let policy = match known.map(|it| it.id.clone()) {
            Some(id) => book.update_resume_policy(&id, draft)?,
            None => book.create_resume_policy(draft, 0)?,
        };
        let mut count = 0;
        self.each_parked(&namespace, |entry| {
            count += u64::from(takes(&policy, entry));
            None
        })
        .await?;
        Ok(count)
    }

    /// Schedules resumes for the errors that there are, as these policies say: for each error the
    /// first one named that takes it, after its base delay from now. How many each one took.
    pub async fn apply_resume_policies(
        &self,
        namespace: &str,
        names: &[String],
        who: Who,
    ) -> Result<Vec<(String, u64)>, Error> {
        let namespace = self.namespace(namespace)?;
        let book = self.shared().books.of(&namespace.id);
        let policies: Result<Vec<&Policy>, Error> =
            names.iter().map(|name| book.resume_policy(name)).collect();
        let policies = policies?;
        let now = self.now();
        let mut counts: Vec<(String, u64)> =
            policies.iter().map(|policy| (policy.name.clone(), 0)).collect();
        self.each_parked(&namespace, |entry| {
            let place = policies.iter().position(|policy| takes(policy, entry))?;
            counts[place].1 += 1;
            let delay = std::time::Duration::from_secs(policies[place].back_off.delay);
            Some(ScheduleResume {
                selector: Selector::Event(entry.subject),
                at: now.after(delay),
                reason: policies[place].name.clone(),
            })
        })
        .await?;
        let what = format!("applied resume policies {}", names.join(", "));
        self.change_book(&namespace.name, who, |_, _| Ok(((), what))).await?;
        Ok(counts)
    }

    /// Looks at each parked activity and failed run that nobody has acknowledged, and schedules its
    /// resume if `look` says when.
    async fn each_parked(
        &self,
        namespace: &Namespace,
        mut look: impl FnMut(&ErrorEntry) -> Option<ScheduleResume>,
    ) -> Result<(), Error> {
        let limit = self.shared().limits.list_page_max;
        let mut after = None;
        loop {
            let (errors, next) = self.resumable(&namespace.id, after, limit).await?;
            for entry in &errors {
                let Some(resume) = look(entry) else { continue };
                let input = Input::ScheduleResume(resume);
                match self.apply(address_of(entry), String::new(), input, |_| ()).await {
                    // It has gone on in the meantime.
                    Err(error) if error.code == Code::NotFound => {}
                    outcome => outcome?,
                }
            }
            after = next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    fn random(&self) -> u128 {
        let mut entropy = self.shared().ids.entropy();
        u128::from(entropy.nonce()) << 64 | u128::from(entropy.nonce())
    }
}

/// Whether a policy takes an error, as it would have when the error happened.
fn takes(policy: &Policy, entry: &ErrorEntry) -> bool {
    let row = &entry.row;
    let attempts = if entry.subject == RUN { row.resumes + 1 } else { row.attempts };
    let error = Resumable {
        workflow_type: &row.workflow_type,
        activity_type: &row.activity_type,
        kind: &row.kind,
        error_type: &row.error_type,
        cause: &row.cause,
        attempts,
        stopped_at: row.last_at,
    };
    error.ask(|error| policy.takes(error))
}
