//! The rows of `docs/promises.md`.
//!
//! A row is `| id | promise | checked by |`, where the last cell says `missing` or names tests in
//! backticks, separated by commas. Every other line is prose and is left as it is.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::{ids::Id, scan::Test};

/// The document.
#[derive(Debug)]
pub(super) struct Table<'a> {
    text: &'a str,
    /// Its rows, in order.
    pub(super) rows: Vec<Row<'a>>,
}

/// One promise.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// Which line of the document, from 0.
    line: usize,
    /// Its id.
    pub(super) id: Id,
    /// What is promised, in short.
    promise: &'a str,
    /// The tests that it names; none if it says `missing`.
    pub(super) checked_by: Vec<&'a str>,
}

impl<'a> Table<'a> {
    /// Reads the document; refuses rows of another shape.
    pub(super) fn parse(text: &'a str) -> Result<Self> {
        let mut rows = Vec::new();
        for (line, content) in text.lines().enumerate() {
            rows.extend(row(line, content)?);
        }
        Ok(Self { text, rows })
    }

    /// The document with the last cell of every row replaced by the tests that exist.
    pub(super) fn rewritten(&self, tests: &BTreeMap<Id, Vec<&Test>>) -> String {
        let mut lines: Vec<String> = self.text.lines().map(ToOwned::to_owned).collect();
        for row in &self.rows {
            let cell = tests.get(&row.id).map_or_else(|| "missing".to_owned(), |list| cell(list));
            lines[row.line] = format!("| {} | {} | {cell} |", row.id, row.promise);
        }
        lines.join("\n") + "\n"
    }
}

fn row(line: usize, content: &str) -> Result<Option<Row<'_>>> {
    let cells: Vec<&str> = content.split('|').map(str::trim).collect();
    let Some(id) = cells.get(1).and_then(|cell| Id::parse(cell)) else { return Ok(None) };
    let ["", _, promise, checked, ""] = cells[..] else {
        bail!("line {}: the row of {id} does not have three cells", line + 1);
    };
    if promise.is_empty() {
        bail!("line {}: the row of {id} says nothing", line + 1);
    }
    Ok(Some(Row { line, id, promise, checked_by: names(checked) }))
}

fn names(cell: &str) -> Vec<&str> {
    if cell == "missing" {
        return Vec::new();
    }
    cell.split(',').map(|name| name.trim().trim_matches('`')).collect()
}

fn cell(tests: &[&Test]) -> String {
    tests.iter().map(|test| format!("`{test}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Promises\n\n| id | promise | checked by |\n|---|---|---|\n\
        | C-05 | the first delay | missing |\n| C-06 | the rest | `a::b::c_06_x`, c_06_y |\n";

    #[test]
    fn rows_are_read_and_prose_is_not() {
        let table = Table::parse(TEXT).expect("well formed");
        let rows: Vec<(String, &str, &[&str])> = table
            .rows
            .iter()
            .map(|row| (row.id.to_string(), row.promise, &*row.checked_by))
            .collect();
        assert_eq!(
            rows,
            [
                ("C-05".to_owned(), "the first delay", &[][..]),
                ("C-06".to_owned(), "the rest", &["a::b::c_06_x", "c_06_y"][..]),
            ]
        );
    }

    #[test]
    fn a_row_of_another_shape_is_refused() {
        for text in ["| C-05 | only two |", "| C-05 | a | b | c |", "| C-05 |  | missing |"] {
            let error = Table::parse(text).expect_err("it is refused").to_string();
            assert!(error.starts_with("line 1: the row of C-05"), "{error}");
        }
    }

    #[test]
    fn writing_changes_the_last_cell_only() {
        let test = Test { place: "a::b".to_owned(), name: "c_05_x".to_owned() };
        let id = Id::parse("C-05").expect("an id");
        let table = Table::parse(TEXT).expect("well formed");
        let text = table.rewritten(&BTreeMap::from([(id, vec![&test])]));
        let expected = TEXT
            .replace("delay | missing", "delay | `a::b::c_05_x`")
            .replace("`a::b::c_06_x`, c_06_y", "missing");
        assert_eq!(text, expected);
    }
}
