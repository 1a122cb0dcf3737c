//! The floors inside a crate.
//!
//! A crate says in its file `FLOORS` how its modules stand on each other: one line a floor,
//! ground first, names separated by spaces, `#` begins a comment.
//!
//! ```text
//! # the ground
//! time
//! event timer
//! run
//! ```
//!
//! A module may import modules on floors below its own. Neighbours on one floor may not import
//! each other, and nobody imports through the root: the root file alone sees all floors.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::imports;
use crate::tree::File;

/// Where the crate in `folder` breaks its own plan.
pub(super) fn faults(folder: &str, plan: &str, files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    let floors = parse(folder, plan, &mut faults);
    let src = format!("{folder}/src/");
    let mut seen = BTreeSet::new();
    for file in files {
        let Some(name) = file.path.strip_prefix(&src) else { continue };
        let Some((home, depth)) = home(name) else { continue };
        seen.insert(home.to_owned());
        match floors.get(home) {
            Some(_) => faults.extend(import_faults(file, home, depth, &floors)),
            None => faults.push(format!("{}: module `{home}` is on no floor", file.path)),
        }
    }
    for name in floors.keys().filter(|name| !seen.contains(*name)) {
        faults.push(format!("{folder}/FLOORS: names `{name}`, which has no file"));
    }
    faults
}

/// The floor of each module.
fn parse(folder: &str, plan: &str, faults: &mut Vec<String>) -> BTreeMap<String, usize> {
    let mut floors = BTreeMap::new();
    for (level, line) in plan.lines().enumerate() {
        let names = line.split('#').next().unwrap_or_default();
        for name in names.split_whitespace() {
            if floors.insert(name.to_owned(), level).is_some() {
                faults.push(format!("{folder}/FLOORS: `{name}` stands on two floors"));
            }
        }
    }
    floors
}

/// The top module that a file under `src/` belongs to, and how deep in it the file lies. A root
/// (`lib.rs`, `main.rs`, the programs in `bin/`) has none.
fn home(name: &str) -> Option<(&str, usize)> {
    let path = name.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let home = path.split('/').next()?;
    let is_root = ["lib", "main", "bin"].contains(&home);
    (!is_root).then(|| (home, path.split('/').count()))
}

fn import_faults(
    file: &File,
    home: &str,
    depth: usize,
    floors: &BTreeMap<String, usize>,
) -> Vec<String> {
    let mut faults = Vec::new();
    for import in imports(&file.text, depth) {
        let target = import.target;
        let complaint = match floors.get(&target) {
            Some(_) if target == home => continue,
            Some(below) if *below < floors[home] => continue,
            Some(same) if *same == floors[home] => "a neighbour on its own floor",
            Some(_) => "which is on a floor above",
            None => "through the root",
        };
        faults.push(format!(
            "{}:{}: `{home}` imports `{target}`, {complaint}",
            file.path, import.line
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# ground\ntime\n\nevent timer # neighbours\nrun\n";

    fn check(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File { path: format!("crates/x/{path}"), text: (*text).to_owned() })
            .collect();
        let mut found = faults("crates/x", PLAN, &files);
        // Small examples do not have all files of the plan.
        found.retain(|fault| !fault.contains("which has no file"));
        found
    }

    #[test]
    fn imports_that_point_down_are_tidy() {
        let found = check(&[
            ("src/lib.rs", "mod time; use crate::run::Run;"),
            ("src/run/mod.rs", "use crate::{event::Event, time, run::inner};"),
            ("src/run/inner.rs", "use super::Run; use crate::timer;"),
            ("src/bin/tool.rs", "use crate::anything;"),
            ("tests/run.rs", "use crate::anything;"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn upward_imports_are_faults_in_submodules_and_tests_too() {
        let found = check(&[
            ("src/time.rs", "use crate::run::Run;"),
            ("src/event/kind.rs", "\nmod tests { use crate::run; }"),
            ("src/timer.rs", "use super::run::Run;"),
        ]);
        assert_eq!(
            found,
            [
                "crates/x/src/time.rs:1: `time` imports `run`, which is on a floor above",
                "crates/x/src/event/kind.rs:2: `event` imports `run`, which is on a floor above",
                "crates/x/src/timer.rs:1: `timer` imports `run`, which is on a floor above",
            ]
        );
    }

    #[test]
    fn sideways_imports_and_the_root_are_faults() {
        let found = check(&[("src/event.rs", "use crate::timer::Timer;\nuse crate::Run;")]);
        assert_eq!(
            found,
            [
                "crates/x/src/event.rs:1: `event` imports `timer`, a neighbour on its own floor",
                "crates/x/src/event.rs:2: `event` imports `Run`, through the root",
            ]
        );
    }

    #[test]
    fn a_module_on_no_floor_is_a_fault() {
        assert_eq!(
            check(&[("src/util.rs", "")]),
            ["crates/x/src/util.rs: module `util` is on no floor"]
        );
    }

    #[test]
    fn a_plan_that_names_a_module_twice_or_a_missing_one_is_a_fault() {
        assert_eq!(
            faults("crates/x", "a\na b", &[]),
            [
                "crates/x/FLOORS: `a` stands on two floors",
                "crates/x/FLOORS: names `a`, which has no file",
                "crates/x/FLOORS: names `b`, which has no file",
            ]
        );
    }
}
