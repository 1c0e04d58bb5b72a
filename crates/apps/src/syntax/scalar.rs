//! Type of a plain scalar: a strict core schema of YAML 1.2, in which nothing that other readers take differently passes.

use std::sync::Arc;

use super::node::Content;
use super::shown;

/// Words that YAML 1.1 took for truth values.
const OLD_BOOLEANS: [&str; 6] = ["yes", "no", "on", "off", "y", "n"];
/// Those of them that name coordinates and counts. As keys they are text to the readers in use, whatever YAML 1.1 said.
const LETTERS: [&str; 2] = ["y", "n"];

/// The meaning of a scalar without quotes.
///
/// # Errors
/// Words and numbers that readers of YAML disagree about, and whole numbers beyond 64 bits.
pub(super) fn plain(text: &str) -> Result<Content, String> {
    match text {
        "" | "~" | "null" => return Ok(Content::Null),
        "true" => return Ok(Content::Bool(true)),
        "false" => return Ok(Content::Bool(false)),
        _ => {}
    }
    if OLD_BOOLEANS.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Err(format!("`{text}` is a truth value to some readers of YAML: quote it, or write true or false"));
    }
    if ["true", "false", "null"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Err(format!("`{text}`: write {} in small letters, or quote it", text.to_ascii_lowercase()));
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if all_digits(unsigned) {
        return whole_number(text, unsigned);
    }
    if is_doubtful_number(unsigned) {
        return Err(format!("`{}` is a number to some readers of YAML and text to others: quote it", shown(text)));
    }
    Ok(Content::Text(Arc::from(text)))
}

/// The key that a scalar without quotes stands for.
///
/// # Errors
/// As for [`plain`], but for `y` and `n`, and for what is neither text nor a number.
pub(super) fn plain_key(text: &str) -> Result<(), String> {
    if LETTERS.contains(&text) {
        return Ok(());
    }
    match plain(text)? {
        Content::Text(_) if text == "<<" => {
            Err("the merge key `<<` is not supported: write the entries out".to_owned())
        }
        Content::Text(_) | Content::Int(_) => Ok(()),
        other => Err(format!("a key is text, and this is {}: quote it", other.describe())),
    }
}

fn whole_number(text: &str, digits: &str) -> Result<Content, String> {
    if digits.len() > 1 && digits.starts_with('0') {
        return Err(format!("`{}`: quote it to keep the zeros in front, or leave them out", shown(text)));
    }
    text.parse()
        .map(Content::Int)
        .map_err(|_| format!("`{}` does not fit a whole number of 64 bits: quote it if it is text", shown(text)))
}

/// True if a scalar is a number in another base, with an exponent, with grouped digits, with parts of sixty, infinite or
/// none at all.
fn is_doubtful_number(unsigned: &str) -> bool {
    let lower = unsigned.to_ascii_lowercase();
    if matches!(lower.as_str(), ".inf" | ".nan") {
        return true;
    }
    let in_base = |prefix: &str, base: u32| {
        lower
            .strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c == '_' || c.is_digit(base)))
    };
    if in_base("0x", 16) || in_base("0o", 8) || in_base("0b", 2) {
        return true;
    }
    let mut parts = lower.split(':');
    if parts.next().is_some_and(all_digits) && lower.contains(':') && parts.all(is_decimal) {
        return true;
    }
    if let Some((mantissa, exponent)) = lower.split_once('e') {
        return is_decimal(mantissa) && all_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    }
    lower.starts_with(|c: char| c.is_ascii_digit()) && lower.contains('_') && is_decimal(&lower.replace('_', ""))
}

/// Digits with at most one point among them.
fn is_decimal(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    (!whole.is_empty() || !fraction.is_empty()) && whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
