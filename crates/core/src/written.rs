//! New events and their bytes: written once, where they get their place, because what they take is
//! counted there.

use std::ops::Deref;

use prost::{
    Message as _,
    encoding::{self, WireType},
};
use steadfast_proto::history::HistoryEvent;

/// New events of a run, in their order.
#[derive(Debug, Default)]
pub struct Written {
    events: Vec<HistoryEvent>,
    /// They as a `History` message, behind one byte that is left to whoever stores them.
    bytes: Vec<u8>,
}

impl Written {
    /// Writes one more event. Gives it back with the bytes that it takes by itself.
    pub(crate) fn push(&mut self, event: HistoryEvent) -> (&HistoryEvent, usize) {
        let (place, length) = (self.events.len(), self.write(&event));
        self.events.push(event);
        (&self.events[place], length)
    }

    /// Makes room for so many more events: they are large, and not to be moved as more of them come.
    pub(crate) fn reserve(&mut self, events: usize) {
        self.events.reserve_exact(events);
    }

    /// Puts events in front.
    pub(crate) fn put_before(&mut self, earlier: Vec<HistoryEvent>) {
        let later = std::mem::take(self);
        for event in earlier.into_iter().chain(later.events) {
            self.push(event);
        }
    }

    /// Takes the bytes, with `first` in front.
    pub fn take_bytes(&mut self, first: u8) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        if let Some(free) = bytes.first_mut() {
            *free = first;
        }
        bytes
    }

    /// The events alone.
    pub fn into_events(self) -> Vec<HistoryEvent> {
        self.events
    }

    fn write(&mut self, event: &HistoryEvent) -> usize {
        let length = event.encoded_len();
        let wide = u64::try_from(length).unwrap_or(u64::MAX);
        let begin = self.bytes.len().max(1);
        let framed = encoding::key_len(EVENTS) + encoding::encoded_len_varint(wide) + length;
        // Into bytes that are there already: a vector would look for room at each of them.
        self.bytes.resize(begin + framed, 0);
        if let Some(mut rest) = self.bytes.get_mut(begin..) {
            encoding::encode_key(EVENTS, WireType::LengthDelimited, &mut rest);
            encoding::encode_varint(wide, &mut rest);
            event.encode_raw(&mut rest);
        }
        length
    }
}

impl Deref for Written {
    type Target = [HistoryEvent];

    fn deref(&self) -> &[HistoryEvent] {
        &self.events
    }
}

/// The number of the events in a `History`.
const EVENTS: u32 = 1;

#[cfg(test)]
mod tests {
    use steadfast_proto::history::History;

    use super::*;

    #[test]
    fn events_are_read_as_a_history_wherever_they_were_put() {
        let event = |id| HistoryEvent { event_id: id, task_id: 1 << id, ..HistoryEvent::default() };
        let events: Vec<HistoryEvent> = (1..40).map(event).collect();
        let mut written = Written::default();
        for event in &events[9..] {
            assert_eq!(written.push(event.clone()), (event, event.encoded_len()));
        }
        written.put_before(events[..9].to_vec());
        let bytes = written.take_bytes(7);
        let (first, rest) = bytes.split_first().expect("some bytes");
        assert_eq!(*first, 7);
        assert_eq!(History::decode(rest).expect("a history").events, events);
        assert_eq!(written.into_events(), events);
    }
}
