//! What shells evaluate. `[[ A -eq B ]]`, `(( ))`, `$(( ))`, `let`, `declare -i` and subscripts take texts as expressions, in which
//! `x=1` assigns and `a[$(command)]` runs a command; `eval` takes them as commands. Where such a text comes from a file or a program, its
//! author decides what the shell does, and no other process shows it. So a test's text is read for it, cautiously: what is not known to
//! be a number counts as such a text.

use std::sync::LazyLock;

use regex::Regex;

/// Comparisons of numbers in a conditional expression, with what stands at both sides.
static COMPARED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"("[^"]*"|\S+)\s+-(?:eq|ne|lt|le|gt|ge)\s+("[^"]*"|\S+)"#));
static COMMANDS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)(?:^|[;&|({!]|\b(?:then|do|else|if|elif|while|until)\b)[ \t]*(?:eval|let)[ \t]+([^\n;&|]+)")
});
static INTEGERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)(?:declare|typeset|local|readonly|export)[ \t]+-[A-Za-z]*i[A-Za-z]*[ \t]+([^\n;&|]+)")
});
static INDIRECT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?:printf[ \t]+-v|(?:\[\[?|test)[ \t]+(?:![ \t]+)?-v)[ \t]+("?\$[^\s;&|]+)"#));
static SUBSCRIPT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$\{[A-Za-z_]\w*\[([^\]]*)\]"));
/// Names and parameters in an expression.
static NAMES: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$?\{?#?[A-Za-z_]\w*|\$\{?[0-9@*]"));
/// What gives nothing but a number: a count of what is read.
static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:^|\|)\s*(?:wc\s+-[lcmw]\s*(?:<\s*\S+)?|grep\s+-[A-Za-z]*c[A-Za-z]*\s+[^|*?\[]+)\s*(?:2>\s*/dev/null)?\s*$",
    )
});

#[expect(clippy::expect_used, reason = "the patterns are constants, and tests compile them")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// A piece of a shell's text that evaluates what may come from elsewhere; none where it evaluates nothing but numbers of its own.
pub(super) fn evaluated(text: &str) -> Option<String> {
    let text = without_comments(text);
    let open = |expression: &str| !is_number(expression, &text);
    let conditions = between(&text, "[[", "]]");
    let is_open = |condition: &str| {
        let counted = counted(condition);
        let parts = counted.split("&&").flat_map(|part| part.split("||"));
        parts.flat_map(|part| COMPARED.captures_iter(part)).any(|found| open(&found[1]) || open(&found[2]))
    };
    let compared = conditions.into_iter().find(|condition| is_open(condition));
    let compared = compared.map(|condition| format!("[[{condition}]]"));
    let arithmetic = || {
        between(&text, "((", "))").into_iter().find(|expression| open(expression)).map(|piece| format!("(({piece}))"))
    };
    let captured = |pattern: &Regex, open: &dyn Fn(&str) -> bool| {
        pattern.captures_iter(&text).find(|found| open(&found[1])).map(|found| found[0].trim().to_owned())
    };
    let subscript = |subscript: &str| !matches!(subscript, "@" | "*") && open(subscript);
    let found = compared
        .or_else(arithmetic)
        .or_else(|| captured(&COMMANDS, &open))
        .or_else(|| captured(&INTEGERS, &|assigned| assigned.split_once('=').is_some_and(|(_, value)| open(value))))
        .or_else(|| captured(&INDIRECT, &|_| true))
        .or_else(|| captured(&SUBSCRIPT, &subscript));
    found.map(|piece| piece.chars().take(80).collect())
}

fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_start() {
        comment if comment.starts_with('#') => "",
        _ => line
            .find(" #")
            .map_or(line, |at| if line[..at].matches(['"', '\'']).count() % 2 == 0 { &line[..at] } else { line }),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What stands between two marks, each time.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        rest = &rest[at + open.len()..];
        let Some(end) = rest.find(close) else { break };
        // A substitution in it may hold the closing mark as well; what is cut too short is no number.
        found.push(&rest[..end]);
        rest = &rest[end..];
    }
    found
}

/// Whether an expression is made of numbers, and of variables that the text itself gives numbers to and nothing else.
fn is_number(expression: &str, text: &str) -> bool {
    let mut plain = expression.trim().trim_matches('"').to_owned();
    for special in ["$?", "$#", "$!", "$$", "${?}", "${#}"] {
        plain = plain.replace(special, "0");
    }
    let Some(plain) = counts_out(&plain) else { return false };
    if plain.contains(['`', '\'', '[']) || plain.contains("$(") {
        return false;
    }
    NAMES.find_iter(&plain).all(|name| {
        let name = name.as_str();
        if name.contains('#') {
            return true;
        }
        let name = name.trim_start_matches(['$', '{']);
        name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') && is_counter(name, text)
    })
}

/// The expression with a number in place of each substitution that gives one; `None` where one may give anything.
fn counts_out(expression: &str) -> Option<String> {
    Some(counted(expression)).filter(|plain| !plain.contains("$("))
}

