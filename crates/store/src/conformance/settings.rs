//! Settings: named bytes.

use super::fixture::{Backend, wait};
use crate::store::Store;

/// It is not an error.
pub fn a_setting_that_was_never_written_is_none(backend: &dyn Backend) {
    assert_eq!(get(&*backend.open(), "x"), None);
}

/// And the others stay.
pub fn a_setting_is_replaced(backend: &dyn Backend) {
    let store = backend.open();
    put(&*store, "x", Some("old"));
    put(&*store, "y", Some("other"));
    put(&*store, "x", Some("new"));
    assert_eq!(get(&*store, "x").as_deref(), Some(&b"new"[..]));
    assert_eq!(get(&*store, "y").as_deref(), Some(&b"other"[..]));
}

/// Twice is fine.
pub fn a_setting_is_removed(backend: &dyn Backend) {
    let store = backend.open();
    put(&*store, "x", Some("a"));
    put(&*store, "x", None);
    put(&*store, "x", None);
    assert_eq!(get(&*store, "x"), None);
}

/// Nothing is a value too.
pub fn an_empty_setting_is_not_an_absent_one(backend: &dyn Backend) {
    let store = backend.open();
    put(&*store, "", Some(""));
    assert_eq!(get(&*store, ""), Some(vec![]));
}

fn get(store: &dyn Store, name: &str) -> Option<Vec<u8>> {
    wait(store.setting(name.to_owned())).expect("a read")
}

fn put(store: &dyn Store, name: &str, value: Option<&str>) {
    wait(store.put_setting(name.to_owned(), value.map(Into::into))).expect("a write");
}
