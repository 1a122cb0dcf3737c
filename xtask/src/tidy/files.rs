//! Rules for single files.

use crate::tree::File;

/// A longer file holds two ideas: name the second and move it.
const LINES_MAX: usize = 600;

/// Top folders of somebody's machine. Spelled without their slashes, so that this file passes.
const MACHINE_FOLDERS: &[&str] = &["work", "tmp", "home", "Users", "root"];

/// What is wrong with `file`.
pub(super) fn faults(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    let path = &file.path;
    if file.ending() == "rs" {
        let lines = file.text.lines().count();
        if lines > LINES_MAX {
            found.push(format!("{path}: {lines} lines; the limit is {LINES_MAX}"));
        }
        if !file.text.starts_with("//!") {
            found.push(format!("{path}: has no `//!` head that says what it is"));
        }
    }
    for (number, line) in file.text.lines().enumerate() {
        if file.ending() != "md" && has_loose_end(line) {
            found.push(format!("{path}:{}: a to-do without an issue number", number + 1));
        }
    }
    found.extend(machine_paths(file));
    found
}

/// What is wrong with a crate's manifest.
pub(super) fn manifest_fault(folder: &str, manifest: &str) -> Option<String> {
    let inherits = manifest.contains("[lints]\nworkspace = true");
    (!inherits).then(|| format!("{folder}/Cargo.toml: does not inherit the workspace's lints"))
}

/// A crate that the newcomer's map does not show.
pub(super) fn unnamed_fault(folder: &str, architecture: &str) -> Option<String> {
    let named = architecture.contains(&format!("`{folder}`"));
    (!named).then(|| format!("ARCHITECTURE.md: does not name `{folder}`"))
}

/// Whether `line` holds a to-do mark that is not followed by `(#number)`.
fn has_loose_end(line: &str) -> bool {
    // Spelled in pieces, so that this file passes.
    ["TO-DO", "FIX-ME"].iter().map(|mark| mark.replace('-', "")).any(|mark| {
        line.split(&mark).skip(1).any(|after| {
            let number = after.strip_prefix("(#").and_then(|rest| rest.split(')').next());
            !number.is_some_and(|digits| {
                !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
            })
        })
    })
}

/// Places on somebody's machine that are written down outside of tests.
fn machine_paths(file: &File) -> Vec<String> {
    if is_test(&file.path) {
        return Vec::new();
    }
    let product = file.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut found = Vec::new();
    for (number, line) in product.lines().enumerate() {
        for folder in MACHINE_FOLDERS {
            if names_folder(line, folder) {
                found.push(format!("{}:{}: names the folder /{folder}", file.path, number + 1));
            }
        }
    }
    found
}

fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Whether `/folder/` begins an absolute path in `line`; it does not inside of a longer path.
fn names_folder(line: &str, folder: &str) -> bool {
    let needle = format!("/{folder}/");
    line.match_indices(&needle).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.*}>".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str) -> Vec<String> {
        faults(&File { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn a_long_file_is_a_fault() {
        let text = format!("//! Head.\n{}", "\n".repeat(600));
        assert_eq!(check("a.rs", &text), ["a.rs: 601 lines; the limit is 600"]);
        assert!(check("a.md", &text).is_empty(), "prose may be long");
    }

    #[test]
    fn a_file_without_a_head_is_a_fault() {
        assert_eq!(check("a.rs", "fn f() {}"), ["a.rs: has no `//!` head that says what it is"]);
    }

    #[test]
    fn a_to_do_needs_an_issue_number() {
        let mark = ["TO", "DO"].concat();
        let fault = ["a.rs:2: a to-do without an issue number"];
        assert_eq!(check("a.rs", &format!("//! H\n// {mark}: later")), fault);
        assert_eq!(check("a.rs", &format!("//! H\n// {mark}(somebody): later")), fault);
        assert!(check("a.rs", &format!("//! H\n// {mark}(#12): later")).is_empty());
    }

    #[test]
    fn a_place_on_a_machine_is_a_fault_outside_of_tests() {
        let line = "//! see /work/notes";
        assert_eq!(check("a.rs", line), ["a.rs:1: names the folder /work"]);
        assert_eq!(check("README.md", "`/home/me/x`"), ["README.md:1: names the folder /home"]);
        assert!(check("crates/x/tests/a.rs", line).is_empty());
        assert!(check("a.rs", "//! H\n#[cfg(test)]\nmod tests {\n\"/tmp/x\"\n}").is_empty());
        assert!(check("a.rs", "//! target/tmp/x, https://example.com/work/x").is_empty());
    }

    #[test]
    fn a_crate_must_inherit_the_lints_and_be_on_the_map() {
        assert!(manifest_fault("crates/x", "[package]\n").is_some());
        assert!(manifest_fault("crates/x", "[lints]\nworkspace = true\n").is_none());
        assert!(unnamed_fault("crates/x", "| `crates/xy` |").is_some());
        assert!(unnamed_fault("crates/x", "| `crates/x` |").is_none());
    }
}
