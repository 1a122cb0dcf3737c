//! What is kept of a schedule. A tag is never reused.

use steadfast_proto::{common, enums, failure::Failure, schedule};

/// All of a schedule, as one row.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ScheduleState {
    /// What was asked for, with its spec in canonical form.
    #[prost(message, optional, tag = "1")]
    pub schedule: Option<schedule::Schedule>,
    /// What has come of it so far.
    #[prost(message, optional, tag = "2")]
    pub info: Option<schedule::ScheduleInfo>,
    /// Its memo.
    #[prost(message, optional, tag = "3")]
    pub memo: Option<common::Memo>,
    /// Its search attributes.
    #[prost(message, optional, tag = "4")]
    pub search_attributes: Option<common::SearchAttributes>,
    /// The request that created it.
    #[prost(string, tag = "5")]
    pub create_request_id: String,
    /// How often it was changed, from 1: what a change must have seen.
    #[prost(int64, tag = "6")]
    pub version: i64,
    /// Nominal times up to here were considered.
    #[prost(int64, tag = "7")]
    pub considered: i64,
    /// Starts that wait for their turn, in order.
    #[prost(message, repeated, tag = "8")]
    pub buffer: Vec<Pending>,
    /// Starts that were decided on and of which nothing was heard yet.
    #[prost(message, repeated, tag = "9")]
    pub starting: Vec<Pending>,
    /// Runs that are to make room.
    #[prost(message, repeated, tag = "10")]
    pub closing: Vec<Closing>,
    /// Spans of time that are still to be filled in.
    #[prost(message, repeated, tag = "11")]
    pub backfills: Vec<Backfill>,
    /// The result of the last run that had one.
    #[prost(message, optional, tag = "12")]
    pub last_completion_result: Option<common::Payloads>,
    /// How the last run failed, if it did.
    #[prost(message, optional, tag = "13")]
    pub continued_failure: Option<Failure>,
    /// The last few requests that changed it.
    #[prost(string, repeated, tag = "14")]
    pub requests: Vec<String>,
    /// The number that the next start gets.
    #[prost(uint64, tag = "15")]
    pub next_number: u64,
    /// When it must be looked at again; 0 for never.
    #[prost(int64, tag = "16")]
    pub wake_at: i64,
    /// When it is deleted, as it has nothing more to do; 0 while it has.
    #[prost(int64, tag = "17")]
    pub delete_at: i64,
    /// The id of this schedule among all that ever had its name.
    #[prost(string, tag = "18")]
    pub incarnation: String,
}

/// One start: wanted, or decided on.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Pending {
    /// The time that the spec names.
    #[prost(int64, tag = "1")]
    pub nominal: i64,
    /// That time with jitter.
    #[prost(int64, tag = "2")]
    pub due: i64,
    /// What to do about others; unspecified is as the schedule says.
    #[prost(enumeration = "enums::ScheduleOverlapPolicy", tag = "3")]
    pub overlap_policy: i32,
    /// Whether somebody asked for it, so that neither pauses nor limits count.
    #[prost(bool, tag = "4")]
    pub manual: bool,
    /// Makes it count once, however often it is sent.
    #[prost(string, tag = "5")]
    pub request_id: String,
    /// The workflow id, once it is decided on.
    #[prost(string, tag = "6")]
    pub workflow_id: String,
    /// Whether it runs beside others and nobody waits for it.
    #[prost(bool, tag = "7")]
    pub beside: bool,
    /// When it was decided on.
    #[prost(int64, tag = "8")]
    pub begun: i64,
}

/// A run that is to make room for the next one.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Closing {
    /// The workflow, by its first run.
    #[prost(message, optional, tag = "1")]
    pub execution: Option<common::WorkflowExecution>,
    /// Whether it is terminated, or only asked to end.
    #[prost(bool, tag = "2")]
    pub terminate: bool,
    /// Makes it count once, however often it is sent.
    #[prost(string, tag = "3")]
    pub request_id: String,
    /// Whether it has heard.
    #[prost(bool, tag = "4")]
    pub heard: bool,
}

/// A span of time that is filled in.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Backfill {
    /// Nominal times up to here were considered.
    #[prost(int64, tag = "1")]
    pub considered: i64,
    /// The last instant that belongs to it.
    #[prost(int64, tag = "2")]
    pub end: i64,
    /// What to do about others.
    #[prost(enumeration = "enums::ScheduleOverlapPolicy", tag = "3")]
    pub overlap_policy: i32,
}
