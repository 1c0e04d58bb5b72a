//! Reading a data set: JSON Lines in, rows by split out, or every fault with its line.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use palestra_environment::state::json;
use palestra_protocol::name::NameKind;
use palestra_protocol::problem::Fault;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::Common;
use super::row::{Row, default_verifier};
use palestra_environment::state::Digest;
use palestra_environment::verifier::choice::CHOICES_MAX;
use palestra_environment::verifier::rule::{self, Expected, GIVEN_BYTES_MAX, Rule};
use palestra_environment::verifier::rules;

/// A longer line is a fault.
const LINE_BYTES_MAX: usize = 1 << 20;

/// As many faults are listed; the last entry counts the others.
const FAULTS_MAX: usize = 10_000;

/// As many rows fit into one data set.
const ROWS_MAX: usize = 1_000_000;

/// As many splits fit into one data set.
const SPLITS_MAX: usize = 16;

/// The longest name of a split, and of a data set after the slash, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The longest description in bytes.
const DESCRIPTION_BYTES_MAX: usize = 4096;

/// As many tags fit, each of at most [`NAME_BYTES_MAX`] bytes.
const TAGS_MAX: usize = 32;

/// As many different verifiers are kept compiled while rows are read.
const RULES_CACHED_MAX: usize = 256;

/// A data set to publish, with arguments of the call; each of these, where it is given, goes before the file's own header.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// `dataset/name`.
    #[serde(default)]
    pub name: Option<String>,
    /// A verifier's name, or an object with its name and options (also as JSON text).
    #[serde(default)]
    pub verifier: Option<Value>,
    /// System text for rows without their own.
    #[serde(default)]
    pub system: Option<String>,
    /// The subject of the data set.
    #[serde(default)]
    pub description: Option<String>,
    /// Words to filter by.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// A data set without faults, ready to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// `dataset/name`.
    pub name: String,
    /// The definition that the kind is built from, beside the rows.
    pub definition: Value,
    /// Rows by split, in the order of the file; splits by name.
    pub rows: Vec<(String, Vec<Value>)>,
    /// `sha256:<hex>` of name, definition and rows.
    pub digest: String,
}

impl Parsed {
    /// The number of rows in each split.
    #[must_use]
    pub fn splits(&self) -> BTreeMap<String, u64> {
        self.rows.iter().map(|(split, rows)| (split.clone(), rows.len() as u64)).collect()
    }
}

/// The optional first line of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    environment: String,
    #[serde(default)]
    verifier: Option<Value>,
    #[serde(default)]
    system: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// Reads a data set. Each row's own answer must score 1 with its verifier, and an empty answer must not.
///
/// # Errors
/// With every fault that was found, by line: at most [`FAULTS_MAX`], the last one saying how many more there are.
pub fn parse(submission: &Submission, body: &[u8]) -> Result<Parsed, Vec<Fault>> {
    let mut faults = Faults::default();
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let numbered = (1..).zip(body.split(|byte| *byte == b'\n')).map(|(number, line)| (number, line.trim_ascii()));
    let mut lines = numbered.filter(|(_, line)| !line.is_empty()).peekable();
    let header = lines.peek().and_then(|(number, line)| read_header(*number, line, &mut faults));
    if header.is_some() {
        lines.next();
    }
    let (name, mut common) = settle(submission, header.unwrap_or_default(), &mut faults);
    let mut reader = Reader::new(common.verifier.as_ref(), &mut faults);
    for (number, line) in lines {
        if reader.rows_read == ROWS_MAX {
            faults.at(number, None, format!("a data set has at most {ROWS_MAX} rows"));
            break;
        }
        reader.read_line(number, line, &mut faults);
    }
    if reader.rows_read == 0 && faults.list.is_empty() {
        faults.file("the data set has no rows");
    }
    if !faults.list.is_empty() {
        return Err(faults.finish());
    }
    common.chance = reader.chance();
    let definition = serde_json::to_value(&common).unwrap_or_default();
    let rows: Vec<(String, Vec<Value>)> = reader.splits.into_iter().collect();
    let digest = digest(&name, &definition, &rows);
    Ok(Parsed { name, definition, rows, digest })
}

