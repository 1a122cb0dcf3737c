//! Every backend does what the suite asks for.

use steadfast_store::{
    Memory, Sqlite, Store,
    conformance::Backend,
    conformance_tests,
    sqlite::{Options, Synchronous},
};
use tempfile::TempDir;

/// Memory, shared by everyone who opens it.
struct Shared(Memory);

impl Shared {
    fn new() -> Self {
        Self(Memory::new())
    }
}

impl Backend for Shared {
    fn open(&self) -> Box<dyn Store> {
        Box::new(self.0.clone())
    }
}

/// A file in a folder of its own.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }
}

impl Backend for Folder {
    fn open(&self) -> Box<dyn Store> {
        // The suite is about what is written, not about power cuts: no fsync makes it fast.
        let options = Options { synchronous: Synchronous::Off, ..Options::default() };
        Box::new(Sqlite::open(self.0.path().join("test.db"), &options).expect("an open file"))
    }
}

conformance_tests!(memory, crate::Shared::new());
conformance_tests!(sqlite, crate::Folder::new());
