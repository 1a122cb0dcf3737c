//! Cards: what there is to say about one thing, a line for each.

/// A card in the making.
#[derive(Debug, Default)]
pub(crate) struct Card {
    lines: Vec<(String, String)>,
}

impl Card {
    /// One more line, unless there is nothing to say.
    pub(crate) fn line(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        let value = value.into();
        if !value.is_empty() {
            self.lines.push((name.to_owned(), value));
        }
        self
    }

    /// The text of it.
    pub(crate) fn text(&self) -> String {
        self.indented("")
    }

    /// The text of it, further in.
    pub(crate) fn indented(&self, indent: &str) -> String {
        let width = self.lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let lines = self.lines.iter().map(|(name, value)| {
            // Further lines of a value stand under its first.
            let under = format!("\n{indent}{:width$}  ", "");
            format!("{indent}{name:width$}  {}\n", value.trim_end().replace('\n', &under))
        });
        lines.collect()
    }
}
