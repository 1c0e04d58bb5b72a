//! A submission: a program in one of the languages of a problem, read from a call or from plain text.

use serde_json::{Map, Value, json};

use super::language::Language;
use super::program::Program;
use super::row::Problem;

/// Longest submission.
pub(super) const SOURCE_BYTES_MAX: usize = 512 * 1024;

/// The program in the arguments of a call.
///
/// # Errors
/// In words, for the acting side.
pub(super) fn of_call(problem: &Problem, arguments: &Map<String, Value>) -> Result<Program, String> {
    let source = arguments.get("source").and_then(Value::as_str).ok_or("`source` is missing")?;
    let language = arguments.get("language").and_then(Value::as_str);
    program(problem, language, source)
}

/// The program in plain text: its last fenced code block, or all of it.
///
/// # Errors
/// In words, for the acting side.
pub(super) fn of_text(problem: &Problem, text: &str) -> Result<Program, String> {
    let Some((mark, source)) = last_block(text) else { return program(problem, None, text) };
    let allowed = problem.languages();
    // A mark that names no language of the problem is decoration, such as `text`.
    let marked = Language::fenced(mark).map(|language| language.name.as_str()).filter(|name| allowed.contains(name));
    program(problem, marked, &source)
}

/// The program in evidence; `None` where nothing was submitted.
///
/// # Errors
/// When it is of another form.
pub(super) fn of_evidence(evidence: &Value) -> Result<Option<Program>, String> {
    if evidence.is_null() {
        return Ok(None);
    }
    serde_json::from_value(evidence.clone())
        .map(Some)
        .map_err(|error| format!("the evidence is none of a program, play the episode again: {error}"))
}

/// As evidence.
pub(super) fn evidence(program: Option<&Program>) -> Value {
    program.map_or(Value::Null, |program| json!({"language": program.language, "source": program.source}))
}

fn program(problem: &Problem, language: Option<&str>, source: &str) -> Result<Program, String> {
    let allowed = problem.languages();
    let language = language.or(allowed.first().copied()).unwrap_or("python");
    if !allowed.contains(&language) {
        return Err(format!("{language:?} will not do here; these will: {}", allowed.join(", ")));
    }
    if source.trim().is_empty() {
        return Err("there is no program in it".to_owned());
    }
    if source.len() > SOURCE_BYTES_MAX {
        return Err(format!("a program has at most {SOURCE_BYTES_MAX} bytes"));
    }
    Ok(Program { language: language.to_owned(), source: source.to_owned() })
}

/// Mark and text of the last fenced code block that ends, or that the text ends in.
fn last_block(text: &str) -> Option<(&str, String)> {
    let mut last = None;
    let mut open: Option<(&str, usize, Vec<&str>)> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let ticks = bare.bytes().take_while(|byte| *byte == b'`').count();
        match &mut open {
            None if ticks >= 3 => {
                let mark = bare[ticks..].split_whitespace().next().unwrap_or_default();
                open = Some((mark, ticks, Vec::new()));
            }
            Some((mark, fence, lines)) if ticks >= *fence && bare[ticks..].trim().is_empty() => {
                last = Some((*mark, lines.join("\n") + "\n"));
                open = None;
            }
            Some((.., lines)) => lines.push(line),
            None => {}
        }
    }
    match open {
        Some((mark, _, lines)) if !lines.is_empty() => Some((mark, lines.join("\n") + "\n")),
        _ => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(languages: &str) -> Problem {
        serde_json::from_str(&format!(r#"{{"prompt":"a","tests":[{{"output":"1"}}],"languages":{languages}}}"#))
            .expect("one")
    }

    #[test]
    fn the_last_code_block_is_the_program() {
        let text = "First:\n```python\nprint(1)\n```\nNo, rather\n````c\nint main;\n```\nint x;\n````\nThere.";
        let program = of_text(&problem(r#"["python","c"]"#), text).expect("a program");
        assert_eq!(program, Program { language: "c".to_owned(), source: "int main;\n```\nint x;\n".to_owned() });
        let cut = of_text(&problem(r#"["python","c"]"#), "```py\nprint(2)").expect("a program");
        assert_eq!((cut.language.as_str(), cut.source.as_str()), ("python", "print(2)\n"));
        let bare = of_text(&problem(r#"["python","c"]"#), "print(3)").expect("a program");
        assert_eq!((bare.language.as_str(), bare.source.as_str()), ("python", "print(3)"));
        let decorated = of_text(&problem(r#"["lua"]"#), "```text\nprint(4)\n```").expect("a program");
        assert_eq!(decorated.language, "lua");
    }

    #[test]
    fn submissions_without_a_program_are_refused_in_words() {
        let only_c = problem(r#"["c"]"#);
        for (arguments, words) in [
            (json!({"source": "x", "language": "lua"}), "c"),
            (json!({"source": " "}), "no program"),
            (json!({}), "missing"),
            (json!({"source": "x".repeat(SOURCE_BYTES_MAX + 1)}), "bytes"),
        ] {
            let Value::Object(arguments) = arguments else { continue };
            let refused = of_call(&only_c, &arguments).expect_err("refused");
            assert!(refused.contains(words), "{refused}");
        }
        assert_eq!(of_evidence(&Value::Null), Ok(None));
        assert!(of_evidence(&json!({"language": 1})).is_err());
    }
}
