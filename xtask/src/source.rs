//! Rust source as a row of words and signs, without comments and literals.
//!
//! Just enough of a lexer to ask "which modules does this file import" and "which functions are
//! tests" without being fooled by text in strings. A real parser would be exact and would cost a
//! large dependency.

/// A word (`crate`, `c_05_…`, `12`), a `::`, or a single sign.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// Counted from 1.
    pub(crate) line: usize,
}

/// The tokens of `text`; comments, strings and characters leave nothing behind.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (kind, len) = piece(rest);
        let (here, after) = rest.split_at(len);
        if kind == Piece::Token {
            found.push(Token { text: here, line });
        }
        line += here.matches('\n').count();
        rest = after;
    }
    found
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Piece {
    Token,
    Silent,
}

/// What `rest` begins with, and how many bytes of it.
fn piece(rest: &str) -> (Piece, usize) {
    if let Some(len) = silent_len(rest) {
        return (Piece::Silent, len);
    }
    let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    if word > 0 {
        return (Piece::Token, word);
    }
    let sign = rest.chars().next().map_or(0, char::len_utf8);
    (Piece::Token, if rest.starts_with("::") { 2 } else { sign })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the space, comment or literal that `rest` begins with.
fn silent_len(rest: &str) -> Option<usize> {
    let first = rest.chars().next()?;
    match first {
        _ if first.is_whitespace() => Some(first.len_utf8()),
        '/' if rest.starts_with("//") => Some(rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => Some(block_comment_len(rest)),
        '"' => Some(string_len(rest)),
        'r' | 'b' | 'c' => prefixed_len(rest),
        '\'' => char_len(rest),
        _ => None,
    }
}

fn block_comment_len(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn string_len(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => (),
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br"…"` and so on; not `r#type`, not a word.
fn prefixed_len(rest: &str) -> Option<usize> {
    let letters = rest.find(|c: char| !"rbc".contains(c))?;
    let after = &rest[letters..];
    if !rest[..letters].contains('r') {
        return after.starts_with('"').then(|| letters + string_len(after));
    }
    let hashes = after.find(|c| c != '#')?;
    if !after[hashes..].starts_with('"') {
        return None;
    }
    let open = letters + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(rest[open..].find(&end).map_or(rest.len(), |at| open + at + end.len()))
}

/// `'a'` and `'\n'`; not the lifetime `'a`.
fn char_len(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        chars.next()?;
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        tokens(text).iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_leave_nothing_behind() {
        assert_eq!(words("a // crate::x\nb /* c /* d */ e */ f"), "a b f");
        assert_eq!(words(r#"let x = "fn \" y" ;"#), "let x = ;");
        assert_eq!(words("let x = r#\"fn \"z\"\"# ;"), "let x = ;");
        assert_eq!(words(r#"b"one" br"two" c"three" four"#), "four");
        assert_eq!(words("'x' '\\n' '\\'' 'static"), "' static");
    }

    #[test]
    fn a_raw_name_is_a_word_not_a_string() {
        assert_eq!(words("r#type bar::baz"), "r # type bar :: baz");
    }

    #[test]
    fn lines_are_counted_through_literals() {
        let text = "a\n\"b\n\n\"\nc";
        let lines: Vec<usize> = tokens(text).iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 5]);
    }

    #[test]
    fn an_open_end_is_no_endless_loop() {
        for text in ["\"a", "/* a", "r#\"a", "'", "b", "r#"] {
            tokens(text);
        }
    }
}
