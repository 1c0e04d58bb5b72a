//! Comparison of a file or an output with its expectation.

use regex::RegexBuilder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use palestra_state::json::{read, same};

/// Bytes that a compiled pattern may take up.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Characters of a text that evidence quotes.
const QUOTED_MAX: usize = 120;

/// Expected form of a text. Every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TextForm {
    /// The whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// Its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<String>>,
    /// True if the order of [`TextForm::lines`] is free.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unordered: bool,
    /// Parts that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<OneOrMany<String>>,
    /// Parts that are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<OneOrMany<String>>,
    /// A regular expression that is found in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// It is JSON that says this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<OneOrMany<JsonForm>>,
    /// Digest of the bytes in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// True if white space at the ends of lines and of the text is ignored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trim: bool,
}

/// One or a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// A list.
    Many(Vec<T>),
}

/// A place in a JSON document and what stands there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonForm {
    /// RFC 6901; the whole document where left out.
    #[serde(default)]
    pub pointer: String,
    /// Any JSON; 1 and 1.0 are the same.
    pub equals: Value,
}

impl<T> OneOrMany<T> {
    fn as_slice(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

impl TextForm {
    /// True if there is any condition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self { unordered: self.unordered, trim: self.trim, ..Self::default() }
    }

    /// Faults of the form itself.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(Err(error)) = self.matches.as_deref().map(pattern) {
            faults.push(format!("matches: {error}"));
        }
        if self.unordered && self.lines.is_none() {
            faults.push("unordered: stands beside lines alone".to_owned());
        }
        if let Some(digest) = &self.sha256
            && !(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            faults.push("sha256: is 64 hexadecimal digits".to_owned());
        }
        for json in self.json.as_ref().map_or(&[][..], OneOrMany::as_slice) {
            if !json.pointer.is_empty() && !json.pointer.starts_with('/') {
                faults.push(format!("json.pointer: {:?} does not begin with /", json.pointer));
            }
        }
        faults
    }

    /// Compares.
    ///
    /// # Errors
    /// The first condition that does not hold, in words.
    pub fn test(&self, bytes: &[u8]) -> Result<(), String> {
        if let Some(expected) = &self.sha256 {
            let found = hex::encode(Sha256::digest(bytes));
            if !found.eq_ignore_ascii_case(expected) {
                return Err(format!("its SHA-256 is {found}"));
            }
        }
        if *self == (Self { sha256: self.sha256.clone(), trim: self.trim, ..Self::default() }) {
            return Ok(());
        }
        let raw = std::str::from_utf8(bytes).map_err(|error| format!("it is not UTF-8: {error}"))?;
        let text = if self.trim { trimmed(raw) } else { raw.to_owned() };
        let trim = |expected: &str| if self.trim { trimmed(expected) } else { expected.to_owned() };
        if let Some(expected) = &self.equals {
            equal(&text, &trim(expected))?;
        }
        if let Some(expected) = &self.lines {
            let mut found: Vec<String> = text.lines().map(str::to_owned).collect();
            let mut expected: Vec<String> = expected.iter().map(|line| trim(line)).collect();
            if self.unordered {
                found.sort();
                expected.sort();
            }
            lines_equal(&found, &expected)?;
        }
        for part in self.contains.as_ref().map_or(&[][..], OneOrMany::as_slice) {
            if !text.contains(part.as_str()) {
                return Err(format!("{} is not in {}", quoted(part), quoted(&text)));
            }
        }
        for part in self.lacks.as_ref().map_or(&[][..], OneOrMany::as_slice) {
            if text.contains(part.as_str()) {
                return Err(format!("{} is in it", quoted(part)));
            }
        }
        if let Some(expression) = &self.matches
            && !pattern(expression)?.is_match(&text)
        {
            return Err(format!("{} is not found in {}", quoted(expression), quoted(&text)));
        }
        if let Some(json) = &self.json {
            let document = read(raw).map_err(|error| format!("it is not JSON: {error}"))?;
            for JsonForm { pointer, equals } in json.as_slice() {
                match document.pointer(pointer) {
                    Some(found) if same(found, equals) => {}
                    Some(found) => return Err(format!("at {pointer:?} stands {}", quoted(&found.to_string()))),
                    None => return Err(format!("nothing stands at {pointer:?}")),
                }
            }
        }
        Ok(())
    }
}

fn pattern(expression: &str) -> Result<regex::Regex, String> {
    RegexBuilder::new(expression)
        .multi_line(true)
        .size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| error.to_string())
}

fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

fn equal(found: &str, expected: &str) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let split = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
    lines_equal(&split(found), &split(expected))
}

fn lines_equal(found: &[String], expected: &[String]) -> Result<(), String> {
    let differs = found.iter().zip(expected).position(|(found, expected)| found != expected);
    match differs {
        Some(index) => {
            let (found, expected) = (quoted(&found[index]), quoted(&expected[index]));
            Err(format!("line {} is {found} instead of {expected}", index + 1))
        }
        None if found.len() == expected.len() => Ok(()),
        None => Err(format!("it has {} lines instead of {}", found.len(), expected.len())),
    }
}

/// The text in quotes, shortened.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(value: Value) -> TextForm {
        serde_json::from_value(value).expect("a form")
    }

    #[test]
    fn each_condition_holds_for_what_it_says_and_for_nothing_else() {
        let cases = [
            (json!({"equals": "a\nb\n"}), "a\nb\n", "a\nb"),
            (json!({"equals": "a\nb\n", "trim": true}), "a  \nb\n\n", "a\nc"),
            (json!({"lines": ["b", "a"], "unordered": true}), "a\nb\n", "a\nb\nb\n"),
            (json!({"lines": ["a", "b"]}), "a\nb", "b\na\n"),
            (json!({"contains": ["x", "y"]}), "yx", "x"),
            (json!({"lacks": "x"}), "y", "axb"),
            (json!({"matches": "^b+$"}), "a\nbbb\n", "ab"),
            (json!({"json": {"pointer": "/a/0", "equals": 1}}), r#"{"a":[1.0]}"#, r#"{"a":["1"]}"#),
            (json!({"json": [{"equals": {"a": null}}]}), r#"{"a":null}"#, "{}"),
            (json!({"sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}), "hello", "hello\n"),
        ];
        for (condition, right, wrong) in cases {
            let form = form(condition);
            assert!(form.faults().is_empty() && !form.is_empty(), "{form:?}");
            assert_eq!(form.test(right.as_bytes()), Ok(()), "{form:?}");
            assert!(form.test(wrong.as_bytes()).is_err(), "{form:?}");
        }
    }

    #[test]
    fn hostile_bytes_fail_in_words() {
        assert!(form(json!({"contains": "a"})).test(b"a\xff").is_err_and(|why| why.contains("UTF-8")));
        assert!(form(json!({"json": {"equals": 1}})).test(&b"[".repeat(100_000)).is_err());
        let evidence = form(json!({"equals": "a"})).test("é".repeat(10_000).as_bytes()).expect_err("differs");
        assert!(evidence.len() < 1_000);
    }

    #[test]
    fn wrong_forms_are_named() {
        assert_eq!(form(json!({"matches": "(", "unordered": true, "sha256": "x"})).faults().len(), 3);
    }
}
