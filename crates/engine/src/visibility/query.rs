//! The query language of listings: a `WHERE` clause without its `WHERE`.
//!
//! ```text
//! any       := all { OR all }
//! all       := one { AND one }
//! one       := NOT one | ( any ) | condition
//! condition := name ( = | != | <> | < | <= | > | >= ) value
//!            | name [NOT] IN ( value { , value } )
//!            | name [NOT] BETWEEN value AND value
//!            | name [NOT] STARTS_WITH text
//!            | name IS [NOT] NULL
//! ```
//!
//! A count may end in `GROUP BY ExecutionStatus`. Whoever can list can send any text, so its
//! length and its nesting are limited, and a long chain becomes a flat tree: what walks the
//! filter afterwards, here or in a database, never goes deep.

use steadfast_store::{Compare, Field, Filter, SearchType, Value};

use super::{
    lexer::{Fault, Placed, Token, sign, tokens},
    schema::Schema,
    typing::{Literal, Need, Subject},
};
use crate::{
    error::Error,
    limits::{QUERY_BYTES_MAX, QUERY_NESTING_MAX},
};

/// What a count asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    /// Which runs to count.
    pub(crate) filter: Filter,
    /// What to count apart.
    pub(crate) group_by: Option<Field>,
}

/// Reads the query of a listing. Nothing written means every run.
pub(crate) fn parse_list(text: &str, schema: &Schema) -> Result<Filter, Error> {
    let mut parser = Parser::new(text, schema)?;
    let filter = parser.filter()?;
    if parser.is_clause("GROUP", "BY") {
        return Err(parser.fault("'GROUP BY' clause is only supported for counts").into());
    }
    parser.finish()?;
    Ok(filter)
}

/// Reads the query of a count. Nothing written means every run.
pub(crate) fn parse_count(text: &str, schema: &Schema) -> Result<Query, Error> {
    let mut parser = Parser::new(text, schema)?;
    let filter = parser.filter()?;
    let group_by = parser.group_by()?;
    parser.finish()?;
    Ok(Query { filter, group_by })
}

struct Parser<'a> {
    tokens: Vec<Placed>,
    next: usize,
    /// The position behind the last character.
    end: usize,
    nesting: usize,
    schema: &'a Schema,
}

impl<'a> Parser<'a> {
    fn new(text: &str, schema: &'a Schema) -> Result<Self, Fault> {
        if text.len() > QUERY_BYTES_MAX {
            let what = format!("{} bytes are too long, the limit is {QUERY_BYTES_MAX}", text.len());
            return Err(Fault::new(what, 1));
        }
        let end = text.chars().count() + 1;
        Ok(Self { tokens: tokens(text)?, next: 0, end, nesting: 0, schema })
    }

    fn filter(&mut self) -> Result<Filter, Fault> {
        let nothing = self.peek().is_none()
            || self.is_clause("GROUP", "BY")
            || self.is_clause("ORDER", "BY")
            || self.is_limit();
        if nothing { Ok(Filter::All) } else { self.any() }
    }

    fn any(&mut self) -> Result<Filter, Fault> {
        let mut parts = vec![self.all()?];
        while self.takes_word("OR") {
            parts.push(self.all()?);
        }
        Ok(flat(parts, Filter::Or))
    }

    fn all(&mut self) -> Result<Filter, Fault> {
        let mut parts = vec![self.one()?];
        while self.takes_word("AND") {
            parts.push(self.one()?);
        }
        Ok(flat(parts, Filter::And))
    }

    fn one(&mut self) -> Result<Filter, Fault> {
        if self.takes_word("NOT") {
            return self.nested(|parser| Ok(not(parser.one()?)));
        }
        if self.takes(&Token::Open) {
            return self.nested(|parser| {
                let inner = parser.any()?;
                parser.expect(&Token::Close)?;
                Ok(inner)
            });
        }
        self.condition()
    }

    fn nested(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<Filter, Fault>,
    ) -> Result<Filter, Fault> {
        if self.nesting == QUERY_NESTING_MAX {
            return Err(self.fault(format!("nested deeper than {QUERY_NESTING_MAX} levels")));
        }
        self.nesting += 1;
        let filter = inner(self)?;
        self.nesting -= 1;
        Ok(filter)
    }

