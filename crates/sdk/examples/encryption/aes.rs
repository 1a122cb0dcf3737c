//! A codec that encrypts with AES-256-GCM, in the way of the encryption samples of the SDKs for Go,
//! Python, TypeScript and Java: workers in those languages that have the key work on the same
//! workflows.

use std::{collections::BTreeMap, error::Error};

use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom as _, SystemRandom},
};
use steadfast::{
    PayloadCodec,
    proto::{
        common::{Metadata, Payload},
        prost::Message as _,
    },
};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Encrypts with one key, and reads what any of its keys has encrypted: so a key is changed by
/// adding a new one, and an old one goes when nothing is left of its time.
pub(crate) struct Aes {
    keys: BTreeMap<String, LessSafeKey>,
    /// The key that is used for what is new.
    newest: String,
    random: SystemRandom,
}

impl Aes {
    /// With one key, which has a name.
    pub(crate) fn new(name: &str, key: &[u8; 32]) -> Result<Self> {
        let keys = BTreeMap::from([(name.to_owned(), made_of(key)?)]);
        Ok(Self { keys, newest: name.to_owned(), random: SystemRandom::new() })
    }

    /// With a key of former times.
    pub(crate) fn and_old(mut self, name: &str, key: &[u8; 32]) -> Result<Self> {
        self.keys.insert(name.to_owned(), made_of(key)?);
        Ok(self)
    }

    fn key(&self, name: &str) -> Result<&LessSafeKey> {
        Ok(self.keys.get(name).ok_or_else(|| format!("there is no key {name:?} here"))?)
    }
}

impl PayloadCodec for Aes {
    fn encode(&self, payload: Payload) -> Result<Payload> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).map_err(|_| "there is nothing random here")?;
        let mut sealed = payload.encode_to_vec();
        let with = Nonce::assume_unique_for_key(nonce);
        let done =
            self.key(&self.newest)?.seal_in_place_append_tag(with, Aad::empty(), &mut sealed);
        done.map_err(|_| "it is too long to be encrypted")?;
        let metadata = Metadata::from([
            ("encoding".to_owned(), ENCRYPTED.to_vec()),
            (KEY.to_owned(), self.newest.clone().into_bytes()),
        ]);
        Ok(Payload { metadata, data: [&nonce[..], &sealed].concat(), ..payload })
    }

    fn decode(&self, payload: Payload) -> Result<Payload> {
        if payload.metadata.get("encoding") != Some(ENCRYPTED) {
            // From before there was a key.
            return Ok(payload);
        }
        let name = str::from_utf8(payload.metadata.get(KEY).unwrap_or_default())?;
        let (nonce, sealed) =
            payload.data.split_first_chunk::<NONCE_LEN>().ok_or("too short to be encrypted")?;
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let mut sealed = sealed.to_vec();
        let opened = self.key(name)?.open_in_place(nonce, Aad::empty(), &mut sealed);
        let opened = opened.map_err(|_| format!("it was not encrypted with this key {name:?}"))?;
        Ok(Payload::decode(&*opened)?)
    }
}

fn made_of(key: &[u8; 32]) -> Result<LessSafeKey> {
    let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| "a key has 32 bytes")?;
    Ok(LessSafeKey::new(key))
}

const ENCRYPTED: &[u8] = b"binary/encrypted";
pub(crate) const KEY: &str = "encryption-key-id";
