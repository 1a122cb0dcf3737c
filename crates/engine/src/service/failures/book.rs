//! The settings and retry policies of a namespace.

use std::sync::Arc;

use steadfast_core::Timestamp;

use crate::{
    error::Error,
    failures::{Book, NewPolicy, PolicyVersion, Settings, Who},
    service::Engine,
    tally::Name,
};

impl Engine {
    /// All that operators say about failures in a namespace: settings, policies, what was changed.
    pub fn failure_book(&self, namespace: &str) -> Result<Arc<Book>, Error> {
        let namespace = self.namespace(namespace)?;
        Ok(self.shared().books.of(&namespace.id))
    }

    /// Puts other settings in the place of those of a namespace.
    pub async fn set_failure_settings(
        &self,
        namespace: &str,
        settings: Settings,
        who: Who,
    ) -> Result<(), Error> {
        let change =
            |book: &mut Book, now| book.set(settings, now).map(|it| (it, "settings".to_owned()));
        if self.change_book(namespace, who, change).await? {
            let namespace = self.namespace(namespace)?;
            self.look_again(&namespace);
        }
        Ok(())
    }

    /// Puts a retry policy, as its next version. It holds for every failure from now on. What looks
    /// wrong with it is given back with it.
    pub async fn put_policy(
        &self,
        namespace: &str,
        put: NewPolicy,
        who: Who,
    ) -> Result<(PolicyVersion, Vec<String>), Error> {
        let by = who.clone();
        let what = format!("put policy {}", put.name);
        let change = |book: &mut Book, now| Ok((book.put_policy(put, now, by)?, what));
        self.change_book(namespace, who, change).await
    }

    /// Removes a retry policy.
    pub async fn delete_policy(
        &self,
        namespace: &str,
        name: &str,
        expected: Option<u32>,
        who: Who,
    ) -> Result<(), Error> {
        let what = format!("deleted policy {name}");
        let change = |book: &mut Book, _| Ok((book.delete_policy(name, expected)?, what));
        self.change_book(namespace, who, change).await
    }

    /// Changes the book of a namespace, and has the change hold for every failure from now on.
    pub(super) async fn change_book<T>(
        &self,
        namespace: &str,
        who: Who,
        change: impl FnOnce(&mut Book, Timestamp) -> Result<(T, String), Error>,
    ) -> Result<T, Error> {
        let books = &self.shared().books;
        let _turn = books.turn().await;
        let namespace = self.namespace(namespace)?;
        let mut book = (*books.of(&namespace.id)).clone();
        if let Some(seen) = self.caller.seen_book {
            book.check_seen(seen)?;
        }
        let now = self.now();
        let (changed, what) = change(&mut book, now)?;
        book.changed(now, who, what);
        let rulebook = Arc::new(book.rulebook());
        books.put(&**self.store(), &namespace.id, book).await?;
        self.shared().namespaces.set_rulebook(&namespace.id, &rulebook);
        self.shared().tally.add_one(Name::PolicyChanges, [&namespace.name]);
        Ok(changed)
    }
}
