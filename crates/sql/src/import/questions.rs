//! The file of questions, in our own words or in those of the collections that are used most.

use std::collections::{BTreeMap, BTreeSet};

use palestra_state::json;
use serde::Deserialize;
use serde_json::Value as Json;

use super::moment;
use super::order::is_ordered;
use crate::dataset::Dataset;
use crate::engine::Access;
use crate::fault::Fault;
use crate::parse;
use crate::script;
use crate::task::{Accepted, Check, Compare, Data, Kind, Spoken, Submission, Task, WeightedCheck};
use crate::translate::to_postgres;
use crate::value::Dialect;

/// The split of questions that name none.
const SPLIT: &str = "test";
/// The longest name of a split, as in data sets.
const SPLIT_BYTES_MAX: usize = 64;
/// As many splits fit into one folder, as in data sets.
const SPLITS_MAX: usize = 16;

/// A question as it is written.
#[derive(Debug, Clone, Deserialize)]
struct Entry {
    #[serde(alias = "db_id", alias = "database")]
    db: String,
    question: Option<String>,
    /// The question where the reference stands elsewhere, else the reference.
    query: Option<String>,
    /// The reference, or several that are right alike.
    gold: Option<OneOrMore>,
    #[serde(alias = "SQL")]
    sql: Option<Json>,
    /// For the first of `gold`.
    gold_postgres: Option<String>,
    /// Further references: other readings of the question.
    #[serde(default)]
    accepted: Vec<String>,
    /// The time that its sessions see as now.
    now: Option<String>,
    /// Background knowledge needed to understand the question.
    evidence: Option<String>,
    #[serde(alias = "difficulty")]
    hardness: Option<String>,
    split: Option<String>,
    ordered: Option<bool>,
    template: Option<String>,
    compare: Option<Compare>,
    /// Fields of collections that are not needed here, and misspelt ones.
    #[serde(flatten)]
    others: BTreeMap<String, Json>,
}

/// The names of the fields above, with their other names.
const FIELDS: [&str; 19] = [
    "db",
    "db_id",
    "database",
    "question",
    "query",
    "gold",
    "sql",
    "SQL",
    "gold_postgres",
    "accepted",
    "now",
    "evidence",
    "difficulty",
    "hardness",
    "split",
    "ordered",
    "template",
    "compare",
    "question_id",
];

/// Letters in which a field may differ from one that was meant.
const SLIPS_MAX: usize = 2;

/// Letters of the shortest field that is taken for a misspelt one: shorter ones are near to many words.
const MISSPELT_MIN: usize = 4;

/// A text, or a list of texts.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
}

/// A file of questions as an object: what holds for all of them, and the questions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionSet {
    /// The time that sessions see as now.
    now: Option<String>,
    /// By database, where it is another one.
    #[serde(default)]
    databases: BTreeMap<String, DatabaseSettings>,
    questions: Vec<Json>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DatabaseSettings {
    now: Option<String>,
}

/// A question that is complete.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) location: String,
    pub(super) database: String,
    text: String,
    gold: String,
    accepted: Vec<String>,
    begins_ms: Option<i64>,
    entry: Entry,
}

/// Every question of the folder.
pub(super) fn questions(files: &BTreeMap<String, Vec<u8>>, faults: &mut Vec<Fault>) -> Vec<Question> {
    let is_one = |path: &&String| {
        let file = path.rsplit_once('/').map_or(path.as_str(), |(_, file)| file);
        matches!(file, "questions.json" | "questions.jsonl" | "questions.yaml" | "questions.yml")
    };
    let paths: Vec<&String> = files.keys().filter(is_one).collect();
    let [path] = paths.as_slice() else {
        let detail = if paths.is_empty() {
            "there is no file of questions: add one"
        } else {
            "there is more than one file of questions: send one"
        };
        faults.push(Fault::new("questions.json, .jsonl or .yaml", detail));
        return Vec::new();
    };
    let entries = match entries(path, &files[*path]) {
        Ok(entries) => entries,
        Err(fault) => {
            faults.push(fault);
            return Vec::new();
        }
    };
    if entries.is_empty() {
        faults.push(Fault::new(*path, "there are no questions: add one"));
    }
    let mut questions = Vec::new();
    for (location, entry) in entries {
        match entry.map_err(|fault| fault.to_string()).and_then(|entry| complete(location.clone(), entry)) {
            Ok(question) => questions.push(question),
            Err(detail) => faults.push(Fault::new(location, detail)),
        }
    }
    let splits: BTreeSet<&str> =
        questions.iter().map(|question| question.entry.split.as_deref().unwrap_or(SPLIT)).collect();
    if splits.len() > SPLITS_MAX {
        faults.push(Fault::new(*path, format!("there are {} splits, and at most {SPLITS_MAX} may be", splits.len())));
    }
    questions
}

