//! Dates in words: `'now'`, `'today'`, `'tomorrow'` and `'yesterday'` are read by the machine's clock wherever a date or time is
//! expected. Which strings these are is for the server to say, so they are given to it as parameters, and it tells their types.

use std::collections::BTreeMap;

use tokio_postgres::types::Type;

use super::session::{PendingStatement, RELEASE, SAVE, Session, refusal};
use super::watch::Watch;
use super::wire::BatchStatement;
use crate::engine::{EngineError, SqlError};
use crate::script::{Sort, Statement, Token};

/// The words, in the order of [`MOMENTS`].
const WORDS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// Other words that may stand in a date in words: prefixes of strings, halves of a day, and other words that dates know.
const COMPANIONS: [&str; 9] = ["e", "n", "am", "pm", "z", "utc", "gmt", "infinity", "allballs"];

/// Their values, in a form that every type of date and time reads.
const MOMENTS: &str = "SELECT pg_catalog.to_char(now, 'YYYY-MM-DD HH24:MI:SS.USTZH:TZM'), pg_catalog.to_char(now, 'YYYY-MM-DD'), \
                       pg_catalog.to_char(now::date + 1, 'YYYY-MM-DD'), pg_catalog.to_char(now::date - 1, 'YYYY-MM-DD') \
                       FROM palestra.now() AS now";

/// Reason why definitions have none.
const FIXED: &str = "a date in words would be fixed by a definition, and cannot be used here: write now() or current_date, or the \
                     date itself";

/// Bytes of the longest text that is a date.
const DATE_BYTES_MAX: usize = 128;

/// Types whose input knows the words.
const TYPES: [Type; 13] = [
    Type::DATE,
    Type::TIME,
    Type::TIMETZ,
    Type::TIMESTAMP,
    Type::TIMESTAMPTZ,
    Type::DATE_ARRAY,
    Type::TIME_ARRAY,
    Type::TIMETZ_ARRAY,
    Type::TIMESTAMP_ARRAY,
    Type::TIMESTAMPTZ_ARRAY,
    Type::DATE_RANGE,
    Type::TS_RANGE,
    Type::TSTZ_RANGE,
];

/// Replacements of dates in words.
#[derive(Debug, Default)]
pub(super) struct Dates {
    /// Strings of the statement, by their tokens.
    pub(super) literals: BTreeMap<usize, String>,
    /// All parameters, where one of them is such a date.
    pub(super) parameters: Option<Vec<Option<String>>>,
}

impl<'a> PendingStatement<'a> {
    /// With dates in words settled.
    pub(super) fn with(self, dates: &'a Dates) -> Self {
        let parameters = dates.parameters.as_deref().unwrap_or(self.parameters);
        Self { literals: &dates.literals, parameters, ..self }
    }
}

impl Session {
    /// Finds the dates in words of a statement and its parameters; `now` sets the virtual now.
    pub(super) async fn dates(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Option<String>],
        now: &str,
    ) -> Result<Result<Dates, SqlError>, EngineError> {
        let candidates = candidates(statement);
        let given = parameters.iter().flatten().any(|text| has_word(text));
        if candidates.is_empty() && !given {
            return Ok(Ok(Dates::default()));
        }
        let probe = Probe::new(statement, &candidates, parameters.len());
        let batch = [
            BatchStatement::plain(SAVE),
            BatchStatement::plain(now),
            BatchStatement::plain(MOMENTS),
            BatchStatement { parse_only: true, ..BatchStatement::plain(&probe.sql) },
            BatchStatement::plain(RELEASE),
        ];
        let (answer, _) = self.run_batch(&batch, Watch::Time).await?;
        if answer.error.is_some() {
            // What is wrong with it the server says about the statement itself. A string that has to be one is no date.
            self.undo();
        }
        let mut replies = answer.replies.into_iter().skip(2);
        let moments = replies.next().and_then(|reply| reply.rows.into_iter().next()).unwrap_or_default();
        let moments: Vec<String> = moments.into_iter().flatten().collect();
        let types = replies.next().map(|reply| reply.parameter_types);
        let refused = |token: usize| {
            let position = statement.text[..statement.tokens[token].start].chars().count();
            refusal(FIXED.to_owned(), 0, Some(statement.start_chars + position))
        };
        Ok(probe.read(statement, parameters, types.as_deref(), &moments).map_err(refused))
    }
}

/// A statement in which strings that may be dates are parameters.
struct Probe {
    sql: String,
    /// The token of each, and its parameter's place.
    asked: Vec<(usize, usize)>,
    /// Tokens of strings that are dates, whatever the server says: the type's name is before them.
    certain: Vec<usize>,
}

impl Probe {
    fn new(statement: &Statement<'_>, candidates: &[usize], given: usize) -> Self {
        let (sql, tokens) = (statement.text, &statement.tokens);
        let number = |token: &Token| token.text(sql).strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        let used = tokens.iter().filter(|token| token.sort == Sort::Parameter).filter_map(number).max().unwrap_or(0);
        let mut probe = Self { sql: String::new(), asked: Vec::new(), certain: Vec::new() };
        let (mut copied, mut position) = (0, used.max(given));
        for &at in candidates {
            if follows_type(sql, &tokens[..at]) {
                probe.certain.push(at);
                continue;
            }
            probe.asked.push((at, position));
            position += 1;
            probe.sql.push_str(&sql[copied..tokens[at].start]);
            probe.sql.push_str(&format!(" ${position} "));
            copied = tokens[at].end;
        }
        probe.sql.push_str(&sql[copied..]);
        probe
    }