    fn condition(&mut self) -> Result<Filter, Fault> {
        let subject = self.subject()?;
        if let Some(Token::Compare(compare)) = self.peek() {
            let compare = *compare;
            return self.compare(subject, compare);
        }
        if self.takes_word("IS") {
            return self.is_null(subject);
        }
        let negated = self.takes_word("NOT");
        let filter = if self.takes_word("IN") {
            self.one_of(&subject)?
        } else if self.is_word("BETWEEN") {
            self.between(&subject)?
        } else if self.is_word("STARTS_WITH") {
            self.starts_with(&subject)?
        } else {
            return Err(self.unexpected("an operator"));
        };
        Ok(if negated { has_but_not(subject, filter) } else { filter })
    }

    fn compare(&mut self, subject: Subject, compare: Compare) -> Result<Filter, Fault> {
        if !matches!(compare, Compare::Equal | Compare::NotEqual) {
            self.check(&subject, sign(compare), Need::Order)?;
        }
        self.next += 1;
        let value = self.value(&subject)?;
        if compare == Compare::NotEqual && is_searched(&subject.field) {
            return Ok(not(Filter::Compare(subject.field, Compare::Equal, value)));
        }
        Ok(Filter::Compare(subject.field, compare, value))
    }

    fn is_null(&mut self, subject: Subject) -> Result<Filter, Fault> {
        let negated = self.takes_word("NOT");
        if !self.takes_word("NULL") {
            return Err(self.unexpected("NULL"));
        }
        let filter = Filter::IsNull(subject.field);
        Ok(if negated { not(filter) } else { filter })
    }

    fn one_of(&mut self, subject: &Subject) -> Result<Filter, Fault> {
        self.expect(&Token::Open)?;
        let mut values = vec![self.value(subject)?];
        while self.takes(&Token::Comma) {
            values.push(self.value(subject)?);
        }
        self.expect(&Token::Close)?;
        Ok(one_of(&subject.field, values))
    }

    fn between(&mut self, subject: &Subject) -> Result<Filter, Fault> {
        self.check(subject, "BETWEEN", Need::Order)?;
        self.next += 1;
        let low = self.value(subject)?;
        if !self.takes_word("AND") {
            return Err(self.unexpected("AND"));
        }
        let high = self.value(subject)?;
        Ok(Filter::Between(subject.field.clone(), low, high))
    }

