//! What a run has to say to other runs, as it is kept until they have heard it.

/// A message to another run that it has not yet acknowledged.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Message {
    /// Whom it is for.
    #[prost(message, optional, tag = "1")]
    pub target: Option<Target>,
    /// What it says.
    #[prost(oneof = "Notice", tags = "2, 3, 4, 5, 6, 7, 8")]
    pub notice: Option<Notice>,
}

/// The run, or the schedule, that a message is for.
#[expect(clippy::struct_field_names, reason = "each says which id")]
#[derive(Clone, PartialEq, prost::Message)]
pub struct Target {
    /// The namespace's id.
    #[prost(string, tag = "1")]
    pub namespace_id: String,
    /// The workflow id, or the schedule's id.
    #[prost(string, tag = "2")]
    pub workflow_id: String,
    /// One run, or empty for the current one.
    #[prost(string, tag = "3")]
    pub run_id: String,
    /// The first run of the chain that must be meant; empty for any.
    #[prost(string, tag = "4")]
    pub first_run_id: String,
}

/// What a run has to say to others when it closes, or when it takes another one's place.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Notice {
    /// To the parent: its child, initiated by this event, has closed. How is said by the last
    /// event of this run.
    #[prost(int64, tag = "2")]
    ChildClosed(i64),
    /// To a child: end, your parent has closed.
    #[prost(bool, tag = "3")]
    Terminate(bool),
    /// To a child: your parent has closed and wants you cancelled.
    #[prost(bool, tag = "4")]
    Cancel(bool),
    /// To a child, initiated by this event: your parent was reset, and lives on as this run.
    #[prost(int64, tag = "5")]
    Adopt(i64),
    /// To a schedule: what you started has closed. How is said by the last event of this run.
    #[prost(bool, tag = "6")]
    ScheduledClosed(bool),
    /// To a workflow that wants to know, as a signal: work was given up or parked.
    #[prost(message, tag = "7")]
    Signal(Told),
    /// To an address that wants to know: the same.
    #[prost(message, tag = "8")]
    Webhook(Told),
}

/// What somebody is told who is no part of the workflow.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Told {
    /// The signal's name, or the address.
    #[prost(string, tag = "1")]
    pub to: String,
    /// A JSON document.
    #[prost(string, tag = "2")]
    pub body: String,
}
