//! What a database has that savepoints do not cover: constraints that wait for the end of a transaction, and sequences, which keep what
//! they gave out when a transaction is rolled back.

use super::server::literal;

/// Rows of a small query.
type Rows = Vec<Vec<Option<String>>>;

/// All of it, as it was looked up last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Beyond {
    /// Whether there are constraints that can be deferred.
    deferrable: bool,
    /// Those that are from the start.
    deferred: Vec<String>,
    /// Sequences by their names in SQL.
    sequences: Vec<Sequence>,
}

/// A sequence, its last value and whether that was given out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sequence {
    name: String,
    last: i64,
    called: bool,
}

impl Beyond {
    /// From the rows of [`super::catalog::DEFERRED`] and [`super::catalog::SEQUENCES`]; values of sequences are to be read yet.
    pub(super) fn read(constraints: Rows, sequences: Rows) -> Self {
        let mut constraints = column(constraints);
        // The first row tells whether any constraint can be deferred, the others which ones are from the start.
        let deferrable = constraints.next().is_some_and(|any| any == "t");
        let sequences = column(sequences).map(|name| Sequence { name, last: 1, called: false }).collect();
        Self { deferrable, deferred: constraints.collect(), sequences }
    }

    /// What checks constraints as the end of a transaction does, and puts them back to how they begin in the next one.
    pub(super) fn checks(&self) -> Vec<String> {
        let check = self.deferrable.then(|| "SET CONSTRAINTS ALL IMMEDIATE".to_owned());
        check.into_iter().chain(self.defer()).collect()
    }

    /// Puts constraints to how they are from the start, where all are immediate.
    pub(super) fn defer(&self) -> Option<String> {
        (!self.deferred.is_empty()).then(|| format!("SET CONSTRAINTS {} DEFERRED", self.deferred.join(", ")))
    }

    /// The query that reads the sequences, if there are any; its rows are for [`Beyond::learn`].
    pub(super) fn read_sequences(&self) -> Option<String> {
        let read = |sequence: &Sequence| format!("SELECT last_value, is_called FROM {}", sequence.name);
        let queries: Vec<String> = self.sequences.iter().map(read).collect();
        (!queries.is_empty()).then(|| queries.join(" UNION ALL "))
    }

    /// Takes over where the sequences are.
    pub(super) fn learn(&mut self, rows: Rows) {
        for (sequence, row) in self.sequences.iter_mut().zip(rows) {
            let mut row = row.into_iter().flatten();
            if let (Some(Ok(last)), Some(called)) = (row.next().map(|text| text.parse()), row.next()) {
                (sequence.last, sequence.called) = (last, called == "t");
            }
        }
    }

    /// The statement that puts the sequences back to where they were, if there are any.
    pub(super) fn put_back(&self) -> Option<String> {
        let set = |sequence: &Sequence| {
            format!("pg_catalog.setval({}, {}, {})", literal(&sequence.name), sequence.last, sequence.called)
        };
        let calls: Vec<String> = self.sequences.iter().map(set).collect();
        (!calls.is_empty()).then(|| format!("SELECT {}", calls.join(", ")))
    }
}

fn column(rows: Rows) -> impl Iterator<Item = String> {
    rows.into_iter().filter_map(|row| row.into_iter().next().flatten())
}
