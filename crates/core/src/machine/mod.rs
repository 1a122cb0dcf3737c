//! One file for each thing that a run can be asked to do or waits on, its state chart on top.

pub(crate) mod acknowledge;
pub(crate) mod activity;
pub(crate) mod activity_change;
pub(crate) mod activity_fate;
pub(crate) mod activity_options;
pub(crate) mod activity_park;
pub(crate) mod activity_policy;
pub(crate) mod activity_retry;
pub(crate) mod activity_schedule;
pub(crate) mod cancel;
pub(crate) mod child;
pub(crate) mod close;
pub(crate) mod create;
pub(crate) mod external;
pub(crate) mod parent;
pub(crate) mod properties;
pub(crate) mod run_resume;
pub(crate) mod setback;
pub(crate) mod signal;
pub(crate) mod successor;
pub(crate) mod tell;
pub(crate) mod terminate;
pub(crate) mod timer;
pub(crate) mod update;
pub(crate) mod workflow_task;
