//! Container files: split into instructions. What they mean is the matter of [`super::build`].

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instruction {
    /// The line that it begins on, from 1.
    pub(super) line: usize,
    /// In capitals.
    pub(super) name: String,
    /// Options such as `--chown=a`, without the dashes.
    pub(super) options: Vec<(String, String)>,
    /// The rest, continued lines joined.
    pub(super) rest: String,
    /// The bodies of here-documents.
    pub(super) documents: Vec<String>,
}

/// Splits a file.
///
/// # Errors
/// The line and what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Vec<Instruction>, (usize, String)> {
    let mut instructions = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, first)) = lines.next() {
        let first = first.trim_start();
        if first.is_empty() || first.starts_with('#') {
            if first.trim_start_matches('#').trim_start().to_ascii_lowercase().starts_with("escape=") {
                return Err((index + 1, "another escape character than \\ is not supported".to_owned()));
            }
            continue;
        }
        let mut whole = String::new();
        let mut line = first.to_owned();
        while let Some(continued) = line.trim_end().strip_suffix('\\') {
            whole.push_str(continued);
            // Comments between continued lines are no part of them.
            let next = lines.by_ref().map(|(_, next)| next).find(|next| !next.trim_start().starts_with('#'));
            match next {
                Some(next) => line = next.to_owned(),
                None => {
                    line = String::new();
                    break;
                }
            }
        }
        whole.push_str(&line);
        let (name, rest) = whole.split_once(char::is_whitespace).unwrap_or((&whole, ""));
        let (options, rest) = options(rest);
        let mut documents = Vec::new();
        for (end, tabs) in heredocs(&rest) {
            let mut body = String::new();
            loop {
                let Some((_, line)) = lines.next() else {
                    return Err((index + 1, format!("the here-document {end} is left open")));
                };
                let line = if tabs { line.trim_start_matches('\t') } else { line };
                if line == end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            documents.push(body);
        }
        instructions.push(Instruction { line: index + 1, name: name.to_ascii_uppercase(), options, rest, documents });
    }
    Ok(instructions)
}

fn options(rest: &str) -> (Vec<(String, String)>, String) {
    let mut options = Vec::new();
    let mut rest = rest.trim();
    while let Some(option) = rest.strip_prefix("--") {
        let (option, after) = option.split_once(char::is_whitespace).unwrap_or((option, ""));
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        options.push((name.to_owned(), value.to_owned()));
        rest = after.trim_start();
    }
    (options, rest.to_owned())
}

/// The ends of here-documents that begin in a line, and whether leading tabs are dropped.
fn heredocs(rest: &str) -> Vec<(String, bool)> {
    let mut ends = Vec::new();
    for (at, _) in rest.match_indices("<<") {
        let after = &rest[at + 2..];
        if rest[..at].ends_with('<') || after.starts_with('<') {
            continue;
        }
        let (after, tabs) = after.strip_prefix('-').map_or((after, false), |after| (after, true));
        let word = after.trim_start_matches(['"', '\'']);
        let end = word.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(word.len());
        if word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
            ends.push((word[..end].to_owned(), tabs));
        }
    }
    ends
}

/// The list of an instruction in JSON form.
pub(super) fn list(rest: &str) -> Option<Vec<String>> {
    rest.starts_with('[').then(|| serde_json::from_str(rest).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_told_apart() {
        let text = "# syntax=docker/dockerfile:1\nFROM --platform=linux/amd64 debian:12\n\nrun a && \\\n  # why\n  b\nRUN <<EOF\nset -e\necho x\nEOF\nCMD [\"a\", \"b\"]\n";
        let parsed = parse(text).expect("parsed");
        let reported: Vec<(usize, &str, &str)> =
            parsed.iter().map(|one| (one.line, one.name.as_str(), one.rest.as_str())).collect();
        assert_eq!(
            reported,
            [(2, "FROM", "debian:12"), (4, "RUN", "a &&   b"), (7, "RUN", "<<EOF"), (11, "CMD", "[\"a\", \"b\"]")]
        );
        assert_eq!(parsed[0].options, [("platform".to_owned(), "linux/amd64".to_owned())]);
        assert_eq!(parsed[2].documents, ["set -e\necho x\n"]);
        assert_eq!(list(&parsed[3].rest), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert!(parse("RUN <<EOF\nx").is_err_and(|(line, _)| line == 1));
        assert!(parse("RUN cat <<< x\n").is_ok());
    }
}