/// Notes of questions that are asked twice, with another reference the second time: one of them is wrong, or the question is ambiguous.
pub(super) fn contradictions(questions: &[Question]) -> Vec<String> {
    let mut asked: BTreeMap<(String, &str, Option<&str>), &Question> = BTreeMap::new();
    let mut notes = Vec::new();
    for question in questions {
        let Question { location, database, text, gold, entry, .. } = question;
        let first = *asked.entry((database.to_lowercase(), text, entry.evidence.as_deref())).or_insert(question);
        if first.gold != *gold {
            notes.push(format!(
                "{location}: the same question stands at {} with another reference: keep one, with the other reference in its `accepted`",
                first.location
            ));
        }
    }
    notes
}

type Entries = Vec<(String, Result<Entry, serde_json::Error>)>;

fn entries(path: &str, content: &[u8]) -> Result<Entries, Fault> {
    let text = std::str::from_utf8(content).map_err(|fault| {
        Fault::new(path, format!("is not UTF-8 after byte {}: save it as UTF-8", fault.valid_up_to()))
    })?;
    if path.ends_with(".jsonl") {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        return Ok(lines.map(|(number, line)| (format!("{path}:{}", number + 1), json::from_str(line))).collect());
    }
    let all: Json = if path.ends_with(".json") {
        json::read(text).map_err(|fault| {
            let place = format!("{path}:{}:{}", fault.line(), fault.column().max(1));
            Fault::new(place, format!("the file is no JSON, correct it: {fault}"))
        })?
    } else {
        palestra_yaml::read(text).map_err(|fault| Fault::new(path, fault.to_string()))?
    };
    let set = if all.is_object() {
        serde_json::from_value(all).map_err(|fault| Fault::new(path, fault.to_string()))?
    } else {
        let questions = serde_json::from_value(all).map_err(|fault| Fault::new(path, fault.to_string()))?;
        QuestionSet { now: None, databases: BTreeMap::new(), questions }
    };
    let QuestionSet { now, databases, questions } = set;
    let entries: Entries = questions
        .into_iter()
        .enumerate()
        .map(|(number, entry)| {
            let entry = serde_json::from_value(entry).map(|entry: Entry| {
                let of_database = databases.iter().find(|(name, _)| name.eq_ignore_ascii_case(entry.db.trim()));
                let of_set = of_database.and_then(|(_, settings)| settings.now.as_ref()).or(now.as_ref());
                Entry { now: entry.now.clone().or_else(|| of_set.cloned()), ..entry }
            });
            (format!("{path}: question {}", number + 1), entry)
        })
        .collect();
    let is_asked = |name: &str| {
        entries.iter().flat_map(|(_, entry)| entry).any(|entry| entry.db.trim().eq_ignore_ascii_case(name))
    };
    match databases.keys().find(|name| entries.iter().all(|(_, entry)| entry.is_ok()) && !is_asked(name)) {
        Some(name) => Err(Fault::new(path, format!("databases.{name}: no question is about it, correct the name"))),
        None => Ok(entries),
    }
}

/// A field that is none, and the one that was probably meant.
fn misspelt(fields: &BTreeMap<String, Json>) -> Option<(&str, &'static str)> {
    let near = |name: &str| {
        let distances = FIELDS.map(|field| (strsim::osa_distance(name, field), field));
        distances.into_iter().filter(|(slips, _)| (1..=SLIPS_MAX).contains(slips)).min().map(|(_, field)| field)
    };
    let long = fields.keys().filter(|name| name.chars().count() >= MISSPELT_MIN);
    long.filter_map(|name| Some((name.as_str(), near(name)?))).next()
}

/// A query without the end of a statement.
fn bare(sql: &str) -> String {
    sql.trim().trim_end_matches(';').trim_end().to_owned()
}

