//! Tables, numbers and bars in plain text.

use std::fmt::{self, Write};

use crate::shown::visible;

/// Rows whose columns line up: the first to the left, those of numbers to the right. Columns of which
/// all cells are empty or `0` are left out.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    has_head: bool,
}

impl Table {
    pub(super) fn new() -> Table {
        Table { rows: Vec::new(), has_head: false }
    }

    pub(super) fn head<const N: usize>(&mut self, names: [&str; N]) {
        self.has_head = true;
        self.rows.insert(0, names.map(str::to_owned).into());
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.iter().map(|cell| visible(cell).into_owned()).collect());
    }

    pub(super) fn write(&self, text: &mut String, indent: &str) -> fmt::Result {
        let body = self.rows.get(usize::from(self.has_head)..).unwrap_or_default();
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &'_ Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
        let shown: Vec<usize> = (0..columns)
            .filter(|at| {
                body.iter().any(|row| !matches!(cell(row, *at).as_str(), "" | "0" | "0 %"))
            })
            .collect();
        let width = |at: usize| {
            self.rows.iter().map(|row| cell(row, at).chars().count()).max().unwrap_or(0)
        };
        for row in &self.rows {
            let mut line = String::from(indent);
            for (nth, at) in shown.iter().enumerate() {
                let (cell, width) = (cell(row, *at), width(*at));
                let gap = if nth == 0 { "" } else { "  " };
                let numbers = body.iter().all(|row| is_number(row.get(*at)));
                match *at > 0 && numbers {
                    true => write!(line, "{gap}{cell:>width$}")?,
                    false => write!(line, "{gap}{cell:<width$}")?,
                }
            }
            writeln!(text, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn is_number(cell: Option<&String>) -> bool {
    cell.is_none_or(|cell| {
        cell.chars().all(|letter| letter.is_ascii_digit() || ",. %<".contains(letter))
    })
}

/// A column of a chart: taller for more, of nothing a blank.
pub(super) fn bar(value: u64, most: u64) -> char {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let eighth = (u128::from(value) * 8).div_ceil(u128::from(most.max(1)));
    match usize::try_from(eighth).unwrap_or(8).checked_sub(1) {
        None => ' ',
        Some(at) => BARS.get(at).copied().unwrap_or('█'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_a_blank_only_for_nothing() {
        assert_eq!([0, 1, 50, 100].map(|value| bar(value, 100)), [' ', '▁', '▄', '█']);
    }

    #[test]
    fn a_column_of_nothing_is_left_out() {
        let mut table = Table::new();
        table.head(["", "many", "none", "text"]);
        table.row(["a", "5", "0", "x"].map(str::to_owned));
        table.row(["bb", "10", "0", ""].map(str::to_owned));
        let mut text = String::new();
        table.write(&mut text, "  ").unwrap();
        assert_eq!(text, "      many  text\n  a      5  x\n  bb    10\n");
    }
}
