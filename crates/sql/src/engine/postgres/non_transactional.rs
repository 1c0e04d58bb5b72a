//! State of a database that savepoints do not cover: constraints that wait for the end of a transaction, what is temporary, and
//! sequences, which keep what they gave out when a transaction is rolled back.

/// Rows of a small query.
type Rows = Vec<Vec<Option<String>>>;

/// Functions in the schema `palestra` that say what the connection remembers of sequences, where asking for it may fail.
pub(super) const FUNCTIONS: &[&str] = &[
    "CREATE FUNCTION palestra.last_drawn() RETURNS bigint VOLATILE LANGUAGE plpgsql SET search_path = pg_catalog \
     AS $$ BEGIN RETURN lastval(); EXCEPTION WHEN object_not_in_prerequisite_state THEN RETURN NULL; END $$",
    "CREATE FUNCTION palestra.sequence_state(sequence regclass) RETURNS text VOLATILE LANGUAGE plpgsql SET search_path = pg_catalog \
     AS $$ DECLARE stored pg_catalog.text; drawn bigint; BEGIN \
     EXECUTE format('SELECT concat_ws('' '', last_value, is_called) FROM %s', sequence) INTO stored; \
     BEGIN drawn := currval(sequence); EXCEPTION WHEN object_not_in_prerequisite_state THEN NULL; END; \
     RETURN concat_ws(' ', stored, drawn); END $$",
];

/// Query for the state beyond savepoints, for [`NonTransactionalState::read`].
pub(super) const SORTS: &str = "\
    SELECT 'deferrable', NULL WHERE EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE condeferrable) \
    UNION ALL SELECT 'temporary', NULL \
    WHERE EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = pg_catalog.pg_my_temp_schema()) \
    UNION ALL SELECT 'sequences', NULL WHERE EXISTS (SELECT FROM pg_catalog.pg_class WHERE relkind = 'S') \
    UNION ALL (SELECT DISTINCT 'deferred', pg_catalog.format('%I.%I', nspname, conname) \
    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace WHERE condeferred ORDER BY 2)";

/// Query for the last value that the connection drew and for the values of sequences by name, for [`NonTransactionalState::learn`].
pub(super) const SEQUENCES: &str = "\
    SELECT NULL, palestra.last_drawn()::text UNION ALL \
    (SELECT pg_catalog.format('%I.%I', nspname, relname), palestra.sequence_state(c.oid) FROM pg_catalog.pg_class c \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE CASE WHEN relkind = 'S' THEN pg_catalog.has_sequence_privilege(c.oid, 'SELECT') END ORDER BY 1)";

/// All of it, as it was looked up last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NonTransactionalState {
    /// True if there are constraints that can be deferred.
    deferrable: bool,
    /// Those that are from the start.
    deferred: Vec<String>,
    /// True if there is anything temporary: a transaction that may only read writes that all the same.
    pub(super) temporary: bool,
    /// True if there are sequences.
    pub(super) counts: bool,
    drawn: SequenceState,
}

/// Where sequences are, and what the connection remembers of them (`currval`, `lastval`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SequenceState {
    last: Option<String>,
    sequences: Vec<(String, String)>,
}

impl NonTransactionalState {
    /// Takes over the rows of [`SORTS`].
    pub(super) fn read(&mut self, rows: Rows) {
        *self = Self { drawn: std::mem::take(&mut self.drawn), ..Self::default() };
        for row in rows {
            let mut row = row.into_iter();
            match (row.next().flatten().as_deref(), row.next().flatten()) {
                (Some("deferrable"), _) => self.deferrable = true,
                (Some("temporary"), _) => self.temporary = true,
                (Some("sequences"), _) => self.counts = true,
                (_, Some(constraint)) => self.deferred.push(constraint),
                _ => {}
            }
        }
    }

    /// Takes over the rows of [`SEQUENCES`].
    pub(super) fn learn(&mut self, rows: Rows) {
        self.drawn = SequenceState::default();
        for row in rows {
            let mut row = row.into_iter();
            match (row.next().flatten(), row.next().flatten()) {
                (Some(name), Some(state)) => self.drawn.sequences.push((name, state)),
                (_, last) => self.drawn.last = last,
            }
        }
    }

    /// Checks constraints as the end of a transaction does, if any can wait for it. From then on all are immediate.
    pub(super) fn check(&self) -> Option<String> {
        self.deferrable.then(|| "SET CONSTRAINTS ALL IMMEDIATE".to_owned())
    }

    /// Puts constraints to how they are from the start, where all are immediate.
    pub(super) fn defer(&self) -> Option<String> {
        self.defer_new(&Self::default())
    }

    /// Puts those to how they are from the start that were not there before.
    pub(super) fn defer_new(&self, before: &Self) -> Option<String> {
        let new = self.deferred.iter().filter(|name| !before.deferred.contains(name));
        let new: Vec<&str> = new.map(String::as_str).collect();
        (!new.is_empty()).then(|| format!("SET CONSTRAINTS {} DEFERRED", new.join(", ")))
    }

    /// True if sequences stand as they did earlier, so that going back there need not touch them. Nothing could: what a connection
    /// remembers of them can be forgotten, but not set. Sequences that are new since then do not matter.
    pub(super) fn draws_as(&self, earlier: &Self) -> bool {
        let (now, then) = (&self.drawn, &earlier.drawn);
        now.last == then.last && then.sequences.iter().all(|sequence| now.sequences.binary_search(sequence).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(last: Option<&str>, sequences: &[(&str, &str)]) -> NonTransactionalState {
        let text = |text: &str| Some(text.to_owned());
        let mut rows = vec![vec![None, last.and_then(text)]];
        rows.extend(sequences.iter().map(|(name, state)| vec![text(name), text(state)]));
        let mut non_transactional = NonTransactionalState::default();
        non_transactional.learn(rows);
        non_transactional
    }

    #[test]
    fn a_sequence_that_moved_is_noticed_and_a_new_one_is_not() {
        let earlier = drawn(None, &[("b", "1 false")]);
        assert!(drawn(None, &[("a", "1 false"), ("b", "1 false")]).draws_as(&earlier));
        assert!(!drawn(None, &[("b", "1 true 1")]).draws_as(&earlier), "it was drawn from");
        assert!(!drawn(Some("1"), &[("b", "1 false")]).draws_as(&earlier), "another one was, which is gone");
        assert!(!drawn(None, &[]).draws_as(&earlier), "nobody knows what it was at");
    }

    #[test]
    fn fresh_values_replace_known_ones() {
        let row = |sort: &str, name: Option<&str>| vec![Some(sort.to_owned()), name.map(str::to_owned)];
        let mut non_transactional = drawn(Some("1"), &[]);
        non_transactional.read(vec![
            row("deferrable", None),
            row("temporary", None),
            row("deferred", Some("public.a")),
        ]);
        assert!(non_transactional.temporary && !non_transactional.counts);
        let before = non_transactional.clone();
        non_transactional.read(vec![
            row("deferrable", None),
            row("deferred", Some("public.a")),
            row("deferred", Some("public.b")),
        ]);
        assert_eq!(non_transactional.defer_new(&before).as_deref(), Some("SET CONSTRAINTS public.b DEFERRED"));
        assert_eq!(non_transactional.defer().as_deref(), Some("SET CONSTRAINTS public.a, public.b DEFERRED"));
        assert!(!non_transactional.temporary && non_transactional.draws_as(&before));
    }
}