/// The header, if the first line is one: an object with the member `environment`.
fn read_header(number: u64, line: &[u8], faults: &mut Faults) -> Option<Header> {
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?;
    let fields: Map<String, Value> = serde_json::from_str(text).ok()?;
    if !fields.contains_key("environment") {
        return None;
    }
    if let Err(error) = json::read(text) {
        faults.at(number, None, in_line(&error));
    }
    if contains_nul(&Value::Object(fields.clone())) {
        faults.at(number, None, "a text contains the character NUL: remove it");
    }
    Some(serde_json::from_value(Value::Object(fields)).unwrap_or_else(|error| {
        faults.at(number, None, format!("the header is broken: {error}"));
        Header::default()
    }))
}

/// The checked header of the file.
fn settle(submission: &Submission, header: Header, faults: &mut Faults) -> (String, Common) {
    let name = submission.name.clone().unwrap_or(header.environment);
    if name.is_empty() {
        faults.file("the data set has no name: give it with --name dataset/NAME (`name` in the query), or as `environment` in its first line");
    } else if !name.strip_prefix("dataset/").is_some_and(|rest| is_name(rest, b"-_")) {
        faults.file(format!(
            "a data set is called dataset/ and then 1 to {NAME_BYTES_MAX} small letters, digits, - and _, not {}",
            rule::quote(&name)
        ));
    }
    let tags = if submission.tags.is_empty() { header.tags } else { submission.tags.clone() };
    if tags.len() > TAGS_MAX || tags.iter().any(|tag| tag.len() > NAME_BYTES_MAX) {
        faults.file(format!("there are at most {TAGS_MAX} tags of 1 to {NAME_BYTES_MAX} bytes"));
    }
    for (tag, error) in tags.iter().filter_map(|tag| Some((tag, NameKind::Label.check(tag).err()?))) {
        faults.file(format!("tag {}: {error}", rule::quote(tag)));
    }
    let description = submission.description.clone().or(header.description).unwrap_or_default();
    if description.len() > DESCRIPTION_BYTES_MAX {
        faults.file(format!("the description is longer than {DESCRIPTION_BYTES_MAX} bytes"));
    }
    let system = submission.system.clone().or(header.system);
    if system.as_ref().is_some_and(|system| system.len() > LINE_BYTES_MAX) {
        faults.file(format!("the system text is longer than {LINE_BYTES_MAX} bytes"));
    }
    let verifier = submission.verifier.clone().or(header.verifier).map(unquote);
    let common = Common { verifier, system, description, tags, chance: 0.0 };
    if serde_json::to_value(&common).is_ok_and(|value| contains_nul(&value)) {
        faults.file("a text contains the character NUL: remove it");
    }
    (name, common)
}

/// A verifier object that came as text, as query parameters and flags are.
fn unquote(verifier: Value) -> Value {
    let object = verifier.as_str().filter(|text| text.trim_start().starts_with('{'));
    object.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(verifier)
}

/// Small letters, digits and what `others` allows, beginning with a letter or digit.
fn is_name(text: &str, others: &[u8]) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= NAME_BYTES_MAX
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|byte| plain(byte) || others.contains(&byte))
}

/// Reads rows one by one.
struct Reader {
    /// The file's verifier; `None` where it names none or a broken one.
    rule: Option<Arc<dyn Rule>>,
    /// True if the file's verifier is broken: rows are then not judged by a default in its place.
    rule_broken: bool,
    rules: HashMap<String, Result<Arc<dyn Rule>, String>>,
    splits: BTreeMap<String, Vec<Value>>,
    /// Split, line and answer of each question where it was first seen, by its digest.
    questions: HashMap<Digest, (String, u64, Value)>,
    rows_read: usize,
    /// Sum over rows of what a guess among the choices reaches.
    chance_sum: f64,
}

