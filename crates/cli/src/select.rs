//! Which errors a command is about: those with these ids, or those that are like this.

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::{time::Moment, trouble::Trouble};

/// What errors must be like. What is not given does not restrict.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Which errors")]
pub(crate) struct Filter {
    /// In one of these states: retrying, parked, failed, dead
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = ["retrying", "parked", "failed", "dead"])]
    state: Vec<String>,

    /// Of workflows of this type
    #[arg(long, value_name = "NAME", visible_alias = "flow")]
    workflow_type: Option<String>,

    /// Of activities of this type
    #[arg(long, value_name = "NAME")]
    activity_type: Option<String>,

    /// Of this workflow
    #[arg(long, short, value_name = "ID")]
    workflow_id: Option<String>,

    /// With exactly this cause
    #[arg(long, value_name = "TEXT")]
    cause: Option<String>,

    /// With this somewhere in the cause
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,

    /// With this type of failure
    #[arg(long, value_name = "NAME")]
    error_type: Option<String>,

    /// With this fingerprint, as `errors --by fingerprint` lists them
    #[arg(long, value_name = "DIGITS")]
    fingerprint: Option<String>,

    /// Only those that somebody has acknowledged, or only those that nobody has
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    acknowledged: Option<bool>,

    /// That failed for the last time at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,

    /// That failed for the last time before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,

    /// Tried this often or more
    #[arg(long, value_name = "NUMBER")]
    min_attempts: Option<u32>,
}

/// Which errors are meant.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Select {
    /// Their ids, as `steadfast errors` lists them
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    #[command(flatten)]
    filter: Filter,

    /// All that can be meant
    #[arg(long)]
    all: bool,
}

impl Filter {
    /// As a query.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let states = (!self.state.is_empty()).then(|| self.state.join(","));
        [
            ("state", states),
            ("workflowType", self.workflow_type.clone()),
            ("activityType", self.activity_type.clone()),
            ("workflowId", self.workflow_id.clone()),
            ("cause", self.cause.clone()),
            ("contains", self.contains.clone()),
            ("errorType", self.error_type.clone()),
            ("fingerprint", self.fingerprint.clone()),
            ("acknowledged", self.acknowledged.map(|it| it.to_string())),
            ("since", self.since.map(|it| it.to_string())),
            ("until", self.until.map(|it| it.to_string())),
            ("minAttempts", self.min_attempts.map(|it| it.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| (name, value)))
        .collect()
    }

    /// As a part of a body.
    fn value(&self) -> Map<String, Value> {
        let typed = |name: &str, value: String| match name {
            "acknowledged" => json!(self.acknowledged),
            "minAttempts" => json!(self.min_attempts),
            _ => json!(value),
        };
        self.pairs()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), typed(name, value)))
            .collect()
    }
}

impl Select {
    /// As a part of a body; nothing takes every error unless it says so.
    pub(crate) fn value(&self) -> Result<Value> {
        let filter = self.filter.value();
        match (self.ids.is_empty(), filter.is_empty(), self.all) {
            (false, true, false) => Ok(json!({ "ids": self.ids })),
            (true, false, false) => Ok(json!({ "filter": filter })),
            (true, true, true) => Ok(json!({ "all": true })),
            (true, true, false) => Err(Trouble::usage(
                "say which errors are meant: their ids, flags such as --workflow-type and --cause, \
                 or --all",
            )),
            _ => Err(Trouble::usage("ids, flags such as --cause, and --all exclude each other")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_means_every_error_unless_it_says_so() {
        let none = Select::default();
        assert!(none.value().expect_err("which?").to_string().contains("or --all"));
        let all = Select { all: true, ..Select::default() };
        assert_eq!(all.value().expect("all"), json!({ "all": true }));
        let ids = Select { ids: vec!["1-5".to_owned()], ..Select::default() };
        assert_eq!(ids.value().expect("ids"), json!({ "ids": ["1-5"] }));
        let both = Select { all: true, ..ids };
        assert!(both.value().expect_err("both").to_string().contains("exclude each other"));
    }

    #[test]
    fn a_filter_keeps_its_types() {
        let filter = Filter {
            state: vec!["parked".to_owned(), "dead".to_owned()],
            acknowledged: Some(false),
            min_attempts: Some(3),
            ..Filter::default()
        };
        let select = Select { filter, ..Select::default() };
        let wanted = json!({ "filter": { "state": "parked,dead", "acknowledged": false, "minAttempts": 3 } });
        assert_eq!(select.value().expect("a filter"), wanted);
    }
}
