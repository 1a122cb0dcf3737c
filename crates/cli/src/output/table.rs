//! Tables: a head, rows, columns as wide as their longest word.

/// A table in the making.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self { rows: vec![head.iter().map(|&name| name.to_owned()).collect()] }
    }

    /// A table with as many columns as there are names.
    pub(crate) fn wide<'a>(head: impl IntoIterator<Item = &'a str>) -> Self {
        Self { rows: vec![head.into_iter().map(str::to_owned).collect()] }
    }

    /// One more row of such a table.
    pub(crate) fn wide_row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// One more row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// The text of it; `empty` if it has no rows.
    pub(crate) fn text_or(&self, empty: &str) -> String {
        if self.rows.len() == 1 { format!("{empty}\n") } else { self.text() }
    }

    fn text(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
            text.push_str(cells.collect::<String>().trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        (0..columns).map(width).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_word() {
        let mut table = Table::new(["ID", "STATUS"]);
        table.row(["a longer id".to_owned(), "Running".to_owned()]);
        table.row(["é".to_owned(), String::new()]);
        insta::assert_snapshot!(table.text_or("none"), @r"
        ID           STATUS
        a longer id  Running
        é
        ");
        assert_eq!(Table::new(["ID"]).text_or("none"), "none\n");
    }
}
