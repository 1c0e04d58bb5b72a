//! The picture that a terminal shows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

/// Rows that a screen may have.
pub(super) const ROWS_MAX: u16 = 200;
/// Fewest rows; a screen of one is none that programs expect.
pub(super) const ROWS_MIN: u16 = 4;
/// Fewest columns.
pub(super) const COLUMNS_MIN: u16 = 16;
/// Columns that a screen may have.
pub(super) const COLUMNS_MAX: u16 = 500;
/// Bytes that wait to be drawn; of more only the end is drawn.
const WAITING_BYTES_MAX: usize = 512 * 1024;
/// Bytes after which the screen is drawn.
const DRAWN_BYTES: usize = 64 * 1024;

/// A screen, drawn when somebody looks at it: a flood of output costs no more than its last part.
pub(super) struct Screen {
    parser: vt100::Parser,
    waiting: Vec<u8>,
}

impl Screen {
    /// An empty one.
    pub(super) fn new(rows: u16, columns: u16) -> Self {
        Self { parser: vt100::Parser::new(rows, columns, 0), waiting: Vec::new() }
    }

    /// Adds what was printed.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() > WAITING_BYTES_MAX {
            let from = self.waiting.len() - DRAWN_BYTES;
            let line = self.waiting[from..].iter().position(|byte| *byte == b'\n').unwrap_or_default();
            self.waiting.drain(..from + line);
        }
    }

    /// Changes its size.
    pub(super) fn resize(&mut self, rows: u16, columns: u16) {
        self.draw();
        let parser = &mut self.parser;
        if catch_unwind(AssertUnwindSafe(|| parser.screen_mut().set_size(rows, columns))).is_err() {
            self.parser = vt100::Parser::new(rows, columns, 0);
        }
    }

    /// True if arrow keys are to be sent in the form of applications.
    pub(super) fn application_keys(&mut self) -> bool {
        self.draw();
        self.parser.screen().application_cursor()
    }

    /// As data: size, cursor (row and column from 0, whether it is seen) and lines without white space at their ends, of which the
    /// empty ones at the bottom are left out.
    pub(super) fn view(&mut self) -> Value {
        self.draw();
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let (row, column) = screen.cursor_position();
        let mut lines: Vec<String> = screen.rows(0, columns).map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        json!({
            "rows": rows,
            "columns": columns,
            "cursor": {"row": row, "column": column, "visible": !screen.hide_cursor()},
            "lines": lines,
        })
    }

    fn draw(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let parser = &mut self.parser;
        // What is drawn comes from the acting side: should it break the drawing, the screen is empty and all else goes on.
        if catch_unwind(AssertUnwindSafe(|| parser.process(&waiting))).is_err() {
            let (rows, columns) = self.parser.screen().size();
            self.parser = vt100::Parser::new(rows, columns, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_screen_shows_what_a_terminal_would() {
        let mut screen = Screen::new(3, 10);
        screen.push(b"one\r\ntwo\r\n\x1b[1;2Hx\x1b[31m");
        let view = screen.view();
        assert_eq!(view["lines"], json!(["oxe", "two"]));
        assert_eq!(view["cursor"], json!({"row": 0, "column": 2, "visible": true}));
        screen.resize(5, 20);
        assert_eq!(screen.view()["rows"], 5);
        assert!(!screen.application_keys());
        screen.push(b"\x1b[?1h");
        assert!(screen.application_keys());
    }

    #[test]
    fn a_flood_is_drawn_by_its_end() {
        let mut screen = Screen::new(3, 20);
        for number in 0..1_000_000 {
            screen.push(format!("{number}\r\n").as_bytes());
        }
        assert!(screen.waiting.len() <= WAITING_BYTES_MAX);
        assert_eq!(screen.view()["lines"], json!(["999998", "999999"]));
    }

    proptest! {
        #[test]
        fn no_output_breaks_the_screen(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\x1b'), Just(b'['), Just(b';'), b'0'..=b'9', any::<u8>()], 0..300),
            rows in ROWS_MIN..ROWS_MAX, columns in COLUMNS_MIN..COLUMNS_MAX,
        ) {
            let mut screen = Screen::new(24, 80);
            screen.push(&bytes);
            screen.resize(rows, columns);
            screen.push(&bytes);
            prop_assert_eq!(&screen.view()["rows"], &json!(rows));
        }
    }
}
