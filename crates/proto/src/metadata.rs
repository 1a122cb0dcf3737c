//! What a payload says of itself.

use std::{collections::BTreeMap, fmt, ops::Index};

/// Names and values that say what a payload is.
///
/// Nearly always there is one, the encoding, and it is one of a few: then nothing is allocated.
#[derive(Clone, Default)]
pub struct Metadata(Kept);

#[derive(Clone, Default)]
enum Kept {
    #[default]
    Nothing,
    /// The encoding alone, one of [`KNOWN`].
    Known(&'static Known),
    /// Whatever else.
    All(BTreeMap<String, Vec<u8>>),
}

/// The name under which the encoding is.
const ENCODING: &str = "encoding";

/// An encoding that every SDK knows.
pub(crate) struct Known {
    name: &'static str,
    /// As the only metadata of a payload, in bytes.
    pub(crate) entry: &'static [u8],
}

pub(crate) static KNOWN: [Known; 6] = [
    Known { name: "json/plain", entry: b"\x0a\x16\x0a\x08encoding\x12\x0ajson/plain" },
    Known { name: "binary/null", entry: b"\x0a\x17\x0a\x08encoding\x12\x0bbinary/null" },
    Known { name: "binary/plain", entry: b"\x0a\x18\x0a\x08encoding\x12\x0cbinary/plain" },
    Known { name: "json/protobuf", entry: b"\x0a\x19\x0a\x08encoding\x12\x0djson/protobuf" },
    Known { name: "binary/protobuf", entry: b"\x0a\x1b\x0a\x08encoding\x12\x0fbinary/protobuf" },
    Known { name: "binary/encrypted", entry: b"\x0a\x1c\x0a\x08encoding\x12\x10binary/encrypted" },
];

impl Metadata {
    /// With nothing but an encoding, which is best one that is known everywhere.
    pub fn encoding(name: &str) -> Self {
        known(name.as_bytes()).unwrap_or_else(|| [(ENCODING.to_owned(), name.into())].into())
    }

    /// The value under a name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        match &self.0 {
            Kept::Nothing => None,
            Kept::Known(known) => (name == ENCODING).then_some(known.name.as_bytes()),
            Kept::All(all) => all.get(name).map(Vec::as_slice),
        }
    }

    /// Puts a value under a name, in place of what was there.
    pub fn insert(&mut self, name: String, value: Vec<u8>) {
        if name == ENCODING
            && !matches!(self.0, Kept::All(_))
            && let Some(known) = known(&value)
        {
            *self = known;
            return;
        }
        self.all().insert(name, value);
    }

    /// Takes away what is under a name.
    pub fn remove(&mut self, name: &str) {
        if self.get(name).is_some() {
            self.all().remove(name);
        }
    }

    /// All names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let (known, all) = match &self.0 {
            Kept::Nothing => (None, None),
            Kept::Known(known) => (Some((ENCODING, known.name.as_bytes())), None),
            Kept::All(all) => (None, Some(all)),
        };
        let all = all.into_iter().flat_map(|all| all.iter());
        known.into_iter().chain(all.map(|(name, value)| (name.as_str(), value.as_slice())))
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// That with a known encoding, and nothing else.
    pub(crate) const fn of_known(known: &'static Known) -> Self {
        Self(Kept::Known(known))
    }

    /// All of it as bytes, if it is a known encoding.
    pub(crate) const fn known_entry(&self) -> Option<&'static [u8]> {
        match self.0 {
            Kept::Known(known) => Some(known.entry),
            Kept::Nothing | Kept::All(_) => None,
        }
    }

    fn all(&mut self) -> &mut BTreeMap<String, Vec<u8>> {
        if !matches!(self.0, Kept::All(_)) {
            let before = self.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            self.0 = Kept::All(before.collect());
        }
        match &mut self.0 {
            Kept::All(all) => all,
            Kept::Nothing | Kept::Known(_) => unreachable!("it has just been put there"),
        }
    }
}

fn known(value: &[u8]) -> Option<Metadata> {
    let known = KNOWN.iter().find(|known| known.name.as_bytes() == value)?;
    Some(Metadata::of_known(known))
}

impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Metadata {}

impl Index<&str> for Metadata {
    type Output = [u8];

    fn index(&self, name: &str) -> &[u8] {
        self.get(name).expect("a name that is there")
    }
}

impl FromIterator<(String, Vec<u8>)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (String, Vec<u8>)>>(entries: I) -> Self {
        let mut metadata = Self::default();
        entries.into_iter().for_each(|(name, value)| metadata.insert(name, value));
        metadata
    }
}

impl<const N: usize> From<[(String, Vec<u8>); N]> for Metadata {
    fn from(entries: [(String, Vec<u8>); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().map(|(name, value)| (name, String::from_utf8_lossy(value)));
        f.debug_map().entries(shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_the_same_as_what_is_written_out() {
        let known = Metadata::encoding("json/plain");
        let mut written: Metadata =
            [("a".to_owned(), b"b".to_vec()), (ENCODING.to_owned(), b"json/plain".to_vec())].into();
        assert_ne!(known, written);
        written.remove("a");
        assert_eq!(known, written);
        assert_eq!(&written[ENCODING], b"json/plain");
        assert_eq!(format!("{known:?}"), r#"{"encoding": "json/plain"}"#);
    }

    #[test]
    fn a_value_is_replaced_and_taken_away() {
        let mut metadata = Metadata::encoding("json/plain");
        metadata.insert(ENCODING.to_owned(), b"binary/null".to_vec());
        assert_eq!(metadata, Metadata::encoding("binary/null"));
        metadata.insert(ENCODING.to_owned(), b"of/mine".to_vec());
        assert_eq!(metadata.get(ENCODING), Some(&b"of/mine"[..]));
        metadata.remove(ENCODING);
        assert!(metadata.is_empty());
        assert_eq!(metadata, Metadata::default());
    }
}
