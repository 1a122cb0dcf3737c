//! What is kept about failures that nobody has settled yet. As in [`state`](crate::state), a tag is
//! never reused.

use std::collections::BTreeMap;

use steadfast_proto::common;

/// An activity that is not tried until it is resumed.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Park {
    /// Since when.
    #[prost(int64, tag = "1")]
    pub at: i64,
    /// Why.
    #[prost(enumeration = "ParkedFor", tag = "2")]
    pub why: i32,
    /// Why, in words.
    #[prost(string, tag = "3")]
    pub words: String,
    /// When it is resumed without a person.
    #[prost(int64, tag = "4")]
    pub resume_at: i64,
    /// Who says so: the name of a resume policy, or the words of a rule.
    #[prost(string, tag = "5")]
    pub resume_reason: String,
    /// When it is not kept any longer.
    #[prost(int64, tag = "7")]
    pub expires_at: i64,
    /// What becomes of it then.
    #[prost(enumeration = "Then", tag = "8")]
    pub then: i32,
    /// How its retries ended, as the public protocol has it, should it fail after all.
    #[prost(int32, tag = "9")]
    pub retry_state: i32,
    /// Until when it is held although it is due: the next search for what is.
    #[prost(int64, tag = "10")]
    pub held_until: i64,
}

/// A run that failed and goes on by itself.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RunResume {
    /// When.
    #[prost(int64, tag = "1")]
    pub at: i64,
    /// The name of the resume policy that says so.
    #[prost(string, tag = "2")]
    pub reason: String,
    /// Until when it is held although it is due: the next search for what is.
    #[prost(int64, tag = "3")]
    pub held_until: i64,
    /// Whether its time has come, and somebody is to reset it.
    #[prost(bool, tag = "4")]
    pub handed_over: bool,
}

/// Why an activity was parked.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, prost::Enumeration)]
#[repr(i32)]
pub enum ParkedFor {
    /// Not said.
    Unspecified = 0,
    /// Its policy has nothing left to offer.
    Exhausted = 1,
    /// Its failure is not to be retried.
    NonRetryable = 2,
    /// A rule wants it parked.
    Rule = 3,
    /// Its attempts end their workers.
    Poison = 4,
    /// An operator parked it.
    Operator = 5,
}

/// What becomes of a parked activity that nobody resumes in time.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, prost::Enumeration)]
#[repr(i32)]
pub enum Then {
    /// Its failure goes to the workflow.
    Fail = 0,
    /// So it does, and a dead letter stays.
    DeadLetter = 1,
}

/// Somebody has taken note of a failure.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Acknowledged {
    /// When.
    #[prost(int64, tag = "1")]
    pub at: i64,
    /// Who.
    #[prost(string, tag = "2")]
    pub identity: String,
    /// Why.
    #[prost(string, tag = "3")]
    pub reason: String,
}

/// A change from outside.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Change {
    /// When.
    #[prost(int64, tag = "1")]
    pub at: i64,
    /// Who.
    #[prost(string, tag = "2")]
    pub identity: String,
    /// Why.
    #[prost(string, tag = "3")]
    pub reason: String,
    /// What, in words.
    #[prost(string, tag = "4")]
    pub what: String,
}

/// What only the next attempt is told.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NextOnly {
    /// Fields of its header.
    #[prost(btree_map = "string, message", tag = "1")]
    pub fields: BTreeMap<String, common::Payload>,
}

/// What a run or its workflow task failed of.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trouble {
    /// The type of the error.
    #[prost(string, tag = "1")]
    pub error_type: String,
    /// What it said.
    #[prost(string, tag = "2")]
    pub cause: String,
    /// When it happened for the first time.
    #[prost(int64, tag = "3")]
    pub first_at: i64,
    /// When it happened last.
    #[prost(int64, tag = "4")]
    pub last_at: i64,
    /// How often it was tried.
    #[prost(uint32, tag = "5")]
    pub attempts: u32,
    /// What was decided, in words.
    #[prost(string, tag = "6")]
    pub words: String,
    /// Who has taken note of it.
    #[prost(message, optional, tag = "7")]
    pub acknowledged: Option<Acknowledged>,
    /// Whether it is not tried again until somebody resumes it.
    #[prost(bool, tag = "8")]
    pub parked: bool,
    /// The last few requests that resumed it: a repetition of one changes nothing.
    #[prost(string, repeated, tag = "9")]
    pub resumed_by: Vec<String>,
}

/// Whether a resume was asked for before. A bulk resume that a crash interrupts asks again, and
/// somebody else may have resumed the same thing meanwhile.
pub(crate) fn is_repeated(resumed_by: &[String], request_id: &str) -> bool {
    !request_id.is_empty() && resumed_by.iter().any(|it| it == request_id)
}

/// Remembers who asked for a resume.
pub(crate) fn remember(resumed_by: &mut Vec<String>, request_id: &str) {
    if !request_id.is_empty() {
        resumed_by.push(request_id.to_owned());
        let surplus = resumed_by.len().saturating_sub(RESUMES_REMEMBERED);
        resumed_by.drain(..surplus);
    }
}

const RESUMES_REMEMBERED: usize = 8;

/// What is left of an activity that was dead-lettered.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DeadLetter {
    /// The activity's id.
    #[prost(string, tag = "1")]
    pub activity_id: String,
    /// The activity's type.
    #[prost(string, tag = "2")]
    pub activity_type: String,
    /// The activity's kind.
    #[prost(string, tag = "3")]
    pub kind: String,
    /// What it failed of.
    #[prost(message, optional, tag = "4")]
    pub trouble: Option<Trouble>,
    /// How often it was resumed.
    #[prost(uint32, tag = "5")]
    pub resumes: u32,
}

impl crate::table::Row for DeadLetter {}
