//! One line about one event.

use anyhow::Result;
use steadfast_proto::{
    history::HistoryEvent,
    telling::{Mood, Teller as Parts, Told},
};

use crate::{
    output::{Paint, cut},
    time,
};

/// A teller of events, which lines them up.
#[derive(Debug)]
pub(super) struct Teller {
    paint: Paint,
    parts: Parts,
    widest: usize,
}

impl Teller {
    pub(super) fn new(paint: Paint) -> Self {
        Self { paint, parts: Parts::default(), widest: 32 }
    }

    /// The line about an event.
    pub(super) fn line(&mut self, event: &HistoryEvent) -> Result<String> {
        let told = self.parts.tell(event)?;
        self.widest = self.widest.max(told.kind.len());
        let padding = " ".repeat(self.widest - told.kind.len());
        let line = format!(
            "{:>5}  {}  {}{padding}  {}",
            event.event_id,
            self.paint.faint(&time::at(event.event_time.as_ref())),
            self.coloured(&told),
            words(told),
        );
        Ok(line.trim_end().to_owned())
    }

    fn coloured(&self, told: &Told) -> String {
        match told.mood() {
            Mood::Bad => self.paint.bad(&told.kind),
            Mood::Odd => self.paint.odd(&told.kind),
            Mood::Good => self.paint.good(&told.kind),
            Mood::Faint => self.paint.faint(&told.kind),
            Mood::Plain => told.kind.clone(),
        }
    }
}

fn words(told: Told) -> String {
    let attempt = told.attempt.map(|number| format!("attempt {number}")).unwrap_or_default();
    let parts = [told.subject, attempt, cut(&told.reason, WIDTH), cut(&told.outcome, WIDTH)];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

/// How much of a value is told on the line.
const WIDTH: usize = 100;
