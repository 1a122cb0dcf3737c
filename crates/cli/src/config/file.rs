//! The config file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, bail};
use toml::{Table, Value};

use super::settings::{SETTINGS, Setting};

/// What the file says, in its order: the one that was named, or `./steadfast.toml` if there is one.
pub(super) fn read(named: Option<&Path>) -> Result<Vec<(&'static Setting, String, PathBuf)>> {
    let path = named.unwrap_or_else(|| Path::new(USUAL)).to_owned();
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let said = understand(&text).with_context(|| path.display().to_string())?;
    Ok(said.into_iter().map(|(setting, text)| (setting, text, path.clone())).collect())
}

fn understand(text: &str) -> Result<Vec<(&'static Setting, String)>> {
    let table: Table = text.parse()?;
    table.iter().map(|(name, value)| Ok((known(name)?, plain(name, value)?))).collect()
}

fn known(name: &str) -> Result<&'static Setting> {
    let found = SETTINGS.iter().find(|setting| setting.name == name);
    found.ok_or_else(|| anyhow!("there is no setting {name:?}; the nearest is {:?}", nearest(name)))
}

fn nearest(name: &str) -> &'static str {
    let far = |other: &str| strsim::damerau_levenshtein(name, other);
    SETTINGS.iter().map(|setting| setting.name).min_by_key(|it| far(it)).unwrap_or_default()
}

/// A value as it would be said on the command line.
fn plain(name: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(it) => Ok(it.to_string()),
        Value::Array(list) => {
            let parts: Result<Vec<String>> = list.iter().map(|it| plain(name, it)).collect();
            Ok(parts?.join(","))
        }
        Value::Float(_) | Value::Datetime(_) | Value::Table(_) => {
            bail!("{name} is a text, a number or a list of texts, not {}", value.type_str())
        }
    }
}

const USUAL: &str = "steadfast.toml";

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<(&'static str, String)> {
        let said = understand(text).expect("understood");
        said.into_iter().map(|(setting, text)| (setting.name, text)).collect()
    }

    #[test]
    fn numbers_texts_and_lists_are_understood() {
        let mut said = said("shards = 8\ndb = \"a.db\"\nkeys = [\"a\", \"b\"]\n");
        said.sort();
        let expected = [("db", "a.db"), ("keys", "a,b"), ("shards", "8")];
        assert_eq!(said, expected.map(|(name, text)| (name, text.to_owned())));
    }

    #[test]
    fn what_is_not_known_is_told_with_what_is_near() {
        let error = understand("tls-crt = \"x\"").expect_err("unknown").to_string();
        assert_eq!(error, "there is no setting \"tls-crt\"; the nearest is \"tls-cert\"");
        let error = understand("[grpc]\naddress = \"x\"").expect_err("a table").to_string();
        assert_eq!(error, "grpc is a text, a number or a list of texts, not table");
        understand("db = ").expect_err("not TOML");
    }
}