fn complete(location: String, mut entry: Entry) -> Result<Question, String> {
    if let Some((field, meant)) = misspelt(&entry.others) {
        return Err(format!("there is no field {field:?}, did you mean {meant:?}? Correct it or leave it out"));
    }
    let sql = entry.sql.take().and_then(|sql| sql.as_str().map(str::to_owned));
    let mut golds = entry.gold.take().map(OneOrMore::into_vec).unwrap_or_default().into_iter();
    let (first, mut accepted) = (golds.next(), golds.collect::<Vec<String>>());
    accepted.append(&mut entry.accepted);
    let accepted: Vec<String> = accepted.iter().map(|sql| bare(sql)).collect();
    let begins_ms = entry.now.as_deref().map(moment::read).transpose()?;
    let (text, gold) = match (first.or(sql), entry.question.take(), entry.query.take()) {
        (Some(gold), Some(text), _) | (Some(gold), None, Some(text)) | (None, Some(text), Some(gold)) => (text, gold),
        (None, ..) => return Err("there is no reference: add it as gold, sql, or query beside question".into()),
        (_, None, None) => return Err("there is no question: add it as question".into()),
    };
    let gold = bare(&gold);
    entry.gold_postgres = entry.gold_postgres.take().filter(|sql| !sql.trim().is_empty());
    let others = accepted.iter().map(|sql| ("an accepted query", sql));
    for (name, field) in
        [("the question", &text), ("the reference", &gold), ("db", &entry.db)].into_iter().chain(others)
    {
        if field.trim().is_empty() {
            return Err(format!("{name} is empty: fill it"));
        }
    }
    if let Some(split) = entry.split.as_deref().filter(|split| !is_split(split)) {
        let shown: String = split.chars().take(SPLIT_BYTES_MAX).collect();
        return Err(format!("a split must be 1 to {SPLIT_BYTES_MAX} small letters, digits and _, not {shown:?}"));
    }
    let postgres = entry.gold_postgres.iter().map(|sql| ("the reference", sql, Dialect::Postgres));
    let others = accepted.iter().map(|sql| ("an accepted query", sql, Dialect::Sqlite));
    for (name, sql, dialect) in std::iter::once(("the reference", &gold, Dialect::Sqlite)).chain(postgres).chain(others)
    {
        parse::check_reference(sql, dialect).map_err(|why| format!("{name} cannot be read, correct it: {why}"))?;
        let count = script::split(sql, dialect).len();
        if count != 1 {
            return Err(format!("{name} must be one statement, and is {count}"));
        }
    }
    let database = entry.db.trim().to_owned();
    Ok(Question { location, database, text: text.trim().to_owned(), gold, accepted, begins_ms, entry })
}

/// Small letters, digits and _, beginning with a letter or digit: what the names of tasks begin with.
fn is_split(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= SPLIT_BYTES_MAX
        && name.bytes().next().is_some_and(plain)
        && name.bytes().all(|byte| plain(byte) || byte == b'_')
}

impl Question {
    /// The task, with the split that it belongs to. The reference is written in PostgreSQL's words where that can be done.
    pub(super) fn task(self, database: &str, dataset: &Dataset) -> (String, Task) {
        let Self { text, gold, accepted, begins_ms, entry, .. } = self;
        let mut compare = entry.compare.unwrap_or_default();
        if entry.compare.is_none() {
            compare.ordered = is_ordered(&gold);
        }
        compare.ordered = entry.ordered.unwrap_or(compare.ordered);
        let mut metadata = BTreeMap::from([("database".to_owned(), Json::from(database))]);
        if let Some(hardness) = &entry.hardness {
            metadata.insert("hardness".into(), Json::from(hardness.as_str()));
        }
        let spoken =
            |sqlite: String, postgres: Option<String>| match postgres.or_else(|| to_postgres(&sqlite, dataset).ok()) {
                Some(postgres) => Spoken::each(sqlite, postgres),
                None => Spoken::Each(BTreeMap::from([(Dialect::Sqlite, sqlite)])),
            };
        let gold = spoken(gold, entry.gold_postgres);
        let accepted = accepted.into_iter().map(|sql| {
            let said = entry.ordered.or(entry.compare.map(|compare| compare.ordered));
            let ordered = said.unwrap_or_else(|| is_ordered(&sql));
            Accepted { gold: spoken(sql, None), ordered }
        });
        let accepted = accepted.collect();
        let instruction = match entry.evidence.as_deref().map(str::trim).filter(|evidence| !evidence.is_empty()) {
            Some(evidence) => format!("{text}\n\nTo know: {evidence}"),
            None => text,
        };
        let task = Task {
            kind: Kind::Question,
            template: entry.template.unwrap_or_else(|| "imported".into()),
            instruction,
            difficulty: entry.hardness.as_deref().and_then(difficulty),
            data: Data::Stored(database.to_owned()),
            others: Vec::new(),
            setup: Spoken::Nothing,
            access: Access::Read,
            submission: Submission::Sql,
            checks: vec![WeightedCheck {
                name: "result".into(),
                weight: 1.0,
                required: false,
                check: Check::Result { gold: gold.clone(), compare, accepted },
            }],
            solution: Vec::new(),
            solution_submission: Some(gold),
            begins_ms,
            metadata,
        };
        (entry.split.unwrap_or_else(|| SPLIT.into()), task)
    }
}

