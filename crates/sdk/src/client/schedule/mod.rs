//! Schedules: workflows that are started again and again, by the engine.

mod definition;
mod description;
mod spec;

use std::time::SystemTime;

use steadfast_engine::{Code, Error};
use steadfast_proto::{
    enums::ScheduleOverlapPolicy,
    schedule::{BackfillRequest, SchedulePatch, TriggerImmediatelyRequest},
    workflowservice as ws,
};

pub use definition::Schedule;
pub use description::{ScheduleDescription, ScheduleSummary, ScheduledStart};
pub use spec::{Calendar, CalendarField, ScheduleSpec};

use super::{Client, error::ClientError, start::fresh_id};
use crate::span;

/// Schedules.
impl Client {
    /// Makes a schedule: see [`Schedule`].
    pub async fn create_schedule(
        &self,
        id: impl Into<String>,
        mut schedule: Schedule,
    ) -> Result<ScheduleHandle, ClientError> {
        let schedule_id = id.into();
        let wire = schedule.finish(&schedule_id)?;
        let trigger = TriggerImmediatelyRequest::default();
        let patch = SchedulePatch { trigger_immediately: Some(trigger), ..Default::default() };
        let request = ws::CreateScheduleRequest {
            namespace: self.namespace.clone(),
            schedule_id: schedule_id.clone(),
            schedule: Some(wire),
            initial_patch: schedule.is_triggered.then_some(patch),
            identity: self.identity.clone(),
            request_id: fresh_id().to_string(),
            memo: schedule.memo.into_memo(),
            search_attributes: schedule.search_attributes.into_search_attributes(),
        };
        let created = self.door.create_schedule(request).await;
        created.map_err(|error| is_there(error, &schedule_id))?;
        Ok(self.schedule(schedule_id))
    }

    /// A schedule that was made before.
    pub fn schedule(&self, id: impl Into<String>) -> ScheduleHandle {
        ScheduleHandle { client: self.clone(), id: id.into() }
    }

    /// Schedules that a query matches, all of them; empty for all there are.
    ///
    /// ```no_run
    /// # async fn f(client: steadfast::Client) -> Result<(), steadfast::ClientError> {
    /// for schedule in client.list_schedules("").await? {
    ///     println!("{} acts next at {:?}", schedule.schedule_id, schedule.next.first());
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn list_schedules(&self, query: &str) -> Result<Vec<ScheduleSummary>, ClientError> {
        let mut found = Vec::new();
        let mut next_page_token = Vec::new();
        loop {
            let request = ws::ListSchedulesRequest {
                namespace: self.namespace.clone(),
                query: query.to_owned(),
                next_page_token,
                ..ws::ListSchedulesRequest::default()
            };
            let page = self.door.list_schedules(request).await?;
            found.extend(page.schedules.into_iter().map(ScheduleSummary::of));
            next_page_token = page.next_page_token;
            if next_page_token.is_empty() {
                return Ok(found);
            }
        }
    }
}

/// A schedule that was made.
///
/// ```no_run
/// # async fn f(client: steadfast::Client) -> Result<(), steadfast::ClientError> {
/// let nightly = client.schedule("nightly");
/// nightly.pause("the printer is broken").await?;
/// nightly.trigger().await?;
/// println!("it has acted {} times", nightly.describe().await?.actions);
/// nightly.unpause("it prints again").await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ScheduleHandle {
    client: Client,
    id: String,
}

impl ScheduleHandle {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How it stands.
    pub async fn describe(&self) -> Result<ScheduleDescription, ClientError> {
        Ok(ScheduleDescription::of(self.described().await?))
    }

