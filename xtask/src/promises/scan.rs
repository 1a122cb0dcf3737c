//! Which tests there are.
//!
//! In Rust: functions that carry an attribute whose last word is `test` (or `rstest`), and names
//! of promises that are handed to a macro with `test`, `case` or `conformance` in its name. A test
//! that is ignored checks nothing and does not count. In Python, below `tests/`: `def test_…`, but
//! not those that are marked to be skipped or to fail.

use std::{collections::BTreeSet, fmt};

use super::ids;
use crate::{
    source::{Token, tokens},
    tree::File,
};

/// A test.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Test {
    /// Crate and file: `retry::backoff`.
    pub(super) place: String,
    /// The function's name.
    pub(super) name: String,
}

impl Test {
    /// Whether `name`, with or without its place, means this test.
    pub(super) fn is_called(&self, name: &str) -> bool {
        name == self.name || name == self.to_string()
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.place, self.name)
    }
}

/// The tests in `file`, by name.
pub(super) fn tests(file: &File) -> Vec<Test> {
    let names = match file.ending() {
        "rs" => rust(&file.text),
        "py" if file.path.contains("tests/") => python(&file.text),
        _ => return Vec::new(),
    };
    let place = place(&file.path);
    names.into_iter().map(|name| Test { place: place.clone(), name }).collect()
}

/// `crates/retry/src/backoff/mod.rs` is `retry::backoff`.
fn place(path: &str) -> String {
    let (path, _) = path.rsplit_once('.').unwrap_or((path, ""));
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let path = path.strip_prefix("crates/").unwrap_or(path);
    let first = path.split('/').next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    format!("{first}::{last}")
}

fn python(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut marked = false;
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("pytestmark") && checks_nothing(line) {
            return BTreeSet::new();
        }
        marked |= line.starts_with('@') && checks_nothing(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        let Some(rest) = line.strip_prefix("def ") else { continue };
        if rest.starts_with("test_") && !marked {
            found.insert(rest.split('(').next().unwrap_or_default().trim().to_owned());
        }
        marked = false;
    }
    found
}

/// Whether a mark of pytest says that a test is not run, or is expected to fail.
fn checks_nothing(mark: &str) -> bool {
    [".skip", ".xfail"].iter().any(|word| mark.contains(word))
}

fn rust(text: &str) -> BTreeSet<String> {
    let tokens = tokens(text);
    let mut found = BTreeSet::new();
    let mut marks = Marks::default();
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        match token.text {
            "#" => marks.read(rest),
            "fn" => {
                if let (Some(name), Some(true)) = (rest.first(), marks.verdict()) {
                    found.insert(name.text.to_owned());
                }
            }
            ";" | "{" | "}" => marks = Marks::default(),
            _ if is_test_macro(token, rest) => found.extend(handed_over(rest)),
            _ => (),
        }
    }
    found
}

/// What the attributes since the last item said.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    test: bool,
    ignored: bool,
}

impl Marks {
    /// Reads the attribute whose `#` stands before `tokens`.
    fn read(&mut self, tokens: &[Token<'_>]) {
        let path = tokens.iter().skip(1).map(|token| token.text);
        let last = path.take_while(|text| !["]", "(", "=", "["].contains(text)).last();
        self.test |= last == Some("test") || last == Some("rstest");
        self.ignored |= last == Some("ignore");
    }

    fn verdict(self) -> Option<bool> {
        self.test.then_some(!self.ignored)
    }
}

fn is_test_macro(name: &Token<'_>, rest: &[Token<'_>]) -> bool {
    let is_call = rest.first().is_some_and(|token| token.text == "!")
        && rest.get(1).is_some_and(|token| ["(", "{", "["].contains(&token.text));
    is_call && ["test", "case", "conformance"].iter().any(|word| name.text.contains(word))
}

/// The names of promises between the brackets that follow the `!`.
fn handed_over(tokens: &[Token<'_>]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut depth = 0;
    for token in &tokens[1..] {
        match token.text {
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => depth -= 1,
            name if !ids::leading(name).is_empty() => {
                found.insert(name.to_owned());
            }
            _ => (),
        }
        if depth == 0 {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        rust(text).into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn functions_with_a_test_attribute_are_found() {
        assert_eq!(found("#[test]\nfn c_05_x() {}"), "c_05_x");
        assert_eq!(found("#[tokio::test(start_paused = true)]\nasync fn c_06_x() {}"), "c_06_x");
        assert_eq!(found("/// Why.\n#[test]\n#[cfg(unix)]\npub(crate) fn c_07_x() {}"), "c_07_x");
        assert_eq!(found("proptest! { #[test] fn c_08_x(n in 0..9) {} }"), "c_08_x");
    }

    #[test]
    fn helpers_comments_strings_and_ignored_tests_are_not() {
        assert_eq!(found("fn c_05_x() {}"), "");
        assert_eq!(found("#[test]\nfn a() {}\nfn c_05_x() {}"), "a");
        assert_eq!(found("// #[test] fn c_05_x() {}\nlet a = \"#[test] fn c_06_x() {}\";"), "");
        assert_eq!(found("#[test]\n#[ignore = \"slow\"]\nfn c_05_x() {}"), "");
        assert_eq!(found("#[cfg(test)]\nfn c_05_x() {}"), "");
    }

    #[test]
    fn names_handed_to_a_test_macro_are_found() {
        let text = "conformance_tests!(memory, c_05_x, suite::x_t08_y); other!(c_06_z);";
        assert_eq!(found(text), "c_05_x x_t08_y");
        assert_eq!(
            found("cases! { c_05_x => \"a\", { d_117_y } } fn c_06_z() {}"),
            "c_05_x d_117_y"
        );
        assert_eq!(found("if test != c_05_x { }"), "");
    }

    #[test]
    fn python_tests_are_found_below_tests() {
        let text = "def helper(): pass\n    async def test_t_05_x(self):\ndef test_y(): pass\n";
        let file = |path: &str| File { path: path.to_owned(), text: text.to_owned() };
        let names: Vec<String> =
            tests(&file("tests/python/test_retry.py")).iter().map(Test::to_string).collect();
        assert_eq!(names, ["tests::test_retry::test_t_05_x", "tests::test_retry::test_y"]);
        assert!(tests(&file("tools/a.py")).is_empty());
    }

    #[test]
    fn python_tests_that_check_nothing_are_not_found() {
        let one = "@pytest.mark.xfail(reason=\"later\")\nasync def test_t_05_x():\n    pass\n\
            @pytest.mark.parametrize(\"a\", [1])\ndef test_t_06_y(a): pass\n";
        assert_eq!(python(one).into_iter().collect::<Vec<_>>(), ["test_t_06_y"]);
        let all = "pytestmark = pytest.mark.skip\ndef test_t_05_x(): pass\n";
        assert!(python(all).is_empty());
    }

    #[test]
    fn a_place_is_crate_and_file() {
        assert_eq!(place("crates/retry/src/backoff/mod.rs"), "retry::backoff");
        assert_eq!(place("crates/retry/tests/presets.rs"), "retry::presets");
        assert_eq!(place("xtask/src/main.rs"), "xtask::main");
    }

    #[test]
    fn a_test_is_called_by_its_name_with_or_without_its_place() {
        let test = Test { place: "retry::backoff".to_owned(), name: "c_05_x".to_owned() };
        assert!(test.is_called("c_05_x") && test.is_called("retry::backoff::c_05_x"));
        assert!(!test.is_called("core::backoff::c_05_x"));
    }
}