/// The expression with a number in place of each substitution that gives one.
fn counted(expression: &str) -> String {
    let mut out = expression.replace("$((", "((");
    let mut from = 0;
    while let Some(at) = out[from..].find("$(").map(|at| from + at) {
        let mut depth = 0_i32;
        let end = out[at + 1..].char_indices().find_map(|(index, letter)| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            (depth == 0).then_some(at + 1 + index)
        });
        match end {
            Some(end) if COUNT.is_match(&out[at + 2..end]) => out.replace_range(at..=end, "0"),
            _ => from = at + 2,
        }
    }
    out
}

/// Whether a text gives a variable numbers and nothing else.
fn is_counter(name: &str, text: &str) -> bool {
    // What reads into it, or goes over other things with it.
    let filled = [
        format!(r"\bfor\s+{name}\s+in\s+([^\n;]*)"),
        format!(r"(?m)\b(?:read|mapfile|readarray)\b[^\n;|&]*\s{name}\b()"),
    ];
    let given = format!(r#"(?m)(?:^|[\s;&|({{]){name}\+?=("\$\([^\n]*\)"|\$\([^\n]*\)|"[^"]*"|[^\s;&|)]*)"#);
    let values = |pattern: &str| -> Option<Vec<String>> {
        let pattern = Regex::new(pattern).ok()?;
        Some(pattern.captures_iter(text).map(|found| found[1].to_owned()).collect())
    };
    let Some(mut given) = values(&given) else { return false };
    let Some([looped, read]) = filled
        .iter()
        .map(|pattern| values(pattern))
        .collect::<Option<Vec<_>>>()
        .and_then(|both| <[_; 2]>::try_from(both).ok())
    else {
        return false;
    };
    if !read.is_empty() {
        return false;
    }
    given.extend(looped.into_iter().flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()));
    // `for ((i = 0; …` and `((i = 0` give it what the expression is checked for as a whole.
    let in_expression = between(text, "((", "))").iter().any(|expression| expression.contains(name));
    (in_expression || !given.is_empty()) && given.iter().all(|value| is_literal(value))
}

/// Whether a value that is given to a variable is a number whatever happens.
fn is_literal(value: &str) -> bool {
    let value = value.trim_matches('"');
    if let Some(expression) = value.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))")) {
        // Its names are looked at where the expression itself is.
        return !expression.contains("$(") && !expression.contains('`');
    }
    counts_out(value).is_some_and(|value| {
        let value = value.replace("$?", "0").replace("$#", "0");
        !value.is_empty() && value.trim_start_matches('-').chars().all(|letter| letter.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_become_expressions_or_commands_are_found() {
        for text in [
            r#"if [[ "$(cat /app/data)" -eq 1 ]]; then echo; fi"#,
            "x=$(cat /app/data)\n[[ $x -gt 0 ]]",
            "x=$(cat /app/data)\n[[ x -gt 0 ]]",
            "read -r x < /app/data; (( x > 1 ))",
            "echo $(( $(cat /app/data) + 1 ))",
            "echo $(($1 + 1))",
            "while read -r a b; do (( total += b )); done < /app/data",
            "for x in $(cat /app/data); do (( x )); done",
            "let y=$x",
            "eval \"$(cat /app/env)\"",
            "eval $x",
            "if eval \"$x\"; then echo; fi",
            "[[ -f x && $(cat a && cat b) -eq 3 ]]",
            "declare -i n=$(cat /app/data)",
            "n=`cat /app/data`; [[ 3 -lt $n ]]",
            "printf -v \"$x\" 1",
            "[[ -v $x ]]",
            "echo ${seen[$x]}",
            "[[ $UNSET -eq 1 ]]",
            "n=$(wc -l /app/data); [[ $n -eq 3 ]]",
        ] {
            assert!(evaluated(text).is_some(), "{text}");
        }
    }

    #[test]
    fn numbers_of_the_tests_own_are_not() {
        for text in [
            "if [ $? -eq 0 ]; then echo 1; fi",
            "if [[ $? -eq 0 ]]; then echo 1; fi",
            "x=$(cat /app/data); [ \"$x\" -eq 1 ]; [ \"$x\" = 1 ]; [[ $x == 1 ]]; test \"$x\" -gt 0",
            "passed=0; (( passed++ )); (( passed += 1 )); [[ $passed -ge 3 ]]; echo $((passed * 2))",
            "for i in 1 2 3; do (( i > 2 )); done",
            "for ((i = 0; i < 10; i++)); do echo $i; done",
            "tries=0; until false; do tries=$((tries + 1)); [ $tries -lt 40 ]; done",
            "[[ $(wc -l < /app/data) -eq 3 ]]; [[ $(grep x /app/data | wc -l) -eq 1 ]]; [[ $(grep -c x /app/data) -eq 1 ]]",
            "n=$(wc -l < /app/data); [[ $n -eq 3 ]]; [[ ${#n} -eq 1 ]]",
            "[[ $(wc -l < x) -eq 1 && $(cat x) == 42 || -f x ]]",
            "# [[ $x -eq 1 ]]\necho",
            "printf -v name %s x; echo ${all[@]} ${all[0]}",
            "cat /app/data | grep -q 42; retrieval x; [ $# -eq 2 ]",
        ] {
            assert_eq!(evaluated(text), None, "{text}");
        }
    }
}
