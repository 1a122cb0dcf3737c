//! Namespaces: found by id, named once.

use super::fixture::{Backend, wait};
use crate::{error::Error, rows::NamespaceRow, store::Store};

/// Whatever the order in which they were made.
pub fn namespaces_come_back_by_name(backend: &dyn Backend) {
    let store = backend.open();
    for (id, name) in [("1", "zoo"), ("2", "Alpha"), ("3", "alpha")] {
        put(&*store, id, name, "data").expect("a new one");
    }
    assert_eq!(names(&*store), ["Alpha", "alpha", "zoo"]);
    let rows = wait(store.namespaces()).expect("a read");
    assert_eq!(rows[2], row("1", "zoo", "data"));
}

/// Its name and its content.
pub fn a_namespace_is_replaced_by_its_id(backend: &dyn Backend) {
    let store = backend.open();
    put(&*store, "1", "old", "a").expect("a new one");
    put(&*store, "1", "new", "b").expect("the same one");
    assert_eq!(wait(store.namespaces()).expect("a read"), [row("1", "new", "b")]);
}

/// A second one with that name is refused, and changes nothing.
pub fn a_name_is_held_by_one_id(backend: &dyn Backend) {
    let store = backend.open();
    put(&*store, "1", "taken", "a").expect("a new one");
    put(&*store, "2", "other", "a").expect("a new one");
    for id in ["2", "3"] {
        let error = put(&*store, id, "taken", "b");
        assert!(matches!(error, Err(Error::Rejected(_))), "{error:?}");
    }
    assert_eq!(names(&*store), ["other", "taken"]);
}

/// For another id.
pub fn a_deleted_name_is_free_again(backend: &dyn Backend) {
    let store = backend.open();
    put(&*store, "1", "name", "a").expect("a new one");
    wait(store.delete_namespace("1".to_owned())).expect("deleted");
    assert_eq!(names(&*store), Vec::<String>::new());
    put(&*store, "2", "name", "b").expect("a new one");
    assert_eq!(names(&*store), ["name"]);
}

/// There is nothing to do.
pub fn deleting_an_unknown_id_is_fine(backend: &dyn Backend) {
    wait(backend.open().delete_namespace("nobody".to_owned())).expect("nothing to do");
}

fn row(id: &str, name: &str, data: &str) -> NamespaceRow {
    NamespaceRow { id: id.to_owned(), name: name.to_owned(), data: data.into() }
}

fn put(store: &dyn Store, id: &str, name: &str, data: &str) -> Result<(), Error> {
    wait(store.put_namespace(row(id, name, data)))
}

fn names(store: &dyn Store) -> Vec<String> {
    let rows = wait(store.namespaces()).expect("a read");
    rows.into_iter().map(|row| row.name).collect()
}
