//! Words as container files and shells split them, and variables in them.

use std::collections::BTreeMap;

/// Splits a line at white space outside quotes; quotes and backslashes are taken away.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter.is_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(letters.next()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some(end) if end == letter => break,
                        Some('\\') if letter == '"' => word.extend(letters.next()),
                        Some(inside) => word.push(inside),
                        None => return Err(format!("a quote {letter} is left open: close it")),
                    }
                }
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The text with `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}` replaced. What is not set is empty.
pub(super) fn expand(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['$', '\\']) {
        expanded.push_str(&rest[..at]);
        if rest[at..].starts_with('\\') {
            let escaped = rest[at + 1..].chars().next();
            if escaped == Some('$') {
                expanded.push('$');
                rest = &rest[at + 2..];
            } else {
                expanded.push('\\');
                rest = &rest[at + 1..];
            }
            continue;
        }
        rest = &rest[at + 1..];
        if let Some(inside) = rest.strip_prefix('{') {
            let end = inside.find('}').ok_or_else(|| format!("{text:?}: ${{ is left open"))?;
            expanded.push_str(&braced(&inside[..end], variables)?);
            rest = &inside[end + 1..];
        } else {
            let end =
                rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(rest.len());
            if end == 0 {
                expanded.push('$');
            }
            expanded.push_str(variables.get(&rest[..end]).map_or("", String::as_str));
            rest = &rest[end..];
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn braced(inside: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    if let Some((name, default)) = inside.split_once(":-") {
        return Ok(set(name).cloned().unwrap_or_else(|| default.to_owned()));
    }
    if let Some((name, other)) = inside.split_once(":+") {
        return Ok(if set(name).is_some() { other.to_owned() } else { String::new() });
    }
    if inside.is_empty() || !inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(format!("${{{inside}}} must be ${{NAME}}, ${{NAME:-default}} or ${{NAME:+other}}"));
    }
    Ok(variables.get(inside).cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would() {
        assert_eq!(
            split(r#"a "b c" 'd "e' f\ g """#),
            Ok(["a", "b c", "d \"e", "f g", ""].map(str::to_owned).to_vec())
        );
        assert!(split("a 'b").is_err());
    }

    #[test]
    fn variables_are_replaced() {
        let variables = BTreeMap::from([("A".to_owned(), "1".to_owned()), ("E".to_owned(), String::new())]);
        for (text, expected) in
            [("$A/${A}x$", "1/1x$"), ("${B:-d}${E:-e}${A:+y}${B:+n}", "dey"), ("$B.", "."), (r"\$A\n", r"$A\n")]
        {
            assert_eq!(expand(text, &variables).as_deref(), Ok(expected));
        }
        assert!(expand("${A%x}", &variables).is_err());
        assert!(expand("${A", &variables).is_err());
    }
}
