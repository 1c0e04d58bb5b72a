//! A place in a text that only moves forward, so that finding many places in order takes one pass.

/// The text from some line and column on.
pub(super) struct Cursor<'t> {
    rest: &'t str,
    line: usize,
    column: usize,
}

impl<'t> Cursor<'t> {
    /// At the beginning of a text.
    pub(super) const fn new(text: &'t str) -> Self {
        Self { rest: text, line: 1, column: 0 }
    }

    /// The text from a place on, by its line from 1 and its column in characters from 0; empty where there is no such
    /// place any more.
    pub(super) fn seek(&mut self, line: usize, column: usize) -> &'t str {
        while (self.line, self.column) < (line, column) {
            if !self.step() {
                return "";
            }
        }
        if (self.line, self.column) == (line, column) { self.rest } else { "" }
    }

    /// Line from 1 and column from 0 of the first character that is wanted, if there is one.
    pub(super) fn find(mut self, wanted: impl Fn(char) -> bool) -> Option<(usize, usize, char)> {
        loop {
            let next = self.rest.chars().next()?;
            if wanted(next) {
                return Some((self.line, self.column, next));
            }
            self.step();
        }
    }

    /// One character on, or one end of a line, which is a line feed, a carriage return, or both.
    fn step(&mut self) -> bool {
        let mut characters = self.rest.chars();
        let Some(character) = characters.next() else { return false };
        self.rest = characters.as_str();
        if character == '\r' {
            self.rest = self.rest.strip_prefix('\n').unwrap_or(self.rest);
        }
        (self.line, self.column) =
            if matches!(character, '\n' | '\r') { (self.line + 1, 0) } else { (self.line, self.column + 1) };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_places_in_order_and_none_behind_itself() {
        let mut cursor = Cursor::new("aé\r\nb\rc\nd");
        assert_eq!(cursor.seek(1, 1), "é\r\nb\rc\nd");
        assert_eq!(cursor.seek(1, 1), "é\r\nb\rc\nd");
        assert_eq!(cursor.seek(1, 0), "", "behind");
        assert_eq!(cursor.seek(3, 0), "c\nd");
        assert_eq!(cursor.seek(3, 9), "", "beyond the line");
        assert_eq!(cursor.seek(4, 0), "d");
        assert_eq!(cursor.seek(9, 0), "");
        assert_eq!(Cursor::new("a\r\nb").find(|c| c == 'b'), Some((2, 0, 'b')));
        assert_eq!(Cursor::new("a").find(|c| c == 'b'), None);
    }
}
