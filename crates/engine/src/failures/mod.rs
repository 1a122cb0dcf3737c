//! What operators say about failures in a namespace, and how it is kept.
//!
//! ```text
//!   settings          what becomes of work that is given up, who is told
//!   policies          rules for retries, in many versions     ──▶ a rulebook, compiled once,
//!   resume policies   when parked work goes on by itself          which every failure is asked about
//! ```
//!
//! All of it is one setting a namespace, replaced whole: there is no half of a change.

mod acted;
mod book;
mod error_id;
mod job_report;
mod policies;
mod ramp;
mod resume_job;
mod resume_policies;
mod selection;
mod settings;

pub use acted::{Acted, Resume};
pub(crate) use book::Books;
pub use book::{Book, BookChange, Who};
pub use error_id::{BadErrorId, ErrorId};
pub use job_report::JobReport;
pub use policies::{NewPolicy, OperatorPolicy, PolicyVersion, Position, Scope};
pub(crate) use ramp::Ramp;
pub use resume_job::{JobOrder, JobProgress, JobRate, JobState, NewResumeJob};
pub(crate) use resume_job::{ResumeJob, ResumeJobs, Target, Targets, count};
pub use resume_policies::Loaded;
pub use selection::Selection;
pub use settings::{EndingSetting, KeySetting, Notify, Occasion, Settings, SignalTarget};
