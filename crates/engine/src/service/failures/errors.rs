//! What is failing: one by one, in groups, and every attempt.

use std::iter;

use steadfast_proto::common::WorkflowExecution;
use steadfast_store::{
    AttemptLog, ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorListing, ErrorPosition,
    Order,
};

use crate::{
    error::Error,
    failures::ErrorId,
    namespaces::Namespace,
    service::{Engine, address},
};

impl Engine {
    /// Lists the errors of a namespace that match, by the time of their last failure. A page begins
    /// after the last error of the page before.
    pub async fn list_errors(
        &self,
        namespace: &str,
        filter: ErrorFilter,
        order: Order,
        after: Option<ErrorPosition>,
        page_size: i32,
    ) -> Result<ErrorListing, Error> {
        let namespace = self.namespace(namespace)?;
        let limit = self.page_size(page_size);
        Ok(self.store().errors(namespace.id.clone(), filter, order, after, limit).await?)
    }

    /// Puts the errors of a namespace that match together, the largest group first.
    pub async fn group_errors(
        &self,
        namespace: &str,
        filter: ErrorFilter,
        by: ErrorGroup,
        groups_max: i32,
    ) -> Result<Vec<ErrorGroupRow>, Error> {
        let namespace = self.namespace(namespace)?;
        let limit = self.page_size(groups_max);
        Ok(self.store().error_groups(namespace.id.clone(), filter, by, limit).await?)
    }

    /// Counts the errors of a namespace that match.
    pub async fn count_errors(&self, namespace: &str, filter: ErrorFilter) -> Result<u64, Error> {
        let namespace = self.namespace(namespace)?;
        Ok(self.store().error_count(namespace.id.clone(), filter).await?)
    }

    /// Shows one error.
    pub async fn describe_error(&self, namespace: &str, id: ErrorId) -> Result<ErrorEntry, Error> {
        let namespace = self.namespace(namespace)?;
        let found = self.named_errors(&namespace, &[id]).await?;
        found.into_iter().next().ok_or_else(|| settled(id))
    }

    /// How many errors there are of each activity, in all namespaces, with the namespace's name.
    pub async fn failing(&self) -> Result<Vec<(String, ErrorGroupRow)>, Error> {
        let mut all = Vec::new();
        for namespace in self.shared().namespaces.all().iter().filter(|it| !it.is_deleted()) {
            let (filter, by) = (ErrorFilter::default(), ErrorGroup::Activity);
            let limit = self.shared().limits.list_page_max;
            let groups = self.store().error_groups(namespace.id.clone(), filter, by, limit).await?;
            all.extend(groups.into_iter().map(|group| (namespace.name.clone(), group)));
        }
        Ok(all)
    }

    /// Every attempt of a workflow: of its activities, of its workflow tasks, and of its run.
    pub async fn workflow_attempts(
        &self,
        namespace: &str,
        execution: &WorkflowExecution,
    ) -> Result<Vec<AttemptLog>, Error> {
        let namespace = self.namespace(namespace)?;
        let address = address(&namespace, Some(execution))?;
        let number = self.look(address, |number, _| number).await?;
        Ok(self.store().run_attempts(number).await?)
    }

    /// The errors with these ids, in their order. All of them must be there.
    pub(super) async fn named_errors(
        &self,
        namespace: &Namespace,
        ids: &[ErrorId],
    ) -> Result<Vec<ErrorEntry>, Error> {
        let wanted = ids.iter().map(|id| (id.run, id.subject)).collect();
        let mut found = self.store().errors_by_id(wanted).await?;
        found.retain(|entry| entry.identity.namespace == namespace.id);
        let known = found.iter().map(|entry| Some(ErrorId::from(entry))).chain(iter::repeat(None));
        match ids.iter().zip(known).find(|(id, known)| Some(**id) != *known) {
            Some((missing, _)) => Err(settled(*missing)),
            None => Ok(found),
        }
    }
}

fn settled(id: ErrorId) -> Error {
    Error::not_found(format!("there is no error {id}: it is settled, or never was"))
}
