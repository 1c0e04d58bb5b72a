//! `final`: the last marked answer in a longer text, compared by another rule.

use serde_json::{Map, Value};

use super::number::Number;
use super::rule::{Expected, Finding, ParseInner, Rule, RuleError, quote};
use super::text::Text;

/// Unbalanced `\boxed{` that are looked at from the end; a text full of them stays linear.
const BOXES_MAX: usize = 8;

/// Layers of marks around an answer that are taken off.
const LAYERS_MAX: usize = 8;

/// Finds the final answer (see [`extract`]) and compares it by `inner`: by default right as `text` or right as `number`.
#[derive(Debug)]
pub struct Final {
    inner: Option<Box<dyn Rule>>,
}

impl Final {
    /// Reads `{"inner": <verifier>}`, the verifier inside by `parse_inner`.
    pub(super) fn parse(
        mut options: Map<String, Value>,
        depth: usize,
        parse_inner: ParseInner,
    ) -> Result<Self, RuleError> {
        let inner = options.remove("inner").map(|named| parse_inner(&named, depth + 1)).transpose()?;
        if let Some(unknown) = options.keys().next() {
            return Err(RuleError(format!("verifier final: unknown field {}, expected `inner`", quote(unknown))));
        }
        Ok(Self { inner })
    }
}

impl Rule for Final {
    fn name(&self) -> &'static str {
        "final"
    }

    fn compare(&self, expected: &Expected<'_>, given: &str) -> Result<Finding, RuleError> {
        let given = extract(given);
        if let Some(inner) = &self.inner {
            return inner.compare(expected, given);
        }
        let as_text = Text {}.compare(expected, given)?;
        if as_text.passed {
            return Ok(as_text);
        }
        // An answer that is no number at all is not a fault here: then only the text counts.
        let as_number = Number::default().compare(expected, given).ok().filter(|finding| finding.passed);
        Ok(as_number.unwrap_or(as_text))
    }

    fn own_answer(&self, expected: &Expected<'_>) -> Result<String, RuleError> {
        let answer = match &self.inner {
            Some(inner) => inner.own_answer(expected)?,
            None => Text {}.own_answer(expected)?,
        };
        Ok(format!("<answer>{answer}</answer>"))
    }
}

/// The final answer in a text: inside the last `<answer>..</answer>` if there is one, else the whole text; in that, what the
/// last `\boxed{..}` holds, or else the rest of the line after the last `answer:` (the next line when that is empty; `final
/// answer:` ends in the same word), or else everything. Surrounding `**`, backticks and `$..$` come off.
#[must_use]
pub fn extract(text: &str) -> &str {
    // ASCII case alone is folded, so that positions stay the same.
    let lower = text.to_ascii_lowercase();
    let (start, end) = last_tag(&lower).unwrap_or((0, text.len()));
    let (text, lower) = (&text[start..end], &lower[start..end]);
    let found = last_box(text).or_else(|| last_marked_line(text, lower)).unwrap_or(text);
    strip_marks(found)
}

fn last_tag(lower: &str) -> Option<(usize, usize)> {
    let end = lower.rfind("</answer>")?;
    let start = lower[..end].rfind("<answer>")? + "<answer>".len();
    Some((start, end))
}

fn last_box(text: &str) -> Option<&str> {
    const OPENING: &str = "\\boxed{";
    text.rmatch_indices(OPENING).take(BOXES_MAX).find_map(|(at, _)| {
        let inside = &text[at + OPENING.len()..];
        balanced_length(inside).map(|length| &inside[..length])
    })
}

/// The number of bytes before the brace that closes the one before `inside`.
fn balanced_length(inside: &str) -> Option<usize> {
    let mut depth = 1_usize;
    let mut escaped = false;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn last_marked_line<'a>(text: &'a str, lower: &str) -> Option<&'a str> {
    const MARK: &str = "answer:";
    let after = &text[lower.rfind(MARK)? + MARK.len()..];
    let line = after.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    // Where the mark itself is bold, its closing asterisks come first in the rest of the line.
    let unpaired = line.matches("**").count() % 2 == 1;
    Some(if unpaired { line.strip_prefix("**").unwrap_or(line) } else { line })
}

fn strip_marks(text: &str) -> &str {
    let mut text = text.trim();
    for _ in 0..LAYERS_MAX {
        let inner = ["**", "$$", "$", "`"].iter().find_map(|mark| {
            let inner = text.strip_prefix(mark)?.strip_suffix(mark)?;
            (!inner.is_empty()).then_some(inner)
        });
        match inner {
            Some(inner) => text = inner.trim(),
            None => break,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::rules::parse;
    use super::*;

    #[test]
    fn the_last_marked_answer_is_found() {
        for (text, answer) in [
            ("42", "42"),
            ("So \\boxed{41}, no, \\boxed{42}.", "42"),
            ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
            ("\\boxed{\\boxed{7}}", "7"),
            ("\\boxed{7} and \\boxed{8", "7"),
            ("\\boxed{a\\}b}", "a\\}b"),
            ("Final answer: 42\nBye", "42"),
            ("answer: 1\nFINAL ANSWER: **42**", "42"),
            ("**Final answer:** 42", "42"),
            ("Answer:\n\n  $42$\n", "42"),
            ("answer: 3 <answer> 42 </answer> answer: 5", "42"),
            ("<answer>\\boxed{42}</answer>", "42"),
            ("<ANSWER>x</ANSWER>", "x"),
            ("<answer>1</answer><answer>2</answer>", "2"),
            ("</answer>", "</answer>"),
            ("answer:", ""),
            ("", ""),
            ("İ answer: é", "é"),
        ] {
            assert_eq!(extract(text), answer, "{text:?}");
        }
    }

    #[test]
    fn by_default_text_or_number_must_be_right() {
        let rule = parse(&json!("final")).expect("a rule");
        let passes = |answer, given| rule.compare(&Expected::answer(&answer), given).expect("comparable").passed;
        assert!(passes(json!("1234.5"), "I get \\boxed{1,234.50}"));
        assert!(passes(json!("Paris"), "The answer: paris."));
        assert!(passes(json!(0.5), "<answer>1/2</answer>"));
        assert!(!passes(json!("42"), "42 or \\boxed{43}"));
        assert!(!passes(json!("42"), "I considered 42"));
        assert!(!passes(json!("42"), ""));
    }

    #[test]
    fn another_rule_can_stand_inside() {
        let rule = parse(&json!({"name": "final", "inner": {"name": "number", "tolerance": 0.1}})).expect("a rule");
        let expected = json!(3.25);
        assert!(rule.compare(&Expected::answer(&expected), "answer: 3.3").expect("a number").passed);
        let own = rule.own_answer(&Expected::answer(&expected)).expect("an answer");
        assert!(rule.compare(&Expected::answer(&expected), &own).expect("a number").passed);
    }

    #[test]
    fn hostile_texts_are_read_once() {
        assert_eq!(extract(&"\\boxed{".repeat(150_000)).len(), 7 * 150_000);
        assert_eq!(extract(&"<answer>".repeat(130_000)).len(), 8 * 130_000);
        assert_eq!(extract(&"$".repeat(1 << 20)).len(), (1 << 20) - 2 * 2 * LAYERS_MAX);
        assert_eq!(extract(&"answer:".repeat(150_000)), "");
    }
}
