//! `cargo xtask promises`: the table of promises against the tests that exist.
//!
//! `docs/promises.md` says what Steadfast promises, one row a promise, and which tests check it.
//! A test belongs to a promise when its name begins with the promise's id (`c_05_…` checks C-05;
//! a test that checks several begins with all of them, `c_36_c_37_…`). The table may say
//! `missing`, but it may not say anything untrue.

mod ids;
mod scan;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::{Context as _, Result, bail};

use self::{
    ids::Id,
    scan::Test,
    table::{Row, Table},
};
use crate::tree;

const PATH: &str = "docs/promises.md";

/// Says how many promises have tests; fails where the table is untrue. With `--write`, makes it
/// true first.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let write = match args {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => bail!("promises takes `--write` or nothing"),
    };
    let files = tree::files(tree::root())?;
    let tests: Vec<Test> = files.iter().flat_map(scan::tests).collect();
    let path = tree::root().join(PATH);
    let mut text = fs::read_to_string(&path).with_context(|| format!("reading {PATH}"))?;
    if write {
        text = Table::parse(&text)?.rewritten(&by_id(&tests));
        fs::write(&path, &text).with_context(|| format!("writing {PATH}"))?;
    }
    report(&Table::parse(&text)?, &tests)
}

fn report(table: &Table<'_>, tests: &[Test]) -> Result<()> {
    let checked = by_id(tests);
    for series in ids::SERIES {
        let missing: Vec<Id> = series.ids().filter(|id| !checked.contains_key(id)).collect();
        if !missing.is_empty() {
            println!("{} of {} missing: {}", missing.len(), series.name, ids::ranges(&missing));
        }
    }
    println!("{}", counts(&checked));
    let faults = faults(table, tests);
    for fault in &faults {
        println!("untrue: {fault}");
    }
    match faults.len() {
        0 => Ok(()),
        count => {
            bail!("{PATH} is untrue in {count} place(s); `cargo xtask promises --write` mends rows")
        }
    }
}

fn counts(checked: &BTreeMap<Id, Vec<&Test>>) -> String {
    let of = |peer: bool| {
        let series = || ids::SERIES.iter().filter(move |series| series.peer_faults == peer);
        let all = series().flat_map(ids::Series::ids).count();
        let done =
            series().flat_map(ids::Series::ids).filter(|id| checked.contains_key(id)).count();
        format!("{done} of {all}")
    };
    format!("promises with a test: {}; faults of peers with a test: {}", of(false), of(true))
}

fn by_id(tests: &[Test]) -> BTreeMap<Id, Vec<&Test>> {
    let mut map: BTreeMap<Id, Vec<&Test>> = BTreeMap::new();
    for test in tests {
        for id in ids::leading(&test.name) {
            map.entry(id).or_default().push(test);
        }
    }
    map
}

/// Where the table and the tests disagree.
fn faults(table: &Table<'_>, tests: &[Test]) -> Vec<String> {
    let known: BTreeSet<Id> = ids::SERIES.iter().flat_map(ids::Series::ids).collect();
    let checked = by_id(tests);
    let mut faults = Vec::new();
    let mut rows = BTreeSet::new();
    for row in &table.rows {
        if !known.contains(&row.id) {
            faults.push(format!("{} is no promise", row.id));
        }
        if !rows.insert(row.id.clone()) {
            faults.push(format!("{} has two rows", row.id));
        }
        faults.extend(row_faults(row, checked.get(&row.id), tests));
    }
    faults.extend(known.difference(&rows).map(|id| format!("{id} has no row")));
    for (id, tests) in checked.iter().filter(|(id, _)| !known.contains(*id)) {
        faults.push(format!("{} is named after {id}, which is no promise", tests[0]));
    }
    faults
}

fn row_faults(row: &Row<'_>, checked: Option<&Vec<&Test>>, tests: &[Test]) -> Vec<String> {
    let mut faults = Vec::new();
    for name in &row.checked_by {
        if !tests.iter().any(|test| test.is_called(name)) {
            faults.push(format!("{} names `{name}`, which is no test", row.id));
        }
    }
    if let (true, Some(tests)) = (row.checked_by.is_empty(), checked) {
        faults.push(format!("{} says missing, but {} exists", row.id, tests[0]));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str) -> Test {
        Test { place: "retry::backoff".to_owned(), name: name.to_owned() }
    }

    fn check(rows: &str, tests: &[Test]) -> Vec<String> {
        let table = Table::parse(rows).expect("well formed");
        let mut found = faults(&table, tests);
        // Small examples do not have all rows.
        found.retain(|fault| !fault.ends_with("has no row"));
        found
    }

    #[test]
    fn a_true_table_has_no_faults() {
        let rows = "| C-05 | p | `retry::backoff::c_05_x` |\n| C-06 | p | missing |\n";
        assert_eq!(check(rows, &[test("c_05_x")]), Vec::<String>::new());
    }

    #[test]
    fn a_row_that_names_no_test_is_a_fault() {
        let rows = "| C-05 | p | `c_05_x` |\n| C-06 | p | `store::a::c_06_y` |\n";
        assert_eq!(
            check(rows, &[test("c_06_y")]),
            [
                "C-05 names `c_05_x`, which is no test",
                "C-06 names `store::a::c_06_y`, which is no test"
            ]
        );
    }

    #[test]
    fn a_row_that_says_missing_while_a_test_exists_is_a_fault() {
        assert_eq!(
            check("| C-05 | p | missing |\n", &[test("c_05_x")]),
            ["C-05 says missing, but retry::backoff::c_05_x exists"]
        );
    }

    #[test]
    fn unknown_double_and_absent_ids_are_faults() {
        let rows = "| C-99 | p | missing |\n| C-01 | p | missing |\n| C-01 | p | missing |\n";
        let found = check(rows, &[test("d_300_x")]);
        assert_eq!(
            found,
            [
                "C-99 is no promise",
                "C-01 has two rows",
                "retry::backoff::d_300_x is named after D-300, which is no promise"
            ]
        );
        let table = Table::parse("").expect("well formed");
        assert_eq!(faults(&table, &[]).len(), 325 + 23, "every row is asked for");
    }

    #[test]
    fn the_counts_are_told() {
        let tests = [test("c_05_x"), test("c_05_y"), test("p_03_z")];
        assert_eq!(
            counts(&by_id(&tests)),
            "promises with a test: 1 of 325; faults of peers with a test: 1 of 23"
        );
    }
}
