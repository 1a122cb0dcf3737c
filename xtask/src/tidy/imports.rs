//! Which modules of its own crate a file imports.
//!
//! `crate::x` counts wherever it is written, and so does `super::x` when it climbs to the root.

use crate::source::{Token, tokens};

/// A mention of something under the root of the crate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Import {
    /// The first name below the root.
    pub(super) target: String,
    /// Where it is written, from 1.
    pub(super) line: usize,
}

/// The imports in `text`, a module that lies `depth` modules below the root.
pub(super) fn imports(text: &str, depth: usize) -> Vec<Import> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    // One entry for each open brace: whether it opened an inline module.
    let mut braces: Vec<bool> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => braces.push(at >= 2 && tokens[at - 2].text == "mod"),
            "}" => {
                braces.pop();
            }
            "crate" if is_path_start(&tokens, at) => found.extend(names(&tokens[at + 2..])),
            "super" if is_path_start(&tokens, at) => {
                let inline = braces.iter().filter(|is_module| **is_module).count();
                let climbed = supers(&tokens[at..]);
                if climbed == depth + inline {
                    found.extend(names(&tokens[at + 2 * climbed..]));
                }
            }
            _ => (),
        }
    }
    found
}

/// Whether a path begins here: not `$crate`, not `in crate::x` of a visibility, not mid-path.
fn is_path_start(tokens: &[Token<'_>], at: usize) -> bool {
    let before = at.checked_sub(1).map_or("", |before| tokens[before].text);
    let after = tokens.get(at + 1).map_or("", |token| token.text);
    after == "::" && !["$", "in", "::"].contains(&before)
}

/// How many `super::` follow each other.
fn supers(tokens: &[Token<'_>]) -> usize {
    tokens.chunks(2).take_while(|pair| pair[0].text == "super").count()
}

/// The first names of the path or the braced group of paths that `tokens` begin with.
fn names(tokens: &[Token<'_>]) -> Vec<Import> {
    let Some(first) = tokens.first() else { return Vec::new() };
    if first.text != "{" {
        let is_macro = tokens.get(1).is_some_and(|token| token.text == "!");
        return if is_macro { Vec::new() } else { vec![import(first)] };
    }
    let mut found = Vec::new();
    let mut depth = 0;
    let mut fresh = false;
    for token in tokens {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if depth == 1 && fresh => found.push(import(token)),
            _ => (),
        }
        if depth == 0 {
            break;
        }
        fresh = depth == 1 && ["{", ","].contains(&token.text);
    }
    found
}

fn import(token: &Token<'_>) -> Import {
    Import { target: token.text.to_owned(), line: token.line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str, depth: usize) -> String {
        let found = imports(text, depth);
        found.iter().map(|import| &*import.target).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn single_paths_and_groups_are_read() {
        assert_eq!(
            targets("use crate::time::Timestamp; fn f(x: crate::run::Run) {}", 1),
            "time run"
        );
        assert_eq!(
            targets("use crate::{event::{self, Event}, time, run::*,};", 1),
            "event time run"
        );
        assert_eq!(targets("use crate::*;", 1), "*");
    }

    #[test]
    fn what_only_looks_like_an_import_is_not_one() {
        assert_eq!(targets("// crate::a\nlet x = \"crate::b\"; pub(crate) fn c() {}", 1), "");
        assert_eq!(
            targets("crate::check!(1); $crate::hidden::d(); pub(in crate::e) fn f() {}", 1),
            ""
        );
    }

    #[test]
    fn super_counts_when_it_reaches_the_root() {
        assert_eq!(targets("use super::time;", 1), "time");
        assert_eq!(targets("use super::sibling;", 2), "");
        assert_eq!(targets("use super::super::{time, run};", 2), "time run");
        assert_eq!(targets("mod tests { use super::*; use super::super::run; }", 1), "run");
    }

    #[test]
    fn a_line_is_given() {
        let found = imports("\n\nuse crate::run;", 1);
        assert_eq!(found, [Import { target: "run".to_owned(), line: 3 }]);
    }
}
