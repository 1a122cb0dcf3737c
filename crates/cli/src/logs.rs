//! What is logged, to standard error.

use anyhow::{Context as _, Result};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    Layer as _, filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

/// How much is logged, and how.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    level: Targets,
    /// One JSON object a line.
    pub(crate) json: bool,
}

impl Default for Logs {
    fn default() -> Self {
        Self { level: Targets::new().with_default(tracing::Level::WARN), json: false }
    }
}

impl Logs {
    /// Sets how much: a level, or parts of the program with theirs.
    pub(crate) fn set_level(&mut self, text: &str) -> Result<()> {
        let wrong =
            || format!("{text:?} is not a level such as warn, or warn,steadfast_engine=debug");
        let level: Targets = text.parse().ok().with_context(wrong)?;
        // A word that is no level is taken for a part of the program.
        let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok();
        let words = text.split(',').map(|part| part.rsplit('=').next().unwrap_or(part));
        anyhow::ensure!(words.into_iter().all(is_level), wrong());
        self.level = level;
        Ok(())
    }

    /// Begins to log. Only the first call in a process counts.
    pub(crate) fn begin(&self) {
        let base = fmt::layer().with_writer(std::io::stderr);
        let layer = if self.json { base.json().boxed() } else { base.with_ansi(false).boxed() };
        let logging = tracing_subscriber::registry().with(layer.with_filter(self.level.clone()));
        // Somebody else logs already: then it is for them to say how.
        let _ = logging.try_init();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_known_words() {
        for right in ["warn", "info", "off", "warn,steadfast_engine=debug"] {
            Logs::default().set_level(right).expect(right);
        }
        for wrong in ["", "loud", "warn,steadfast_engine=loud", "wran"] {
            Logs::default().set_level(wrong).expect_err(wrong);
        }
    }
}