    /// Changes it. Nothing that somebody else changes meanwhile is lost: then the change is made once
    /// more, on what is there.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use steadfast::{ClientError, ScheduleHandle, ScheduleSpec};
    /// # async fn f(nightly: ScheduleHandle) -> Result<(), ClientError> {
    /// let hourly = ScheduleSpec::new().every(Duration::from_secs(3600));
    /// nightly.update(|schedule| schedule.at(hourly.clone()).note("more often")).await?;
    /// # Ok(()) }
    /// ```
    pub async fn update(&self, change: impl Fn(Schedule) -> Schedule) -> Result<(), ClientError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let described = self.described().await?;
            let current = Schedule::of(described.schedule.unwrap_or_default());
            let request = ws::UpdateScheduleRequest {
                namespace: self.client.namespace.clone(),
                schedule_id: self.id.clone(),
                schedule: Some(change(current).finish(&self.id)?),
                conflict_token: described.conflict_token,
                identity: self.client.identity.clone(),
                request_id: fresh_id().to_string(),
                ..ws::UpdateScheduleRequest::default()
            };
            match self.client.door.update_schedule(request).await {
                Ok(_) => return Ok(()),
                Err(error) if error.code == Code::FailedPrecondition && tries < TRIES_MAX => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Holds it back, with a line for people.
    pub async fn pause(&self, note: &str) -> Result<(), ClientError> {
        let pause = said(note, "paused");
        self.patch(SchedulePatch { pause, ..SchedulePatch::default() }).await
    }

    /// Lets it go on, with a line for people.
    pub async fn unpause(&self, note: &str) -> Result<(), ClientError> {
        let unpause = said(note, "unpaused");
        self.patch(SchedulePatch { unpause, ..SchedulePatch::default() }).await
    }

    /// Has it act now, whatever the time.
    pub async fn trigger(&self) -> Result<(), ClientError> {
        self.trigger_with(ScheduleOverlapPolicy::Unspecified).await
    }

    /// As [`trigger`](Self::trigger), and says what happens if the run before is not done.
    pub async fn trigger_with(&self, overlap: ScheduleOverlapPolicy) -> Result<(), ClientError> {
        let trigger = TriggerImmediatelyRequest {
            overlap_policy: overlap.into(),
            ..TriggerImmediatelyRequest::default()
        };
        self.patch(SchedulePatch { trigger_immediately: Some(trigger), ..SchedulePatch::default() })
            .await
    }

    /// Has it act as if it were there at all its times from here to there.
    pub async fn backfill(
        &self,
        from: SystemTime,
        to: SystemTime,
        overlap: ScheduleOverlapPolicy,
    ) -> Result<(), ClientError> {
        let fill = BackfillRequest {
            start_time: Some(span::time_to_wire(from)),
            end_time: Some(span::time_to_wire(to)),
            overlap_policy: overlap.into(),
        };
        let backfill_request = vec![fill];
        self.patch(SchedulePatch { backfill_request, ..SchedulePatch::default() }).await
    }

    /// Its times from here to there, both included.
    pub async fn times(
        &self,
        from: SystemTime,
        to: SystemTime,
    ) -> Result<Vec<SystemTime>, ClientError> {
        let request = ws::ListScheduleMatchingTimesRequest {
            namespace: self.client.namespace.clone(),
            schedule_id: self.id.clone(),
            start_time: Some(span::time_to_wire(from)),
            end_time: Some(span::time_to_wire(to)),
        };
        let found = self.client.door.list_schedule_matching_times(request).await?;
        Ok(description::times(&found.start_time))
    }

    /// Deletes it. What it has started goes on.
    pub async fn delete(&self) -> Result<(), ClientError> {
        let request = ws::DeleteScheduleRequest {
            namespace: self.client.namespace.clone(),
            schedule_id: self.id.clone(),
            identity: self.client.identity.clone(),
        };
        self.client.door.delete_schedule(request).await?;
        Ok(())
    }

    async fn described(&self) -> Result<ws::DescribeScheduleResponse, ClientError> {
        let request = ws::DescribeScheduleRequest {
            namespace: self.client.namespace.clone(),
            schedule_id: self.id.clone(),
        };
        Ok(self.client.door.describe_schedule(request).await?)
    }

    async fn patch(&self, patch: SchedulePatch) -> Result<(), ClientError> {
        let request = ws::PatchScheduleRequest {
            namespace: self.client.namespace.clone(),
            schedule_id: self.id.clone(),
            patch: Some(patch),
            identity: self.client.identity.clone(),
            request_id: fresh_id().to_string(),
        };
        self.client.door.patch_schedule(request).await?;
        Ok(())
    }
}

/// A note; without one nothing would be done.
fn said(note: &str, otherwise: &str) -> String {
    if note.is_empty() { otherwise.to_owned() } else { note.to_owned() }
}

fn is_there(error: Error, schedule_id: &str) -> ClientError {
    if error.code == Code::AlreadyExists {
        return ClientError::ScheduleExists { schedule_id: schedule_id.to_owned() };
    }
    error.into()
}

/// How often a change is made again because somebody else was faster.
const TRIES_MAX: u32 = 10;