    /// The replacement, or the token of a date of which the server does not say whether it is one.
    fn read(
        &self,
        statement: &Statement<'_>,
        parameters: &[Option<String>],
        types: Option<&[u32]>,
        moments: &[String],
    ) -> Result<Dates, usize> {
        let is_date = |position: usize| {
            let oid = types.and_then(|types| types.get(position));
            oid.is_some_and(|oid| TYPES.iter().any(|date| date.oid() == *oid))
        };
        // A definition is understood when it is carried out, and says no types before.
        let untold = |(_, position): &&(usize, usize)| types.is_some_and(|types| types.len() <= *position);
        if let Some((token, _)) = self.asked.iter().find(untold) {
            return Err(*token);
        }
        let asked = self.asked.iter().filter(|(_, position)| is_date(*position)).map(|(token, _)| token);
        let literal = |token: &usize| (*token, settled(statement.tokens[*token].text(statement.text), moments));
        let literals = asked.chain(&self.certain).map(literal).collect();
        let parameter = |(position, text): (usize, &Option<String>)| match text {
            Some(text) if is_date(position) && has_word(text) => Some(settled(text, moments)),
            text => text.clone(),
        };
        let all: Vec<Option<String>> = parameters.iter().enumerate().map(parameter).collect();
        Ok(Dates { literals, parameters: (all != parameters).then_some(all) })
    }
}

/// Strings in which a word is.
fn candidates(statement: &Statement<'_>) -> Vec<usize> {
    let tokens = statement.tokens.iter().enumerate();
    let found = tokens.filter(|(_, token)| token.sort == Sort::Text && has_word(token.text(statement.text)));
    found.map(|(at, _)| at).collect()
}

/// True if the type of a string that comes next is said before it: `date 'today'`, `timestamp (0) with time zone 'now'`.
fn follows_type(sql: &str, before: &[Token]) -> bool {
    let Some((last, before)) = before.split_last() else { return false };
    match last.name(sql).as_deref() {
        Some("date" | "time" | "timetz" | "timestamp" | "timestamptz" | "zone") => true,
        None if last.text(sql) == ")" => match before {
            [.., name, open, _digits] => open.text(sql) == "(" && follows_type(sql, &[*name]),
            _ => false,
        },
        _ => false,
    }
}

/// Runs of letters, and what is between them.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte >= 0x80;
    text.as_bytes().chunk_by(move |a, b| letter(a) == letter(b)).scan(0, move |start, run| {
        let from = *start;
        *start += run.len();
        text.get(from..*start)
    })
}

fn word(run: &str) -> Option<usize> {
    WORDS.iter().position(|word| run.eq_ignore_ascii_case(word))
}

/// True if a text may be a date in words: one of them is in it, and nothing that no date has.
fn has_word(text: &str) -> bool {
    let letters = |run: &&str| run.bytes().any(|byte| byte.is_ascii_alphabetic() || byte >= 0x80);
    let companion = |run: &str| COMPANIONS.iter().any(|known| run.eq_ignore_ascii_case(known));
    text.len() <= DATE_BYTES_MAX
        && runs(text).any(|run| word(run).is_some())
        && runs(text).filter(letters).all(|run| word(run).is_some() || companion(run))
}

/// A text with what its words stand for.
fn settled(text: &str, moments: &[String]) -> String {
    runs(text).map(|run| word(run).and_then(|at| moments.get(at)).map_or(run, String::as_str)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::split;
    use crate::value::Dialect;

    #[test]
    fn strings_become_parameters_after_those_that_are_there() {
        let statements = split("SELECT $2, 'Now', date 'today', 'nowhere', timestamp(0) 'now'", Dialect::Postgres);
        let statement = &statements[0];
        let probe = Probe::new(statement, &candidates(statement), 1);
        assert_eq!(probe.sql, "SELECT $2,  $3 , date 'today', 'nowhere', timestamp(0) 'now'");
        assert_eq!((probe.asked.len(), probe.certain.len()), (1, 2));
    }

    #[test]
    fn words_alone_are_replaced() {
        let moments = ["N", "T", "M", "Y"].map(str::to_owned);
        assert_eq!(settled("'tomorrow 12:00'", &moments), "'M 12:00'");
        assert_eq!(settled("{NOW,yesterday} nowä todays", &moments), "{N,Y} nowä todays");
        let dates = ["now", "E'Today 04:05 pm'", "[yesterday,infinity)", "$$now$$"];
        assert!(dates.iter().all(|text| has_word(text)));
        let others = ["know", "nowadays", "to-day", "see you today", "infinity", "nowä"];
        assert!(!others.iter().any(|text| has_word(text)));
    }
}
