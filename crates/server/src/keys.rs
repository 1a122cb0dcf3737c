//! Keys: who may do what, and where.
//!
//! A key is a secret that its holder sends as `authorization: Bearer …`. Only its SHA-256 is kept,
//! so whoever reads the configuration cannot call. Keys are long and random: a plain hash is
//! enough, nobody can guess what it is of.

use std::{fmt, str::FromStr};

use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom as _, SystemRandom},
};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::rpc::Right;

/// What one key opens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Key {
    /// The SHA-256 of the secret.
    pub hash: KeyHash,
    /// The namespace that it is for; `None` for all of them and for what belongs to none.
    pub namespace: Option<String>,
    /// What may be done there.
    pub right: Right,
}

/// The SHA-256 of a secret, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct KeyHash([u8; 32]);

/// Text that is not a hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a key's hash is the 64 hexadecimal digits that `steadfast key create` prints")]
pub struct NotAHash;

/// The machine gave no random numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the system has no random numbers for a key")]
pub struct NoRandomness;

/// Makes a new secret. It is shown once, and is nowhere kept.
pub fn new_secret() -> Result<String, NoRandomness> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(format!("{SECRET_PREFIX}{}", Hex(&bytes)))
}

/// All keys. With none, everybody who can connect may do everything.
#[derive(Clone, Debug, Default)]
pub struct Keys(Vec<Key>);

/// What a call asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) right: Right,
    pub(crate) place: Place<'a>,
}

/// Where a call works.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place<'a> {
    /// Nowhere: whoever has any key may ask.
    Anywhere,
    /// In this namespace.
    Namespace(&'a str),
    /// Across namespaces.
    Cluster,
}

/// Why a call is not let in.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Denied {
    #[error("this server asks for a key: send it as `authorization: Bearer <key>`")]
    NoKey,
    #[error("the key is not known")]
    UnknownKey,
    #[error("the key may not {right} {place}")]
    NotEnough { right: Right, place: String },
}

impl Keys {
    /// These keys.
    pub fn new(keys: Vec<Key>) -> Self {
        Self(keys)
    }

    /// Whether nobody needs a key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the sender of this `authorization` header may do what it wants.
    pub(crate) fn check(&self, header: Option<&[u8]>, wanted: Wanted<'_>) -> Result<(), Denied> {
        if self.is_empty() {
            return Ok(());
        }
        let secret = header.and_then(bearer).ok_or(Denied::NoKey)?;
        let key = self.find(KeyHash::of(secret)).ok_or(Denied::UnknownKey)?;
        if key.opens(wanted) { Ok(()) } else { Err(wanted.not_enough()) }
    }

    /// Looks at all keys and at all of each, whatever it finds: the time that it takes tells
    /// nothing about them.
    fn find(&self, hash: KeyHash) -> Option<&Key> {
        let mut found = u64::MAX;
        for (number, key) in (0..).zip(&self.0) {
            let same: Choice = key.hash.0.ct_eq(&hash.0);
            found.conditional_assign(&number, same);
        }
        self.0.get(usize::try_from(found).ok()?)
    }
}

impl Key {
    fn opens(&self, wanted: Wanted<'_>) -> bool {
        let here = match (&self.namespace, wanted.place) {
            (None, _) | (Some(_), Place::Anywhere) => true,
            (Some(mine), Place::Namespace(name)) => mine == name,
            (Some(_), Place::Cluster) => false,
        };
        here && self.right >= wanted.right
    }
}

impl Wanted<'_> {
    fn not_enough(self) -> Denied {
        let place = match self.place {
            Place::Anywhere => "anything".to_owned(),
            Place::Namespace("") => "without naming a namespace".to_owned(),
            Place::Namespace(name) => format!("namespace {name:?}"),
            Place::Cluster => "what belongs to all namespaces".to_owned(),
        };
        Denied::NotEnough { right: self.right, place }
    }
}

impl KeyHash {
    /// The hash of a secret.
    pub fn of(secret: &[u8]) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, secret).as_ref());
        Self(hash)
    }
}

impl FromStr for KeyHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        if text.len() != 64 || !text.is_ascii() {
            return Err(NotAHash);
        }
        let mut hash = [0; 32];
        for (number, byte) in hash.iter_mut().enumerate() {
            let digits = text.get(2 * number..2 * number + 2).ok_or(NotAHash)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NotAHash)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What stands behind `Bearer`.
fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, secret) = header.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| secret.trim_ascii())
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// So that a key in the wrong place is recognised as one.
const SECRET_PREFIX: &str = "steadfast_";

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        let key = |secret: &str, namespace: Option<&str>, right| Key {
            hash: KeyHash::of(secret.as_bytes()),
            namespace: namespace.map(str::to_owned),
            right,
        };
        Keys::new(vec![
            key("reader", Some("a"), Right::Read),
            key("worker", Some("a"), Right::Write),
            key("root", None, Right::Admin),
        ])
    }

    fn ask(secret: &str, right: Right, place: Place<'_>) -> Result<(), Denied> {
        keys().check(Some(format!("Bearer {secret}").as_bytes()), Wanted { right, place })
    }

    #[test]
    fn a_key_opens_its_namespace_as_far_as_it_goes() {
        let a = Place::Namespace("a");
        assert_eq!(ask("reader", Right::Read, a), Ok(()));
        assert_eq!(ask("worker", Right::Read, a), Ok(()));
        assert_eq!(ask("worker", Right::Write, a), Ok(()));
        assert_eq!(ask("root", Right::Admin, Place::Cluster), Ok(()));
        assert_eq!(ask("reader", Right::Read, Place::Anywhere), Ok(()));
        let denied = [
            ("reader", Right::Write, a, "the key may not write namespace \"a\""),
            ("worker", Right::Admin, a, "the key may not administer namespace \"a\""),
            ("worker", Right::Read, Place::Namespace("b"), "the key may not read namespace \"b\""),
            (
                "worker",
                Right::Write,
                Place::Namespace(""),
                "the key may not write without naming a namespace",
            ),
            (
                "reader",
                Right::Read,
                Place::Cluster,
                "the key may not read what belongs to all namespaces",
            ),
        ];
        for (secret, right, place, text) in denied {
            assert_eq!(ask(secret, right, place).expect_err("denied").to_string(), text);
        }
    }

    #[test]
    fn who_has_no_key_or_a_wrong_one_is_told_so() {
        let wanted = Wanted { right: Right::Read, place: Place::Anywhere };
        assert_eq!(keys().check(None, wanted), Err(Denied::NoKey));
        assert_eq!(keys().check(Some(b"Basic reader"), wanted), Err(Denied::NoKey));
        assert_eq!(keys().check(Some(b"Bearer "), wanted), Err(Denied::UnknownKey));
        assert_eq!(keys().check(Some(b"Bearer readeR"), wanted), Err(Denied::UnknownKey));
        assert_eq!(keys().check(Some(b"bearer  reader "), wanted), Ok(()));
        assert_eq!(Keys::default().check(None, wanted), Ok(()));
    }

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        // From `printf abc | sha256sum`.
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let hash = KeyHash::of(b"abc");
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        for wrong in ["", "ba", &text.replace('b', "g"), &format!("{text}00"), &"é".repeat(32)] {
            assert_eq!(wrong.parse::<KeyHash>(), Err(NotAHash));
        }
    }

    #[test]
    fn secrets_are_long_and_differ() {
        let (one, other) = (new_secret().expect("random"), new_secret().expect("random"));
        assert_ne!(one, other);
        assert_eq!(one.len(), SECRET_PREFIX.len() + 64);
    }
}
