//! What comes with a call: nothing, a query, or a body. What does not fit is named.

use std::{borrow::Cow, fmt};

use http::{header::CONTENT_TYPE, request::Parts};
use serde::de::DeserializeOwned;
use utoipa::{IntoParams, ToSchema};

use super::{document::Described, fault::Fault};

/// What a call reads from its request, and says about it in the document.
pub(super) trait Input: Sized + Send + 'static {
    /// Reads it.
    fn read(parts: &Parts, body: &[u8]) -> Result<Self, Fault>;

    /// Describes it.
    fn describe(described: &mut Described<'_>);
}

/// Nothing: the path says it all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nothing;

/// What comes after the question mark.
#[derive(Clone, Debug)]
pub(super) struct Query<T>(pub(super) T);

/// What comes after the question mark, in two parts: the parameters that `A` names, and the rest.
#[derive(Clone, Debug)]
pub(super) struct Split<A, B>(pub(super) A, pub(super) B);

/// A body of JSON.
#[derive(Clone, Debug)]
pub(super) struct Body<T>(pub(super) T);

impl Input for Nothing {
    fn read(parts: &Parts, _: &[u8]) -> Result<Self, Fault> {
        match parts.uri.query() {
            None | Some("") => Ok(Self),
            Some(query) => {
                let name = query.split(['=', '&']).next().unwrap_or(query);
                Err(Fault::invalid(format!("unknown parameter {name:?}; this takes none")).at(name))
            }
        }
    }

    fn describe(_: &mut Described<'_>) {}
}

impl<T: DeserializeOwned + IntoParams + Send + 'static> Input for Query<T> {
    fn read(parts: &Parts, _: &[u8]) -> Result<Self, Fault> {
        from_pairs(form(parts.uri.query().unwrap_or_default()).collect()).map(Self)
    }

    fn describe(described: &mut Described<'_>) {
        described.query::<T>();
    }
}

impl<A, B> Input for Split<A, B>
where
    A: DeserializeOwned + IntoParams + Send + 'static,
    B: DeserializeOwned + IntoParams + Send + 'static,
{
    fn read(parts: &Parts, _: &[u8]) -> Result<Self, Fault> {
        let names = A::into_params(|| None);
        let is_first = |name: &str| names.iter().any(|known| known.name == name);
        let pairs = form(parts.uri.query().unwrap_or_default());
        let (first, rest): (Vec<_>, Vec<_>) = pairs.partition(|(name, _)| is_first(name));
        Ok(Self(from_pairs(first)?, from_pairs(rest)?))
    }

    fn describe(described: &mut Described<'_>) {
        described.query::<A>();
        described.query::<B>();
    }
}

impl<T: DeserializeOwned + ToSchema + Send + 'static> Input for Body<T> {
    fn read(parts: &Parts, body: &[u8]) -> Result<Self, Fault> {
        // A page of somebody else's in a browser can send anything but this without being asked.
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
        if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
            return Err(Fault::not_json());
        }
        let text = if body.is_empty() { b"{}" } else { body };
        let mut json = serde_json::Deserializer::from_slice(text);
        let read = serde_path_to_error::deserialize(&mut json).map_err(wrong)?;
        json.end()
            .map_err(|error| Fault::invalid(format!("the body goes on after its end: {error}")))?;
        Ok(Self(read))
    }

    fn describe(described: &mut Described<'_>) {
        described.body::<T>();
    }
}

fn form(query: &str) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(query.as_bytes())
}

fn from_pairs<T: DeserializeOwned>(pairs: Vec<(Cow<'_, str>, Cow<'_, str>)>) -> Result<T, Fault> {
    let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let read = serde_urlencoded::Deserializer::new(form(&text));
    serde_path_to_error::deserialize(read).map_err(wrong)
}

/// What does not fit, with its path. Of a field that is not known the path ends before it, so its
/// name is taken from the message.
fn wrong<E: fmt::Display>(error: serde_path_to_error::Error<E>) -> Fault {
    let path = error.path().to_string();
    let message = error.into_inner().to_string();
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let field = match (path.as_str(), unknown.or(missing)) {
        ("." | "?", Some(name)) => name.to_owned(),
        ("." | "?", None) => String::new(),
        (path, Some(name)) if !path.ends_with(name) => format!("{path}.{name}"),
        (path, _) => path.to_owned(),
    };
    let at = if field.is_empty() { String::new() } else { format!("{field}: ") };
    Fault::invalid(format!("{at}{message}")).at(field)
}
