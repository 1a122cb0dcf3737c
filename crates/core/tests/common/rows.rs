//! A store of rows in memory: what a run writes there must be enough to bring it back.

use std::collections::BTreeMap;

use prost::Message;
use steadfast_core::{Identity, Key, Kind, Run, RunError, Sink, State, Stored};
use steadfast_proto::history::HistoryEvent;

/// The rows of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    state: Vec<u8>,
    pending: BTreeMap<(Kind, Name), Vec<u8>>,
    pub(crate) errors: BTreeMap<i64, RunError>,
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Name {
    Number(u64),
    Text(String),
}

impl Rows {
    /// Writes what has changed of `run`. Gives how many rows that were.
    pub(crate) fn write(&mut self, run: &mut Run) -> usize {
        self.state = run.state().encode_to_vec();
        let mut changes = Changes { rows: self, count: 0 };
        run.drain_changes(&mut changes);
        changes.count
    }

    /// The run as these rows and these events have it.
    pub(crate) fn restore(&self, identity: Identity, events: &[HistoryEvent]) -> Run {
        let mut stored = Stored {
            identity,
            state: State::decode(self.state.as_slice()).unwrap(),
            ..Stored::default()
        };
        for ((kind, name), row) in &self.pending {
            put(&mut stored, *kind, name, row);
        }
        let needed = stored.events_needed();
        let at_hand = events
            .iter()
            .filter(|event| needed.contains(&event.event_id))
            .map(|event| (event.event_id, event.clone()))
            .collect();
        stored.into_run(&at_hand).unwrap()
    }
}

struct Changes<'a> {
    rows: &'a mut Rows,
    count: usize,
}

impl Sink for Changes<'_> {
    fn put<M: Message>(&mut self, kind: Kind, key: Key<'_>, row: &M) {
        self.count += 1;
        self.rows.pending.insert((kind, name(key)), row.encode_to_vec());
    }

    fn delete(&mut self, kind: Kind, key: Key<'_>) {
        self.count += 1;
        self.rows.pending.remove(&(kind, name(key)));
    }

    fn error(&mut self, subject: i64, error: Option<&RunError>) {
        self.count += 1;
        match error {
            Some(error) => _ = self.rows.errors.insert(subject, error.clone()),
            None => _ = self.rows.errors.remove(&subject).expect("an error that was written"),
        }
    }
}

fn name(key: Key<'_>) -> Name {
    match key {
        Key::Number(number) => Name::Number(number),
        Key::Name(text) => Name::Text(text.to_owned()),
    }
}

fn put(stored: &mut Stored, kind: Kind, name: &Name, row: &[u8]) {
    match (kind, name) {
        (Kind::Activity, Name::Number(id)) => {
            stored.activities.insert(id.cast_signed(), read(row));
        }
        (Kind::Timer, Name::Number(id)) => {
            stored.timers.insert(id.cast_signed(), read(row));
        }
        (Kind::Child, Name::Number(id)) => {
            stored.children.insert(id.cast_signed(), read(row));
        }
        (Kind::External, Name::Number(id)) => {
            stored.externals.insert(id.cast_signed(), read(row));
        }
        (Kind::Update, Name::Text(id)) => {
            stored.updates.insert(id.clone(), read(row));
        }
        (Kind::Request, Name::Text(id)) => {
            stored.requests.insert(id.clone(), read(row));
        }
        (Kind::Buffered, Name::Number(number)) => {
            stored.buffered.insert(*number, read(row));
        }
        (Kind::Message, Name::Number(number)) => {
            stored.messages.insert(*number, read(row));
        }
        (Kind::DeadLetter, Name::Number(id)) => {
            stored.letters.insert(id.cast_signed(), read(row));
        }
        (kind, name) => panic!("a row of kind {kind:?} is not called {name:?}"),
    }
}

fn read<M: Message + Default>(row: &[u8]) -> M {
    M::decode(row).unwrap()
}