impl Reader {
    fn new(verifier: Option<&Value>, faults: &mut Faults) -> Self {
        let rule = verifier.map(rules::parse);
        if let Some(Err(error)) = &rule {
            faults.file(error.to_string());
        }
        Self {
            rule_broken: matches!(rule, Some(Err(_))),
            rule: rule.and_then(Result::ok),
            rules: HashMap::new(),
            splits: BTreeMap::new(),
            questions: HashMap::new(),
            rows_read: 0,
            chance_sum: 0.0,
        }
    }

    fn chance(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "at most a million rows")]
        let rows = self.rows_read.max(1) as f64;
        self.chance_sum / rows
    }

    /// Takes one line. A row that was read counts even if it has faults, so that an empty file is told from a broken one.
    fn read_line(&mut self, number: u64, line: &[u8], faults: &mut Faults) {
        self.rows_read += 1;
        let mut row = match read_row(line) {
            Ok(row) => row,
            Err(detail) => return faults.at(number, None, detail),
        };
        if let Some((field, detail)) = row.fault() {
            return faults.at(number, Some(field), detail);
        }
        let split = row.split.take().unwrap_or_else(|| "train".to_owned());
        if !is_name(&split, b"_") {
            let detail =
                format!("a split is 1 to {NAME_BYTES_MAX} small letters, digits and _, not {}", rule::quote(&split));
            return faults.at(number, Some("split"), detail);
        }
        if !self.splits.contains_key(&split) && self.splits.len() == SPLITS_MAX {
            return faults.at(number, Some("split"), format!("a data set has at most {SPLITS_MAX} splits"));
        }
        if let Err((field, detail)) = self.check_answer(&row) {
            faults.at(number, Some(field), detail);
        }
        self.check_question(number, &split, &row, faults);
        // With faults nothing will be stored: rows need not be kept.
        if faults.list.is_empty() {
            match serde_json::to_value(&row) {
                Ok(value) => self.splits.entry(split).or_default().push(value),
                Err(error) => faults.at(number, None, error.to_string()),
            }
        } else {
            self.splits.entry(split).or_default();
        }
    }

    /// The gate: the row's own answer must score 1, and an empty one must not.
    fn check_answer(&mut self, row: &Row) -> Result<(), (&'static str, String)> {
        let choices = row.choices();
        if choices.len() == 1 || choices.len() > CHOICES_MAX {
            return Err(("choices", format!("there are 2 to {CHOICES_MAX} choices, not {}", choices.len())));
        }
        if row.verifier.is_none() && self.rule_broken {
            return Ok(());
        }
        let rule = self.rule_of(row, !choices.is_empty()).map_err(|detail| ("verifier", detail))?;
        let expected = Expected { answer: &row.answer, choices: &choices };
        let wrong = |error: rule::RuleError| ("answer", error.to_string());
        let own = rule.own_answer(&expected).map_err(wrong)?;
        let finding = rule.compare(&expected, &own).map_err(wrong)?;
        if !finding.passed || own.len() > GIVEN_BYTES_MAX {
            return Err(("answer", format!("its own answer does not pass: {}", finding.evidence)));
        }
        if rule.compare(&expected, "").map_err(wrong)?.passed {
            return Err(("answer", "an empty answer would pass".to_owned()));
        }
        if !choices.is_empty() {
            #[expect(clippy::cast_precision_loss, reason = "at most as many as there are letters")]
            let choices = choices.len() as f64;
            self.chance_sum += 1.0 / choices;
        }
        Ok(())
    }

    fn rule_of(&mut self, row: &Row, has_choices: bool) -> Result<Arc<dyn Rule>, String> {
        let named = match (&row.verifier, &self.rule) {
            (Some(named), _) => named.clone(),
            (None, Some(rule)) => return Ok(Arc::clone(rule)),
            (None, None) => default_verifier(has_choices),
        };
        if self.rules.len() == RULES_CACHED_MAX {
            self.rules.clear();
        }
        let parsed = || rules::parse(&named).map_err(|error| error.to_string());
        self.rules.entry(named.to_string()).or_insert_with(parsed).clone()
    }

    /// The same question in two splits would let training see the test, and with two answers one of them is wrong.
    fn check_question(&mut self, number: u64, split: &str, row: &Row, faults: &mut Faults) {
        let mut hashed = Vec::new();
        for message in row.messages(None) {
            for part in [message.role.as_bytes(), message.content.as_bytes()] {
                hashed.extend_from_slice(&(part.len() as u64).to_le_bytes());
                hashed.extend_from_slice(part);
            }
        }
        let question = Digest::of(&hashed);
        match self.questions.get(&question) {
            None => {
                self.questions.insert(question, (split.to_owned(), number, row.answer.clone()));
            }
            Some((other, line, _)) if other != split => {
                let detail = format!("the same question is in split {other:?} on line {line}, and here in {split:?}");
                faults.at(number, Some("split"), detail);
            }
            Some((_, line, answer)) if !json::same(answer, &row.answer) => {
                let detail = format!(
                    "the same question stands on line {line} with the answer {}, and here with {}: keep the right one",
                    rule::quote(&answer.to_string()),
                    rule::quote(&row.answer.to_string())
                );
                faults.at(number, Some("answer"), detail);
            }
            Some(_) => {}
        }
    }
}

