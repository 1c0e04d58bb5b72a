//! Secrets of an episode: drawn from its key, so that its workspace and its judge agree on them, and nobody finds them by a seed.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use palestra_state::secrets::Secrets;

/// Digits of one part of a pattern.
const DIGITS_MAX: usize = 64;
/// Letters of a secret by which it is known where it was cut short.
const CUT_LEAST: usize = 4;
/// The largest seed: what JSON carries exactly.
const SEED_MAX: u64 = (1 << 53) - 1;

/// Fault of a pattern.
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

/// The secrets of an episode by name.
pub(super) fn draw(patterns: &BTreeMap<String, String>, secrets: Secrets) -> BTreeMap<String, String> {
    let draw = |(name, pattern): (&String, &String)| {
        let mut secret = String::new();
        for (index, part) in pattern.split('%').enumerate() {
            match digits(part).filter(|_| index % 2 == 1) {
                Some(digits) => secret.push_str(&hex::encode(drawn(secrets, name, index))[..digits]),
                None => secret.push_str(part),
            }
        }
        (name.clone(), secret)
    };
    patterns.iter().map(draw).collect()
}

fn drawn(secrets: Secrets, name: &str, index: usize) -> [u8; 32] {
    let before = |seed| Sha256::digest(format!("secret of a terminal\0{seed}\0{name}\0{index}")).into();
    secrets.derive("secret of a terminal", &[name.as_bytes(), &(index as u64).to_le_bytes()], before)
}

/// The number that scripts which set a place up know as `SEED`: what they hide by it can be guessed no better than any other secret.
pub(super) fn seed(secrets: Secrets) -> u64 {
    let before = |seed: u64| {
        let mut value = [0; 32];
        value[..8].copy_from_slice(&seed.to_le_bytes());
        value
    };
    let [a, b, c, d, e, f, g, h, ..] = secrets.derive("seed of a terminal", &[], before);
    u64::from_le_bytes([a, b, c, d, e, f, g, h]) & SEED_MAX
}

/// The text with `${name}` replaced.
pub(super) fn fill(text: &str, secrets: &BTreeMap<String, String>) -> String {
    let mut filled = text.to_owned();
    for (name, secret) in secrets {
        filled = filled.replace(&format!("${{{name}}}"), secret);
    }
    filled
}

/// The text with each secret's name in its place, so that who reads why a check failed does not learn what would pass it. What was cut
/// short (`…`) in the middle of a secret goes too.
pub(super) fn masked(text: &str, secrets: &BTreeMap<String, String>) -> String {
    let mut masked = text.to_owned();
    for (name, secret) in secrets {
        let stands = format!("${{{name}}}");
        masked = masked.replace(secret, &stands).replace(&regex::escape(secret), &stands);
        for end in secret.char_indices().map(|(end, _)| end).filter(|end| *end >= CUT_LEAST).rev() {
            masked = masked.replace(&format!("{}\"…", &secret[..end]), &format!("{stands}\"…"));
        }
    }
    masked
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

    fn patterns() -> BTreeMap<String, String> {
        BTreeMap::from([("flag".to_owned(), "flag{%hex16%}-%hex4%".to_owned())])
    }

    #[test]
    fn descriptions_of_checks_hold_no_secret() {
        let secrets = BTreeMap::from([("flag".to_owned(), "flag{3ef41ccd}".to_owned())]);
        for (told, expected) in [
            (r#"line 1 is "x" instead of "flag{3ef41ccd}""#, r#"line 1 is "x" instead of "${flag}""#),
            (r"it does not match flag\{3ef41ccd\}", "it does not match ${flag}"),
            (r#"instead of "so long flag{3ef4"…"#, r#"instead of "so long ${flag}"…"#),
            ("nothing", "nothing"),
        ] {
            assert_eq!(masked(told, &secrets), expected);
        }
    }

    #[test]
    fn secrets_follow_from_the_key_and_fill_texts() {
        let key = Secrets::fresh();
        let one = draw(&patterns(), key);
        assert_eq!(one, draw(&patterns(), key));
        let flag = &one["flag"];
        assert!(flag.starts_with("flag{") && flag.len() == "flag{}-".len() + 20, "{flag}");
        let mut form = json!({"equals": "x ${flag} ${other}", "list": ["${flag}"], "matches": "^${flag}$"});
        fill_all(&mut form, &one);
        assert_eq!(form["equals"], format!("x {flag} ${{other}}"));
        assert_eq!(form["list"][0], *flag);
        assert_eq!(form["matches"], format!("^{}$", regex::escape(flag)));
    }

    /// No search over seeds finds a secret: it is a function of 256 bits that nobody chose, and of no seed.
    #[test]
    fn two_servers_hide_other_secrets_and_no_seed_leads_to_them() {
        let (one, other) = (Secrets::fresh(), Secrets::fresh());
        let hidden = draw(&patterns(), one);
        assert_ne!(hidden, draw(&patterns(), other));
        assert_ne!(seed(one), seed(other));
        assert!(seed(one) <= SEED_MAX && seed(other) <= SEED_MAX);
        assert!((0..20_000).all(|seed| draw(&patterns(), Secrets::Seed(seed)) != hidden));
    }

    /// Episodes that began before there were keys are judged as they were played: the values are those of that build.
    #[test]
    fn episodes_without_a_key_keep_the_secrets_of_their_seed() {
        let before = draw(&patterns(), Secrets::Seed(7));
        assert_eq!(before["flag"], "flag{bb167e5e50484597}-7a8a");
        assert_eq!(seed(Secrets::Seed(7)), 7);
        assert_eq!(seed(Secrets::Seed(SEED_MAX)), SEED_MAX);
    }

    #[test]
    fn wrong_patterns_are_named() {
        assert_eq!(fault("flag", "%hex16%"), None);
        for (name, pattern) in [("Flag", "%hex1%"), ("a", "plain"), ("a", "%hex0%"), ("a", "%hex65%"), ("a", "100%")] {
            assert!(fault(name, pattern).is_some(), "{name} {pattern}");
        }
    }
}
