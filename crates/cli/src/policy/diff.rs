//! `steadfast policy diff`: what changes from one policy to another, in its words and in its effect.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};
use steadfast_retry::{
    Draft, Policy, Rule,
    explain::{Setting, explain},
};

use crate::{
    output::{Paint, View},
    trouble::Trouble,
};

/// A policy and what it is called here.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) name: String,
    pub(crate) draft: Draft,
}

/// One field that is not the same.
#[derive(Debug, Eq, PartialEq)]
struct Difference {
    field: String,
    before: Option<String>,
    after: Option<String>,
}

/// Says what is different.
pub(super) fn run(one: &Side, other: &Side, view: &View) -> Result<()> {
    let (before, after) = (one.fields()?, other.fields()?);
    let differences = differences(&before, &after);
    let effects = effects(one, other)?;
    let value = json!({
        "before": one.name,
        "after": other.name,
        "differences": differences.iter().map(Difference::value).collect::<Vec<_>>(),
        "effects": effects.iter().map(Difference::value).collect::<Vec<_>>(),
    });
    view.answer_value(&value, || {
        if differences.is_empty() {
            return format!("{} and {} say the same\n", one.name, other.name);
        }
        let paint = view.paint();
        let mut text = format!(
            "{}\n{}\n",
            paint.bad(&format!("--- {}", one.name)),
            paint.good(&format!("+++ {}", other.name))
        );
        for difference in &differences {
            text.push_str(&difference.text(paint));
        }
        if !effects.is_empty() {
            text.push('\n');
            for effect in &effects {
                text.push_str(&effect.text(paint));
            }
        }
        text
    })
}

impl Side {
    fn fields(&self) -> Result<BTreeMap<String, String>> {
        let mut fields = BTreeMap::new();
        flatten(String::new(), &serde_json::to_value(&self.draft)?, &mut fields);
        let mut usual = BTreeMap::new();
        flatten(String::new(), &serde_json::to_value(Rule::default())?, &mut usual);
        // What nobody wrote need not be told.
        fields.retain(|name, value| usual.get(within_a_rule(name)) != Some(value));
        Ok(fields)
    }

    fn policy(&self) -> Result<Policy> {
        Policy::new(self.draft.clone())
            .map_err(|invalid| Trouble::usage(format!("{}: {invalid}", self.name)))
    }
}

impl Difference {
    fn value(&self) -> Value {
        json!({ "field": self.field, "before": self.before, "after": self.after })
    }

    fn text(&self, paint: Paint) -> String {
        let line = |sign: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{sign} {}: {value}", self.field))
        };
        let before = line("-", &self.before).map(|line| paint.bad(&line));
        let after = line("+", &self.after).map(|line| paint.good(&line));
        [before, after].into_iter().flatten().map(|line| line + "\n").collect()
    }
}

fn differences(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<Difference> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| Difference {
            field: name.clone(),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
        })
        .collect()
}

/// What the change means for a failure that no rule is about.
fn effects(one: &Side, other: &Side) -> Result<Vec<Difference>> {
    let told = |side: &Side| -> Result<BTreeMap<String, String>> {
        let explanation = explain(&side.policy()?, &Setting::default());
        let calls = explanation.calls.map_or_else(|| "without end".to_owned(), |n| n.to_string());
        Ok([
            ("survives an outage of".to_owned(), explanation.horizon.to_string()),
            ("calls at most".to_owned(), calls),
        ]
        .into())
    };
    Ok(differences(&told(one)?, &told(other)?))
}

/// The name of a field within its rule, or within the default.
fn within_a_rule(name: &str) -> &str {
    let in_rule = name.strip_prefix("rules.").and_then(|rest| rest.split_once('.'));
    in_rule.map(|(_, field)| field).or_else(|| name.strip_prefix("default.")).unwrap_or(name)
}

/// Every value by its path. Numbers in paths count from 1, as people count rules.
fn flatten(path: String, value: &Value, fields: &mut BTreeMap<String, String>) {
    let join =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(name, value)| flatten(join(name), value, fields));
        }
        Value::Array(list) => {
            for (number, value) in (1..).zip(list) {
                flatten(join(&format!("{number:02}")), value, fields);
            }
        }
        Value::String(text) => drop(fields.insert(path, text.clone())),
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => drop(fields.insert(path, value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &str, text: &str) -> Side {
        Side { name: name.to_owned(), draft: serde_json::from_str(text).expect("a policy") }
    }

    #[test]
    fn what_is_different_is_told_with_what_it_means() {
        let backoff =
            r#""default": {"backoff": {"kind": "constant", "initial": "10s", "jitter": "none"}}"#;
        let one = side("a", &format!(r#"{{"name": "x", "max_attempts": 3, {backoff}}}"#));
        let rule = r#""rules": [{"match": {"type": "Gone"}, "action": "fail"}]"#;
        let other = side("b", &format!(r#"{{"name": "x", "max_attempts": 5, {rule}, {backoff}}}"#));
        let found = differences(&one.fields().expect("fields"), &other.fields().expect("fields"));
        let changed = found.iter().find(|it| it.field == "max_attempts").expect("changed");
        assert_eq!(changed.text(Paint::plain()), "- max_attempts: 3\n+ max_attempts: 5\n");
        assert!(found.iter().any(|it| it.field == "rules.01.match.type" && it.before.is_none()));
        let effects = effects(&one, &other).expect("explained");
        let lines: String = effects.iter().map(|it| it.text(Paint::plain())).collect();
        insta::assert_snapshot!(lines, @r"
        - calls at most: 3
        + calls at most: 5
        - survives an outage of: 20s
        + survives an outage of: 40s (worst 5 %: 40s, best: 40s)
        ");
        assert!(
            differences(&one.fields().expect("fields"), &one.fields().expect("fields")).is_empty()
        );
    }
}
