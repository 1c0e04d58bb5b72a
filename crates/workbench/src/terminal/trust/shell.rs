//! Evaluation by shells. `[[ A -eq B ]]`, `(( ))`, `$(( ))`, `let`, `declare -i` and subscripts take texts as expressions, in which `x=1`
//! assigns and `a[$(command)]` runs a command; `eval` and `source <(…)` take them as commands, `export` and `env` as variables, and
//! programs of awk, Python or jq that are put together from them as code. Where such a text comes from a file or a program, its author
//! decides what the shell does, and no other process shows it. So a test's text is read for it, cautiously: what is not known to be a
//! number counts as such a text.

use std::sync::LazyLock;

use regex::Regex;

/// Comparisons of numbers in a conditional expression, with what stands at both sides.
static COMPARED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"("[^"]*"|\S+)\s+-(?:eq|ne|lt|le|gt|ge)\s+("[^"]*"|\S+)"#));
static COMMANDS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?m)(?:^|[;&|({!]|\b(?:then|do|else|if|elif|while|until)\b)[ \t]*(?:(?:command|builtin)[ \t]+(?:-\w+[ \t]+)*)?(?:eval|let)[ \t]+([^\n;&|]+)",
    )
});
static INTEGERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)(?:declare|typeset|local|readonly|export)[ \t]+-[A-Za-z]*i[A-Za-z]*[ \t]+([^\n;&|]+)")
});
static INDIRECT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?:printf[ \t]+-v|(?:\[\[?|test)[ \t]+(?:![ \t]+)?-v)[ \t]+("?\$[^\s;&|]+)"#));
static SUBSCRIPT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)(?:\$\{[!#]?|(?:^|[\s;&|({]))([A-Za-z_]\w*)\[([^\]\n]*)\](?:\+?=|[^\s=])"));
/// A piece of a value: where it begins, and how long it is.
static PIECE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\$\{(?:[A-Za-z_]\w*(?:\[[^\]]*\])?|[0-9@*]):([^}=?+\-:][^}:]*)(?::([^}]*))?\}"));
/// Commands that make variables of their arguments, with these.
static VARIABLES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)(?:^|[\s;&|({])(?:export|declare|typeset|local|readonly|env)[ \t]+([^\n;&|]+)"));
/// Commands out of what another command prints, or out of a pipe.
static FED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?m)(?:^|[\s;&|({])(?:source|\.)[ \t]+(?:<\(|["']?/dev/|["']?/proc/)[^\n]*|\|[ \t]*(?:ba|da|k|z)?sh(?:[ \t]+-\w*s\w*)?[ \t]*(?:$|[;&|)#])|\b(?:ba|da|k|z)?sh[ \t]+<\([^\n]*"#,
    )
});
/// Scripts that a shell carries out of an address which is written out. Nobody on the acting side answers there: a judge of its own has no
/// process of theirs, and files that a downloader reads are seen as loads.
static DOWNLOADED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"\b(?:curl|wget)(?:[ \t]+(?:-[fsSLq]+O?-?|--(?:fail|silent|show-error|location|quiet|tlsv1\.[23]|proto[ \t]+'=https')))*[ \t]+["']?https://[\w./~%@+-]+["']?[ \t]*(?:2>&1[ \t]*|2>[ \t]*/dev/null[ \t]*)?\|[ \t]*(?:ba)?sh\b"#,
    )
});
/// Programs that take a program as an argument, with the words up to it, and the program where it is put together by the shell.
static PROGRAMS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?s)\b(?:[gmn]?awk|jq|sed|python[0-9.]*|perl|ruby|node|php|lua[0-9.]*|Rscript|(?:ba|da|k|z)?sh)\b([^\n;&|"]*)"((?:[^"\\]|\\.)*)""#,
    )
});
/// A calculation that is handed to a calculator.
static CALCULATED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?m)\b(?:bc|dc)\b[^\n;&|]*<<<[ \t]*("[^"\n]*"|[^\s;&|]+)|(?:echo|printf)[ \t]+([^\n;&|]+)\|[ \t]*(?:bc|dc)\b"#,
    )
});
/// Expansions in a text.
static EXPANSIONS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$\(|`|\$\{[^}]*\}|\$(?:[A-Za-z_]\w*|[0-9@*])"));
/// Patterns that the shell looks up as names of files.
static LISTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"[*?]|\[[^\]\s]+\]|\b(?:ls|find|xargs)\b"));
/// Names and parameters in an expression.
static NAMES: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$?\{?#?[A-Za-z_]\w*|\$\{?[0-9@*]"));
/// Substitutions that give nothing but a number: a count of what is read.
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
    let subscript = || {
        SUBSCRIPT.captures_iter(&text).find_map(|found| {
            let (array, at) = (&found[1], &found[2]);
            (!matches!(at, "@" | "*") && !is_table(array, &text) && open(at)).then(|| found[0].trim().to_owned())
        })
    };
    let piece = || {
        PIECE.captures_iter(&text).find_map(|found| {
            [1, 2].into_iter().filter_map(|at| found.get(at)).any(|at| open(at.as_str())).then(|| found[0].to_owned())
        })
    };
    let former =
        || between(&text, "$[", "]").into_iter().find(|expression| open(expression)).map(|it| format!("$[{it}]"));
    let found = compared
        .or_else(arithmetic)
        .or_else(|| captured(&COMMANDS, &open))
        .or_else(|| captured(&INTEGERS, &|assigned| assigned.split_once('=').is_some_and(|(_, value)| open(value))))
        .or_else(|| captured(&INDIRECT, &|_| true))
        .or_else(subscript)
        .or_else(piece)
        .or_else(former)
        .or_else(|| captured(&VARIABLES, &|arguments| names_from_elsewhere(arguments, &text)))
        .or_else(|| FED.find(&DOWNLOADED.replace_all(&text, "")).map(|found| found.as_str().trim().to_owned()))
        .or_else(|| programmed(&text));
    found.map(|piece| piece.chars().take(80).collect())
}

/// True if a shell's text takes names of files from what lies in a folder, so that one may become an option or a variable.
pub(super) fn lists_files(text: &str) -> bool {
    LISTS.is_match(&without_comments(text))
}

/// True if a name of a file may be taken for an option, or for a variable that is given a value, by itself or where it is split.
pub(super) fn is_odd_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let assigns = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        })
    };
    name.split_whitespace().any(|word| word.starts_with('-') || assigns(word))
}

/// True if one of the arguments of a command that sets variables is the name of one, or all of it, from elsewhere.
fn names_from_elsewhere(arguments: &str, text: &str) -> bool {
    let mut rest = arguments.trim_start();
    while !rest.is_empty() {
        let word = rest.trim_start_matches('"');
        let expands = word.starts_with(['$', '`']);
        if expands && is_open_text(word, text) {
            return true;
        }
        // What follows the name of the program that `env` starts is not set.
        if !expands && !rest.starts_with('-') && !rest.split_whitespace().next().is_some_and(|word| word.contains('='))
        {
            return false;
        }
        rest = after_word(rest).trim_start();
    }
    false
}

