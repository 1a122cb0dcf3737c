//! The text of a query, cut into tokens.
//!
//! Whether a word is a keyword depends on where it stands, so the grammar decides that; whether a
//! number is whole, or large, depends on what it is compared with, so it stays text.

use std::{fmt, str::Chars};

use steadfast_store::Compare;

use crate::error::Error;

/// One token of a query.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Token {
    /// A bare word: a keyword or a name.
    Word(String),
    /// A name in backticks.
    Name(String),
    /// A text in quotes of either kind, without them.
    Text(String),
    /// A number as it was written; it can be read as a double.
    Number(String),
    /// A comparison.
    Compare(Compare),
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
}

/// A token and where it begins, in characters from 1.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) at: usize,
}

/// What is wrong with a query, and where.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("invalid query: {what} (at position {at})")]
pub(super) struct Fault {
    pub(super) what: String,
    pub(super) at: usize,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>, at: usize) -> Self {
        Self { what: what.into(), at }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::invalid(fault.to_string())
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) | Self::Number(word) => write!(f, "'{word}'"),
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Text(text) => write!(f, "the text '{text}'"),
            Self::Compare(compare) => write!(f, "'{}'", sign(*compare)),
            Self::Open => f.write_str("'('"),
            Self::Close => f.write_str("')'"),
            Self::Comma => f.write_str("','"),
        }
    }
}

/// How a comparison is written.
pub(super) const fn sign(compare: Compare) -> &'static str {
    match compare {
        Compare::Equal => "=",
        Compare::NotEqual => "!=",
        Compare::Less => "<",
        Compare::LessOrEqual => "<=",
        Compare::Greater => ">",
        Compare::GreaterOrEqual => ">=",
    }
}

/// The tokens of `text`.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, Fault> {
    let mut lexer = Lexer { rest: text.chars(), at: 1 };
    let mut found = Vec::new();
    while let Some(placed) = lexer.token()? {
        found.push(placed);
    }
    Ok(found)
}

struct Lexer<'a> {
    rest: Chars<'a>,
    at: usize,
}

impl Lexer<'_> {
    fn token(&mut self) -> Result<Option<Placed>, Fault> {
        self.take_while(char::is_whitespace);
        let at = self.at;
        let Some(first) = self.next() else { return Ok(None) };
        let token = match first {
            '(' => Token::Open,
            ')' => Token::Close,
            ',' => Token::Comma,
            '\'' | '"' => Token::Text(self.quoted(first, at)?),
            '`' => Token::Name(self.backticked(at)?),
            '=' | '!' | '<' | '>' => Token::Compare(self.compare(first, at)?),
            '0'..='9' | '.' | '+' | '-' => Token::Number(self.number(first, at)?),
            _ if starts_word(first) => Token::Word(self.word(first)),
            _ => return Err(Fault::new(format!("unexpected character {first:?}"), at)),
        };
        Ok(Some(Placed { token, at }))
    }

    fn word(&mut self, first: char) -> String {
        String::from(first) + &self.take_while(continues_word)
    }

    fn compare(&mut self, first: char, at: usize) -> Result<Compare, Fault> {
        match (first, self.peek()) {
            ('<', Some('>')) | ('!', Some('=')) => Ok(self.then(Compare::NotEqual)),
            ('<', Some('=')) => Ok(self.then(Compare::LessOrEqual)),
            ('>', Some('=')) => Ok(self.then(Compare::GreaterOrEqual)),
            ('<', _) => Ok(Compare::Less),
            ('>', _) => Ok(Compare::Greater),
            ('=', _) => Ok(Compare::Equal),
            _ => Err(Fault::new(format!("unexpected character {first:?}"), at)),
        }
    }

    fn then(&mut self, compare: Compare) -> Compare {
        self.next();
        compare
    }

    /// Takes all that hangs together, so that `12ab` is a wrong number and not a number and a word.
    fn number(&mut self, first: char, at: usize) -> Result<String, Fault> {
        let mut number = String::from(first);
        while let Some(c) = self.peek() {
            let signed = matches!(c, '+' | '-') && number.ends_with(['e', 'E']);
            if !(c == '.' || signed || continues_word(c)) {
                break;
            }
            number.extend(self.next());
        }
        let digits = number.contains(|c: char| c.is_ascii_digit());
        if !digits || number.parse::<f64>().is_err() {
            return Err(Fault::new(format!("'{number}' is not a number"), at));
        }
        Ok(number)
    }

    /// A quote inside is doubled or follows a backslash.
    fn quoted(&mut self, quote: char, at: usize) -> Result<String, Fault> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(Fault::new("a text without its closing quote", at)),
                Some('\\') => text.extend(self.next().map(unescaped)),
                Some(c) if c != quote => text.push(c),
                Some(_) if self.peek() == Some(quote) => text.extend(self.next()),
                Some(_) => return Ok(text),
            }
        }
    }

    fn backticked(&mut self, at: usize) -> Result<String, Fault> {
        let mut name = String::new();
        loop {
            match self.next() {
                None => return Err(Fault::new("a name without its closing backtick", at)),
                Some('`') if self.peek() == Some('`') => name.extend(self.next()),
                Some('`') => return Ok(name),
                Some(c) => name.push(c),
            }
        }
    }

    fn take_while(&mut self, wanted: fn(char) -> bool) -> String {
        let mut taken = String::new();
        while self.peek().is_some_and(wanted) {
            taken.extend(self.next());
        }
        taken
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        self.at += 1;
        Some(next)
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn unescaped(c: char) -> char {
    match c {
        '0' => '\0',
        'b' => '\u{8}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'Z' => '\u{1a}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match tokens(text) {
            Ok(found) => {
                let shown = found.iter().map(|placed| format!("{}:{}", placed.at, placed.token));
                shown.collect::<Vec<_>>().join(" ")
            }
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn texts_are_cut_into_tokens() {
        let table = [
            ("a >= 1", "1:'a' 3:'>=' 6:'1'"),
            ("a<>-1.5e-3", "1:'a' 2:'!=' 4:'-1.5e-3'"),
            ("(`a-``b`,é)", "1:'(' 2:`a-`b` 9:',' 10:'é' 11:')'"),
            (
                r#"'it''s' 'it\'s' "a ""b"" 'c'""#,
                r#"1:the text 'it's' 9:the text 'it's' 17:the text 'a "b" 'c''"#,
            ),
            (r"'a\nb\\c\%'", "1:the text 'a\nb\\c%'"),
            (" \n\t ", ""),
        ];
        for (text, expected) in table {
            assert_eq!(check(text), expected, "{text}");
        }
    }

    #[test]
    fn a_wrong_character_is_named_with_its_place() {
        let table = [
            ("a ! b", "invalid query: unexpected character '!' (at position 3)"),
            ("é; b", "invalid query: unexpected character ';' (at position 2)"),
            ("12ab", "invalid query: '12ab' is not a number (at position 1)"),
            ("a = -", "invalid query: '-' is not a number (at position 5)"),
            ("a = 1.2.3", "invalid query: '1.2.3' is not a number (at position 5)"),
            ("a = -inf", "invalid query: '-inf' is not a number (at position 5)"),
            ("a = 'b\\'", "invalid query: a text without its closing quote (at position 5)"),
            ("`a", "invalid query: a name without its closing backtick (at position 1)"),
        ];
        for (text, expected) in table {
            assert_eq!(check(text), expected, "{text}");
        }
    }
}
