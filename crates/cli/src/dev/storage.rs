//! Where a server for tests keeps its data: in memory, or in a file that was named.

use std::{path::absolute, sync::Arc};

use anyhow::{Context as _, Result};
use steadfast_store::{
    Memory, Sqlite, Store,
    sqlite::{Options, Synchronous},
};

use super::args::StartDev;
use crate::input::Pair;

/// A store, and the flags that changed nothing about it.
pub(super) struct Opened {
    pub(super) store: Arc<dyn Store>,
    pub(super) in_vain: Vec<String>,
}

/// Opens what the flags say.
pub(super) fn open(args: &StartDev) -> Result<Opened> {
    let Some(path) = &args.db_filename else {
        let in_vain = args.sqlite_pragma.iter().map(flag).collect();
        return Ok(Opened { store: Arc::new(Memory::new()), in_vain });
    };
    let path = absolute(path).context("finding the data file")?;
    let mut options = Options::default();
    let mut in_vain = Vec::new();
    for pragma in &args.sqlite_pragma {
        if !set(pragma, &mut options) {
            in_vain.push(flag(pragma));
        }
    }
    let store = Sqlite::open(&path, &options)
        .with_context(|| format!("cannot open --db-filename {}", path.display()))?;
    Ok(Opened { store: Arc::new(store), in_vain })
}

/// Sets what can be set; `false` for anything else.
fn set(pragma: &Pair, options: &mut Options) -> bool {
    match (pragma.key.to_lowercase().as_str(), pragma.value.to_lowercase().as_str()) {
        ("synchronous", "full" | "2") => options.synchronous = Synchronous::Full,
        ("synchronous", "normal" | "1") => options.synchronous = Synchronous::Normal,
        // It is never written in another way.
        ("journal_mode", "wal") => {}
        _ => return false,
    }
    true
}

fn flag(pragma: &Pair) -> String {
    format!("--sqlite-pragma {}={}", pragma.key, pragma.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_is_set() {
        let mut options = Options::default();
        let mut set = |text: &str| set(&text.parse().expect("a pair"), &mut options);
        assert!(set("synchronous=NORMAL"));
        assert!(set("journal_mode=wal"));
        assert!(!set("synchronous=off"), "a commit that is not written is none");
        assert!(!set("cache_size=7"));
        assert_eq!(options.synchronous, Synchronous::Normal);
    }
}