/// Text after a word, whose quotes and substitutions may hold blanks.
fn after_word(text: &str) -> &str {
    let (mut depth, mut quoted) = (0_i32, None);
    for (at, letter) in text.char_indices() {
        match letter {
            '"' | '\'' if quoted == Some(letter) => quoted = None,
            '"' | '\'' if quoted.is_none() => quoted = Some(letter),
            '(' => depth += 1,
            ')' => depth -= 1,
            blank if blank.is_whitespace() && depth <= 0 && quoted.is_none() => return &text[at..],
            _ => {}
        }
    }
    ""
}

/// A program of another language that the shell puts together from what may come from elsewhere.
fn programmed(text: &str) -> Option<String> {
    let built = PROGRAMS.captures_iter(text).find(|found| {
        let (options, program) = (found[1].trim_end(), &found[2]);
        let command = found[0].split_whitespace().next().unwrap_or_default();
        let takes_any = ["awk", "jq", "sed"].iter().any(|name| command.ends_with(name));
        // A value for a variable, or a name of a file, is no program.
        let is_value = options.ends_with('=') || options.ends_with("-v") || options.contains("--arg");
        let told = options.split_whitespace().next_back().is_some_and(|last| {
            last.starts_with('-') && last.ends_with(['c', 'e', 'E', 'n', 'r', 'p']) && !last.starts_with("--")
        });
        let is_code = if takes_any {
            program.contains([' ', '{', '(', '=', '<', '>', '|']) && !options.contains('\'')
        } else {
            told
        };
        !is_value && is_code && is_open_text(program, text)
    });
    let built = built.map(|found| found[0].to_owned());
    built.or_else(|| {
        let calculated = CALCULATED.captures_iter(text).find(|found| {
            let handed = found.get(1).or_else(|| found.get(2)).map_or("", |handed| handed.as_str());
            !handed.trim_start().starts_with('\'') && is_open_text(handed, text)
        });
        calculated.map(|found| found[0].trim().to_owned())
    })
}

/// True if a text holds an expansion of what is neither a number nor written in the text itself.
fn is_open_text(piece: &str, text: &str) -> bool {
    let counted = counted(&piece.replace("\\$", ""));
    EXPANSIONS.find_iter(&counted).any(|found| {
        let expansion = found.as_str();
        // Arithmetic is looked at by itself.
        !is_number(expansion, text) && !is_written(expansion, text)
    })
}

/// True if a variable is only ever given texts that stand in the shell's own text, or names of new files and folders.
fn is_written(expansion: &str, text: &str) -> bool {
    let Some(name) = expansion.strip_prefix('$') else { return false };
    let name = name.trim_start_matches('{').trim_end_matches('}');
    if ["HOME", "PWD", "RANDOM", "UID", "EUID", "BASHPID", "SECONDS"].contains(&name) {
        return true;
    }
    if !name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        || !name.chars().all(|c| c.is_alphanumeric() || c == '_')
    {
        return false;
    }
    let plain = |value: &str| {
        let value = value.trim_matches(['"', '\'']);
        value.starts_with("$(mktemp") || value == "$(pwd)" || !value.contains(['$', '`'])
    };
    assigned(name, text).is_some_and(|values| !values.is_empty() && values.iter().all(|value| plain(value)))
}