/// The words that collections use for how hard a question is.
fn difficulty(hardness: &str) -> Option<f64> {
    match hardness.to_ascii_lowercase().as_str() {
        "easy" | "simple" => Some(0.2),
        "medium" | "moderate" => Some(0.4),
        "hard" => Some(0.6),
        "extra" | "extra hard" | "challenging" => Some(0.8),
        other => other.parse().ok().filter(|number| (0.0..=1.0).contains(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, content: &str) -> (Vec<(String, String)>, Vec<String>) {
        let files = BTreeMap::from([(path.to_owned(), content.as_bytes().to_vec())]);
        let mut faults = Vec::new();
        let questions = questions(&files, &mut faults);
        let read = questions.into_iter().map(|question| (question.text, question.gold)).collect();
        (read, faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_fields_of_several_collections_are_understood() {
        let lines = r#"
{"db": "a", "gold": "SELECT 1;", "query": "One?", "hardness": "easy", "db_tables": {}}
{"db_id": "a", "question": "Two?", "query": "SELECT 2", "sql": {"select": []}}
{"db_id": "a", "question": "Three?", "SQL": "SELECT 3", "evidence": "3 is three", "difficulty": "simple"}
"#;
        let (read, faults) = read("x/questions.jsonl", lines);
        assert_eq!(faults, Vec::<String>::new());
        let expected = [("One?", "SELECT 1"), ("Two?", "SELECT 2"), ("Three?", "SELECT 3")];
        assert_eq!(read, expected.map(|(text, gold)| (text.to_owned(), gold.to_owned())));
    }

    #[test]
    fn what_is_misspelt_or_out_of_range_is_refused() {
        let question = r#"{"db": "a", "question": "?", "gold": "SELECT 1""#;
        for (rest, told) in [
            (r#", "gold_postgre": "SELECT 1"}"#, r#"did you mean "gold_postgres"?"#),
            (r#", "ordred": true}"#, r#"did you mean "ordered"?"#),
            (r#", "compare": {"tolerance": -1}}"#, "the tolerance must be a number of at least 0"),
        ] {
            let (read, faults) = read("questions.jsonl", &format!("{question}{rest}"));
            assert_eq!((read.len(), faults.len()), (0, 1), "{rest}");
            assert!(faults[0].contains(told), "{faults:?}");
        }
        let set = format!(r#"{{"databases": {{"b": {{"now": "2025-01-01"}}}}, "questions": [{question}}}]}}"#);
        let (_, faults) = read("questions.json", &set);
        assert!(faults[0].contains("databases.b: no question is about it"), "{faults:?}");
    }

    #[test]
    fn a_question_with_two_references_is_noted() {
        let one = r#"{"db": "a", "question": "One?", "gold": "SELECT 1"}"#;
        let noted = |content: String| {
            let files = BTreeMap::from([("questions.jsonl".to_owned(), content.into_bytes())]);
            let mut faults = Vec::new();
            let questions = questions(&files, &mut faults);
            assert!(faults.is_empty(), "{}", faults[0]);
            contradictions(&questions)
        };
        assert_eq!(
            noted(format!("{one}\n{}", one.replace("SELECT 1", "SELECT 2"))),
            [
                "questions.jsonl:2: the same question stands at questions.jsonl:1 with another reference: keep one, with the other reference in its `accepted`"
            ]
        );
        assert!(noted(format!("{one}\n{one}\n{}", one.replace("\"a\"", "\"b\""))).is_empty());
    }

    #[test]
    fn a_key_that_stands_twice_is_a_fault_at_its_place() {
        let twice = r#"{"db": "a", "question": "One?", "gold": "SELECT 1", "gold": "SELECT 2"}"#;
        let (_, faults) = read("questions.jsonl", &format!("\n{twice}"));
        assert!(faults[0].starts_with("questions.jsonl:2: an object has two members \"gold\""), "{faults:?}");
        let (_, faults) = read("questions.json", &format!("[\n{twice}]"));
        assert!(faults[0].starts_with("questions.json:2:71: the file is no JSON, correct it: "), "{faults:?}");
    }

    #[test]
    fn yaml_is_read() {
        let (read, faults) = read("questions.yaml", "- db: a\n  question: One?\n  gold: SELECT 1\n");
        assert_eq!((read.len(), faults.len()), (1, 0));
    }

    #[test]
    fn a_reference_that_nobody_can_read_is_a_fault() {
        let deep = format!("SELECT 1 WHERE {}1", "1 AND ".repeat(120_000));
        for (gold, postgres) in [(deep.as_str(), "SELECT 1"), ("SELECT 1", deep.as_str())] {
            let line = serde_json::json!({"db": "a", "question": "?", "gold": gold, "gold_postgres": postgres});
            let (read, faults) = read("questions.jsonl", &line.to_string());
            assert!(
                read.is_empty() && faults[0].contains("the reference cannot be read, correct it: the SQL is too long"),
                "{faults:?}"
            );
        }
        let line = serde_json::json!({"db": "a", "question": "?", "gold": format!("SELECT 1{}", "+1".repeat(2_000))});
        let (_, faults) = read("questions.jsonl", &line.to_string());
        assert!(faults[0].contains("nested too deeply"), "{faults:?}");
    }

    #[test]
    fn a_reference_is_one_statement() {
        let two = "SELECT 1; SELECT 2";
        for (gold, postgres, count) in [(two, "SELECT 1", 2), ("SELECT 1;", two, 2), ("-- nothing", "SELECT 1", 0)] {
            let line = serde_json::json!({"db": "a", "question": "?", "gold": gold, "gold_postgres": postgres});
            let (read, faults) = read("questions.jsonl", &line.to_string());
            let reported = format!("questions.jsonl:1: the reference must be one statement, and is {count}");
            assert_eq!((read.len(), faults), (0, vec![reported]), "{gold}");
        }
        let line = serde_json::json!({"db": "a", "question": "?", "gold": "SELECT ';'; -- ;", "gold_postgres": " "});
        let (read, faults) = read("questions.jsonl", &line.to_string());
        assert_eq!((read.len(), faults), (1, Vec::new()));
    }

    #[test]
    fn splits_are_named_as_those_of_data_sets() {
        let of = |split: &str| serde_json::json!({"db": "a", "question": "?", "gold": "SELECT 1", "split": split});
        for split in ["train", "dev_2", "2"] {
            let (read, faults) = read("questions.jsonl", &of(split).to_string());
            assert_eq!((read.len(), faults), (1, Vec::new()), "{split}");
        }
        for split in ["../x", "", "_a", "Train", "a-1", "a b", &"a".repeat(65)] {
            let (read, faults) = read("questions.jsonl", &of(split).to_string());
            let shown: String = split.chars().take(64).collect();
            let reported =
                format!("questions.jsonl:1: a split must be 1 to 64 small letters, digits and _, not {shown:?}");
            assert_eq!((read.len(), faults), (0, vec![reported]), "{split}");
        }
        let many: Vec<String> = (0..17).map(|number| of(&format!("s{number}")).to_string()).collect();
        let (_, faults) = read("questions.jsonl", &many.join("\n"));
        assert_eq!(faults, ["questions.jsonl: there are 17 splits, and at most 16 may be"]);
    }

    #[test]
    fn every_fault_has_its_place() {
        let lines = "{\"db\": \"a\", \"question\": \"One?\"}\n{\"db\": 1}\n{\"db\": \"a\", \"gold\": \" \", \"query\": \"x\"}\n";
        let (_, faults) = read("questions.jsonl", lines);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert_eq!(
            faults[0],
            "questions.jsonl:1: there is no reference: add it as gold, sql, or query beside question"
        );
        assert!(
            faults[1].starts_with("questions.jsonl:2: invalid type: integer `1`, expected a string"),
            "{}",
            faults[1]
        );
        assert_eq!(faults[2], "questions.jsonl:3: the reference is empty: fill it");
        let (_, faults) = read("questions.json", "{}");
        assert_eq!(faults, ["questions.json: missing field `questions`"]);
        let (_, faults) = read("questions.json", "3");
        assert!(faults[0].starts_with("questions.json: invalid type"), "{faults:?}");
    }
}
