//! Settings: named bytes.

use super::Data;

impl Data {
    pub(super) fn setting(&self, name: &str) -> Option<Vec<u8>> {
        self.settings.get(name).cloned()
    }

    pub(super) fn put_setting(&mut self, name: String, value: Option<Vec<u8>>) {
        match value {
            Some(value) => self.settings.insert(name, value),
            None => self.settings.remove(&name),
        };
    }
}
