//! Secrets of a session: drawn from its seed, so that the same session has the same ones, and unlike those of any other.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Digits of one part of a pattern.
const DIGITS_MAX: usize = 64;

/// What is wrong with a pattern, if anything.
pub(super) fn fault(name: &str, pattern: &str) -> Option<String> {
    let sane = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if name.is_empty() || !sane || name.as_bytes()[0].is_ascii_digit() {
        return Some(format!("{name:?} is no name: small letters, digits and _"));
    }
    let parts: Vec<&str> = pattern.split('%').collect();
    let drawn = parts.iter().skip(1).step_by(2);
    if parts.len().is_multiple_of(2) || parts.len() < 3 || drawn.clone().any(|part| digits(part).is_none()) {
        return Some(format!("{pattern:?} has no part such as %hex16% (1 to {DIGITS_MAX} digits), or another %"));
    }
    None
}

fn digits(part: &str) -> Option<usize> {
    part.strip_prefix("hex")?.parse().ok().filter(|digits| (1..=DIGITS_MAX).contains(digits))
}

/// The secrets of a session by name.
pub(super) fn draw(patterns: &BTreeMap<String, String>, seed: u64) -> BTreeMap<String, String> {
    let draw = |(name, pattern): (&String, &String)| {
        let mut secret = String::new();
        for (index, part) in pattern.split('%').enumerate() {
            match digits(part).filter(|_| index % 2 == 1) {
                Some(digits) => {
                    let digest = Sha256::digest(format!("secret of a terminal\0{seed}\0{name}\0{index}"));
                    secret.push_str(&hex::encode(digest)[..digits]);
                }
                None => secret.push_str(part),
            }
        }
        (name.clone(), secret)
    };
    patterns.iter().map(draw).collect()
}

/// The text with `${name}` replaced.
pub(super) fn fill(text: &str, secrets: &BTreeMap<String, String>) -> String {
    let mut filled = text.to_owned();
    for (name, secret) in secrets {
        filled = filled.replace(&format!("${{{name}}}"), secret);
    }
    filled
}

/// The same in all texts of a document. In regular expressions (`matches`) a secret stands for itself.
pub(super) fn fill_all(value: &mut Value, secrets: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => *text = fill(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_all(item, secrets)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(expression) if name == "matches" => {
                        let literal = |(name, secret): (&String, &String)| (name.clone(), regex::escape(secret));
                        *expression = fill(expression, &secrets.iter().map(literal).collect());
                    }
                    field => fill_all(field, secrets),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_follow_from_the_seed_alone() {
        let patterns = BTreeMap::from([("flag".to_owned(), "flag{%hex16%}-%hex4%".to_owned())]);
        let one = draw(&patterns, 1);
        assert_eq!(one, draw(&patterns, 1));
        assert_ne!(one, draw(&patterns, 2));
        let flag = &one["flag"];
        assert!(flag.starts_with("flag{") && flag.len() == "flag{}-".len() + 20, "{flag}");
        let mut form = json!({"equals": "x ${flag} ${other}", "list": ["${flag}"], "matches": "^${flag}$"});
        fill_all(&mut form, &one);
        assert_eq!(form["equals"], format!("x {flag} ${{other}}"));
        assert_eq!(form["list"][0], *flag);
        assert_eq!(form["matches"], format!("^{}$", regex::escape(flag)));
    }

    #[test]
    fn wrong_patterns_are_named() {
        assert_eq!(fault("flag", "%hex16%"), None);
        for (name, pattern) in [("Flag", "%hex1%"), ("a", "plain"), ("a", "%hex0%"), ("a", "%hex65%"), ("a", "100%")] {
            assert!(fault(name, pattern).is_some(), "{name} {pattern}");
        }
    }
}