fn read_row(line: &[u8]) -> Result<Row, String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!("the line must be at most {LINE_BYTES_MAX} bytes"));
    }
    let text = std::str::from_utf8(line).map_err(|error| {
        format!("column {}: the line is not UTF-8: save the file as UTF-8", error.valid_up_to() + 1)
    })?;
    if text.contains('\0') {
        return Err("the line contains the character NUL: remove it".to_owned());
    }
    let row: Row = json::from_str(text).map_err(|error| in_line(&error))?;
    // PostgreSQL stores no NUL in texts, so that no engine may take one.
    if text.contains("\\u0000") && serde_json::to_value(&row).is_ok_and(|value| contains_nul(&value)) {
        return Err("a text contains the character NUL: remove it".to_owned());
    }
    Ok(row)
}

/// The words of an error about one line of JSON.
fn in_line(error: &serde_json::Error) -> String {
    let detail = error.to_string();
    let detail = detail.rsplit_once(" at line 1").map_or(detail.as_str(), |(detail, _)| detail);
    format!("column {}: {detail}", error.column())
}

fn contains_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(contains_nul),
        Value::Object(members) => members.iter().any(|(key, value)| key.contains('\0') || contains_nul(value)),
        _ => false,
    }
}

fn digest(name: &str, definition: &Value, rows: &[(String, Vec<Value>)]) -> String {
    let mut hasher = Sha256::new();
    let mut word = |text: &str| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    word(name);
    word(&definition.to_string());
    for (split, rows) in rows {
        word(split);
        word(&rows.len().to_string());
        rows.iter().for_each(|row| word(&row.to_string()));
    }
    format!("sha256:{}", hex::encode(hasher.finalize()))
}

/// The faults found so far.
#[derive(Default)]
struct Faults {
    list: Vec<Fault>,
    left_out: usize,
}

impl Faults {
    fn push(&mut self, fault: Fault) {
        if self.list.len() < FAULTS_MAX - 1 {
            self.list.push(fault);
        } else {
            self.left_out += 1;
        }
    }

    fn at(&mut self, line: u64, field: Option<&str>, detail: impl Into<String>) {
        self.push(Fault {
            field: field.map(str::to_owned),
            line: Some(line),
            detail: detail.into(),
            ..Fault::default()
        });
    }

    fn file(&mut self, detail: impl Into<String>) {
        self.push(Fault { detail: detail.into(), ..Fault::default() });
    }

    fn finish(mut self) -> Vec<Fault> {
        if self.left_out > 0 {
            let detail = format!("{} more faults were found: correct these first", self.left_out);
            self.list.push(Fault { detail, ..Fault::default() });
        }
        self.list
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
