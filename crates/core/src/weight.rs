//! How much of what users sent a run keeps in memory.

use prost::Message as _;

use crate::{
    run::Run,
    size,
    state::{Activity, Child, External, ExternalInitiated, Update},
};

impl Run {
    /// Bytes of all that it keeps which users can make large: what it was started with, and what is
    /// pending. It takes as long to tell as there is much of it.
    pub fn weight(&self) -> usize {
        let activities = self.activities.iter().map(|(_, it)| activity(it));
        let children = self.children.iter().map(|(_, it)| child(it));
        let externals = self.externals.iter().map(|(_, it)| external(it));
        let updates = self.updates.iter().map(|(_, it)| update(it));
        let buffered = self.buffer.iter().map(|(_, it)| it.encoded_len());
        let messages = self.messages.iter().map(|(_, it)| it.encoded_len());
        let letters = self.letters.iter().map(|(_, it)| it.encoded_len());
        let pending = activities.chain(children).chain(externals).chain(updates);
        let own = self.started.encoded_len()
            + size::of(self.user_metadata.as_deref())
            + self.state.encoded_len();
        own + pending.chain(buffered).chain(messages).chain(letters).sum::<usize>()
    }
}

fn activity(it: &Activity) -> usize {
    it.scheduled.encoded_len() + it.row.encoded_len()
}

fn child(it: &Child) -> usize {
    it.initiated.encoded_len() + size::of(it.user_metadata.as_deref())
}

fn external(it: &External) -> usize {
    match &it.initiated {
        ExternalInitiated::Signal(signal) => signal.encoded_len(),
        ExternalInitiated::Cancel(cancel) => cancel.encoded_len(),
    }
}

fn update(it: &Update) -> usize {
    size::of(it.request.as_ref()) + size::of(it.outcome.as_ref())
}