/// True if a text makes an array whose subscripts are texts.
fn is_table(array: &str, text: &str) -> bool {
    Regex::new(&format!(r"(?:declare|typeset|local)[ \t]+-[A-Za-z]*A[A-Za-z]*[ \t]+[^\n;&|]*\b{array}\b"))
        .is_ok_and(|table| table.is_match(text))
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

/// Every text between two marks.
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

/// True if an expression is made of numbers, and of variables that the text itself gives numbers to and nothing else.
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

/// All that a text gives to a variable, those that it goes over with it among them; `None` where it is read from elsewhere.
fn assigned(name: &str, text: &str) -> Option<Vec<String>> {
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
    let mut given = values(&given)?;
    let [looped, read] = filled.map(|pattern| values(&pattern));
    if !read?.is_empty() {
        return None;
    }
    given.extend(looped?.into_iter().flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()));
    Some(given)
}

/// True if a text gives a variable numbers and nothing else.
fn is_counter(name: &str, text: &str) -> bool {
    let Some(given) = assigned(name, text) else { return false };
    // `for ((i = 0; …` and `((i = 0` give it what the expression is checked for as a whole.
    let in_expression = between(text, "((", "))").iter().any(|expression| expression.contains(name));
    (in_expression || !given.is_empty()) && given.iter().all(|value| is_literal(value))
}

/// True if a value that is given to a variable is a number whatever happens.
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
            "n=$(cat /app/data); t=xxx; [ \"${t:0:$n}\" = x ]",
            "n=$(cat /app/data); seen[$n]=1",
            "n=$(cat /app/data); m=$[ n + 0 ]",
            "command eval \"$(cat /app/data)\"",
            "export $(cat app.env | xargs); python3 /tests/check.py",
            "env $(cat app.env) python3 /tests/check.py",
            "while read -r line; do declare \"$line\"; done < /app/app.env",
            "source <(cat app.env)",
            ". /dev/stdin < app.env",
            "cat app.env | bash",
            "curl -s https://host/install.sh | cat app.env - | sh",
            "curl -sSf -K app.conf https://host/install.sh | sh",
            "curl -s https://host/install.sh file:///app/x | sh",
            "curl -s https://$HOST/install.sh | sh",
            "curl -s http://127.0.0.1/install.sh | sh",
            "x=$(cat answer.txt); awk \"BEGIN { exit !($x > 41.5) }\"",
            "python3 -c \"import sys; sys.exit($(cat /app/answer.txt) != 42)\"",
            "x=$(cat answer.txt); jq -e \".a == $x\" data.json",
            "x=$(cat answer.txt); echo \"$x > 41\" | bc",
            "x=$(cat answer.txt); [ \"$(bc <<< \"$x > 41\")\" = 1 ]",
            "bash -c \"$(cat /app/run)\"",
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
            "reward=0; [ -f x ] && reward=1; awk \"BEGIN { print $reward / 2 }\"",
            "t=xxx; echo ${t:1:2} ${t: -1} ${t:-$(cat /app/data)} ${t:=x}",
            "declare -A seen; n=$(cat /app/data); seen[$n]=1; echo ${seen[$n]}",
            "export PATH=/opt/x:$PATH LC_ALL=C; export X=$(cat /app/data); env -i HOME=/root ./tool \"$x\"",
            "export TOOL_CONFIG=$config; local name=$1; local x y",
            "x=$(cat /app/data); awk -v x=\"$x\" 'BEGIN { exit x != 42 }'; awk '{ print $1 }' \"$x\"",
            "folder=$(mktemp -d); timeout 5 bash -c \"cd $folder && ./tool\"; python3 -c 'print(1)'",
            ". ./lib.sh; echo 1 | shasum; echo \"1 + 2\" | bc",
            "apt-get install -y curl\ncurl -LsSf https://astral.sh/uv/0.9.5/install.sh | sh\nsource $HOME/.local/bin/env",
            "wget -qO- https://host/install.sh 2>/dev/null | bash",
        ] {
            assert_eq!(evaluated(text), None, "{text}");
        }
    }
    #[test]
    fn names_that_become_options_are_odd() {
        for odd in ["/app/-v.txt", "/app/a -v b.txt", "/app/FS=x.txt", "/app/-"] {
            assert!(is_odd_name(odd), "{odd}");
        }
        for plain in ["/app/a-v.txt", "/app/a.txt", "/app/1=2.txt", "/app/x - y/z", "/app/=x"] {
            assert!(!is_odd_name(plain), "{plain}");
        }
        assert!(
            lists_files("grep -q 42 *.txt") && lists_files("find . -name x") && !lists_files("# *\ngrep -q 42 a.txt")
        );
    }
}