    fn starts_with(&mut self, subject: &Subject) -> Result<Filter, Fault> {
        self.check(subject, "STARTS_WITH", Need::Prefix)?;
        self.next += 1;
        match self.peek() {
            Some(Token::Text(prefix)) => {
                let filter = Filter::StartsWith(subject.field.clone(), prefix.clone());
                self.next += 1;
                Ok(filter)
            }
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    fn subject(&mut self) -> Result<Subject, Fault> {
        let name = match self.peek() {
            Some(Token::Word(name) | Token::Name(name)) => name.clone(),
            _ => return Err(self.unexpected("the name of a search attribute")),
        };
        let Some(field) = self.schema.lookup(&name) else {
            let what = format!("column name '{name}' is not a valid search attribute");
            return Err(self.fault(what));
        };
        self.next += 1;
        Ok(Subject { field, name })
    }

    fn value(&mut self, subject: &Subject) -> Result<Value, Fault> {
        let literal = match self.peek() {
            Some(Token::Text(text)) => Literal::Text(text.clone()),
            Some(Token::Number(number)) => Literal::Number(number.clone()),
            Some(Token::Word(_)) if self.is_word("TRUE") => Literal::Bool(true),
            Some(Token::Word(_)) if self.is_word("FALSE") => Literal::Bool(false),
            _ => return Err(self.unexpected("a value")),
        };
        let value = subject.value(&literal).map_err(|what| self.fault(what))?;
        self.next += 1;
        Ok(value)
    }

    fn group_by(&mut self) -> Result<Option<Field>, Fault> {
        if !self.is_clause("GROUP", "BY") {
            return Ok(None);
        }
        self.next += 2;
        let at = self.at();
        let Subject { field, name } = self.subject()?;
        if self.peek() == Some(&Token::Comma) {
            return Err(self.fault("'GROUP BY' clause supports only a single field"));
        }
        if field != Field::Status {
            let what = format!("'GROUP BY' clause is not supported for search attribute {name}");
            return Err(Fault::new(what, at));
        }
        Ok(Some(field))
    }

    fn finish(&self) -> Result<(), Fault> {
        if self.peek().is_none() {
            return Ok(());
        }
        if self.is_clause("ORDER", "BY") {
            return Err(self.fault(
                "'ORDER BY' clause is not supported: \
                 open runs come first, then the latest to close, then the latest to start",
            ));
        }
        if self.is_limit() {
            return Err(self.fault("'LIMIT' clause is not supported: use the page size"));
        }
        Err(self.unexpected("AND, OR or the end"))
    }

    fn check(&self, subject: &Subject, operator: &str, need: Need) -> Result<(), Fault> {
        subject.check(operator, need).map_err(|what| self.fault(what))
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|placed| &placed.token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |placed| placed.at)
    }

    fn takes(&mut self, token: &Token) -> bool {
        let taken = self.peek() == Some(token);
        self.next += usize::from(taken);
        taken
    }

    fn expect(&mut self, token: &Token) -> Result<(), Fault> {
        if self.takes(token) { Ok(()) } else { Err(self.unexpected(&token.to_string())) }
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let taken = self.is_word(word);
        self.next += usize::from(taken);
        taken
    }

    fn is_word(&self, word: &str) -> bool {
        self.is_word_at(self.next, word)
    }

    fn is_word_at(&self, place: usize, word: &str) -> bool {
        let found = self.tokens.get(place).map(|placed| &placed.token);
        matches!(found, Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    /// Both words, since an attribute may have the name of either.
    fn is_clause(&self, first: &str, second: &str) -> bool {
        self.is_word(first) && self.is_word_at(self.next + 1, second)
    }

    fn is_limit(&self) -> bool {
        let after = self.tokens.get(self.next + 1).map(|placed| &placed.token);
        self.is_word("LIMIT") && matches!(after, Some(Token::Number(_)))
    }

    fn unexpected(&self, expected: &str) -> Fault {
        match self.peek() {
            Some(found) => self.fault(format!("expected {expected}, found {found}")),
            None => self.fault(format!("expected {expected}, found the end")),
        }
    }

    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(what, self.at())
    }
}

fn not(filter: Filter) -> Filter {
    Filter::Not(Box::new(filter))
}

/// Whether a field is searched for values rather than compared. Then a negation is the plain opposite:
/// who has none has not this one either.
fn is_searched(field: &Field) -> bool {
    matches!(field, Field::Custom(_, SearchType::KeywordList | SearchType::Text))
}

/// `NOT IN` and its like are operators: as with `!=`, a run without the attribute does not match.
fn has_but_not(subject: Subject, filter: Filter) -> Filter {
    if subject.is_always_set() || is_searched(&subject.field) {
        return not(filter);
    }
    let has = not(Filter::IsNull(subject.field));
    Filter::And(Box::new(has), Box::new(not(filter)))
}

/// Text is searched word by word, so each value is a search of its own and `In` would be a chain.
fn one_of(field: &Field, values: Vec<Value>) -> Filter {
    if !matches!(field, Field::Custom(_, SearchType::Text)) {
        return Filter::In(field.clone(), values);
    }
    let equal = |value| Filter::Compare(field.clone(), Compare::Equal, value);
    flat(values.into_iter().map(equal).collect(), Filter::Or)
}

/// Joins the parts of a chain half by half. One after the other would be as deep as it is long,
/// and databases refuse deep conditions.
fn flat(mut parts: Vec<Filter>, join: fn(Box<Filter>, Box<Filter>) -> Filter) -> Filter {
    if parts.len() < 2 {
        return parts.pop().unwrap_or_default();
    }
    let rest = parts.split_off(parts.len() / 2);
    join(Box::new(flat(parts, join)), Box::new(flat(rest, join)))
}
