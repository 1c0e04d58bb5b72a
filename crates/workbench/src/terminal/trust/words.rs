//! References to files in the judge's own text: its test files, and the arguments that it gave to programs.

use std::sync::LazyLock;

use regex::Regex;

/// Shells, by the names of their programs.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "mksh", "fish", "csh"];
/// Other programs that carry out what they read on their standard input.
const INTERPRETERS: [&str; 14] = [
    "python", "perl", "ruby", "node", "lua", "php", "R", "Rscript", "ocaml", "irb", "tclsh", "sqlite3", "psql", "make",
];

/// Programs of the image that carry out nothing of what they are told or read, whatever it looks like.
const READERS: [&str; 24] = [
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "cat",
    "head",
    "tail",
    "wc",
    "diff",
    "cmp",
    "comm",
    "uniq",
    "cut",
    "tr",
    "fold",
    "paste",
    "nl",
    "tac",
    "rev",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
];

/// Python expressions that evaluate a text as code.
#[expect(clippy::expect_used, reason = "the pattern is a constant, and a test compiles it")]
static EVALUATES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(exec|eval|execfile|run_path|run_module|FunctionType)\s*\(").expect("a pattern"));
/// The same by its own name, no method's.
#[expect(clippy::expect_used, reason = "the pattern is a constant, and a test compiles it")]
static OBEYS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^.\w])(?:exec|eval|execfile)\s*\(|\b(?:run_path|load_source|doctest)\b").expect("a pattern")
});
/// Expressions that load a file as code in other languages, with its argument.
#[expect(clippy::expect_used, reason = "the pattern is a constant, and a test compiles it")]
static LOADS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"\b(?:require|require_relative|import|load|loadfile|dofile|source|sys\.source|eval|instance_eval|class_eval|runInThisContext|runInNewContext|runInContext)\b[ \t]*(\(?[^\n;]*)|\bdo[ \t]*\(?[ \t]*(["'$][^\n;]*)"#,
    )
    .expect("a pattern")
});
/// Commands that run a file in the shell itself, with the rest.
#[expect(clippy::expect_used, reason = "the pattern is a constant, and a test compiles it")]
static SOURCES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)(?:^|[;&|(){}]|\s)(?:source|\.)[ \t]+([^\n;&|]+)").expect("a pattern"));

/// True if a text holds a name that does not go on at either side. `left` says what must not stand before it.
fn holds(text: &str, name: &str, left: impl Fn(char) -> bool) -> bool {
    let goes_on = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let mut after = text[at + name.len()..].chars();
            let next = after.next();
            let ends = match next {
                Some('.') => !after.next().is_some_and(goes_on),
                Some(next) => !goes_on(next),
                None => true,
            };
            ends && !before.is_some_and(&left)
        })
}

/// True if a text names a file, by its last part at least.
pub(super) fn names(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    holds(text, name, |before| before.is_alphanumeric() || "_-.".contains(before))
}

/// True if a text names a path: whole, or as it is seen from `folder`.
pub(super) fn names_path(text: &str, path: &str, folder: &str) -> bool {
    let goes_on = |before: char| before.is_alphanumeric() || "_-./".contains(before);
    if holds(text, path, goes_on) {
        return true;
    }
    let Some(below) = path.strip_prefix(folder.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/')) else {
        return false;
    };
    (below.contains('/') && holds(text, below, goes_on)) || holds(text, &format!("./{below}"), goes_on)
}

/// True if a text names a folder as a whole path, or with names of files in it that it does not spell out.
pub(super) fn names_folder(text: &str, folder: &str) -> bool {
    let goes_on = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    text.match_indices(folder).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + folder.len()..];
        let mut next = after.chars();
        let ends = match next.next() {
            Some('/') => !next.next().is_some_and(goes_on),
            Some('.') => !next.next().is_some_and(goes_on),
            Some(letter) => !goes_on(letter),
            None => true,
        };
        ends && !before.is_some_and(|before| goes_on(before) || before == '/')
    })
}

/// True if a text evaluates other texts as Python.
pub(super) fn evaluates(text: &str) -> bool {
    EVALUATES.is_match(text)
}

/// True if a text evaluates what it reads as Python, whatever it is called.
pub(super) fn obeys(text: &str) -> bool {
    OBEYS.is_match(text)
}

/// True if a text of a language other than Python and the shell's may load a file as code: by its name, with an ending or without, or
/// by one that it puts together.
pub(super) fn loads(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    LOADS.captures_iter(text).filter_map(|found| found.get(1).or_else(|| found.get(2))).any(|given| {
        let given = given.as_str();
        let called = given.starts_with(['(', '$']);
        let given = given.trim_start_matches(['(', ' ', '\t']);
        let of_variables = called && !given.is_empty() && !given.contains(['"', '\'', '`']);
        of_variables || names(given, path) || names(given, stem)
    })
}

/// True if a program carries out code of a language other than Python and the shell's.
pub(super) fn is_interpreter(exe: &str) -> bool {
    ["node", "perl", "ruby", "lua", "php", "R", "Rscript", "tclsh", "guile", "deno", "bun"].iter().any(|known| {
        program(exe).strip_prefix(known).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    })
}

/// True if a shell's text may carry out a file in the shell itself.
pub(super) fn sources(text: &str, path: &str) -> bool {
    SOURCES.captures_iter(text).any(|found| {
        let operand = &found[1];
        operand.contains(['$', '`', '*', '?']) || names(operand, path)
    })
}

/// The name of a program.
fn program(exe: &str) -> &str {
    exe.rsplit('/').next().unwrap_or(exe)
}

pub(super) fn is_shell(exe: &str) -> bool {
    SHELLS.contains(&program(exe))
}

pub(super) fn is_bash(exe: &str) -> bool {
    program(exe) == "bash"
}

pub(super) fn is_python(exe: &str) -> bool {
    program(exe).strip_prefix("python").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Options after which a program of this kind takes code, or the name of a module.
fn code_options(exe: &str) -> &'static [&'static str] {
    let name = program(exe);
    let is = |known: &str| name.starts_with(known);
    if is_shell(exe) {
        &["-c"]
    } else if is("python") {
        &["-c", "-m"]
    } else if is("php") {
        &["-r"]
    } else if is("node") {
        &["-e", "-p", "--eval", "--print"]
    } else if carries_out(exe) || is_interpreter(exe) {
        &["-e", "-E"]
    } else {
        &[]
    }
}

/// True if what follows an option is code or a module.
pub(super) fn names_code(exe: &str, option: &str) -> bool {
    code_options(exe).contains(&option)
}

/// True if a program is told code by its arguments. What follows the script of an interpreter is data, and tools that only search,
/// compare or print carry out nothing.
pub(super) fn is_told(exe: &str, argv: &[String]) -> bool {
    if READERS.contains(&program(exe)) {
        return false;
    }
    let arguments = || argv.iter().skip(1);
    let has_script = is_shell(exe) || is_python(exe) || is_interpreter(exe);
    let script = arguments().position(|argument| !argument.starts_with('-'));
    let told_before = arguments()
        .take(script.unwrap_or(usize::MAX))
        .any(|option| names_code(exe, option) || code_options(exe).iter().any(|known| bundles(option, known)));
    let taken = match script {
        Some(script) if has_script && !told_before => script + 1,
        _ => usize::MAX,
    };
    arguments().take(taken).any(|argument| may_be_code(exe, argument))
}

/// True if an argument is several options of one letter, and this is among them.
fn bundles(argument: &str, option: &str) -> bool {
    let letters = argument.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
    letters.zip(letter).is_some_and(|(letters, letter)| letters.contains(letter))
}

/// True if a program carries out texts.
pub(super) fn carries_out(exe: &str) -> bool {
    is_shell(exe) || INTERPRETERS.iter().any(|known| program(exe).starts_with(known))
}

/// True if a program that got these arguments carries out its standard input.
pub(super) fn obeys_its_input(exe: &str, argv: &[String]) -> bool {
    let name = program(exe);
    let database = name.starts_with("sqlite3") || name.starts_with("psql");
    carries_out(exe) && (database || argv.iter().skip(1).all(|argument| argument.starts_with('-')))
}

/// True if an argument may be code that the judge wrote, or say where it comes from.
pub(super) fn may_be_code(exe: &str, argument: &str) -> bool {
    let from_elsewhere = argument == "-" || argument.starts_with("/dev/") || argument.starts_with("/proc/");
    let letters = [' ', '\n', '\t', ';', '(', '{', '=', '\'', '"', '$', '`', '|', '<', '>'];
    from_elsewhere || (is_shell(exe) && argument == "-s") || (argument.contains(letters) && !argument.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whole() {
        assert!(names("cat /app/out.txt", "/app/out.txt") && names("open('out.txt')", "/app/out.txt"));
        assert!(names("It is in out.txt.", "/app/out.txt"));
        for other in ["about.txt", "out.txt.bak", "out.txtx", "my-out.txt", ""] {
            assert!(!names(other, "/app/out.txt"), "{other}");
        }
        assert!(names_path("run /app/bin/tool now", "/app/bin/tool", "/app"));
        assert!(names_path("./tool", "/app/tool", "/app") && names_path("bin/tool", "/app/bin/tool", "/app/"));
        for other in ["tool", "/usr/app/tool", "/app/tool2", "x/tool", "../tool"] {
            assert!(!names_path(other, "/app/tool", "/app"), "{other}");
        }
    }

    #[test]
    fn evaluating_expressions_are_known() {
        for text in ["exec(open(p).read())", "eval (x)", "runpy.run_path(p)"] {
            assert!(evaluates(text), "{text}");
        }
        for text in ["spec.loader.exec_module(m)", "ast.literal_eval(x)", "retrieval(x)"] {
            assert!(!evaluates(text), "{text}");
        }
        assert!(obeys("exec(open('/app/x').read())") && obeys("python3 -m doctest x") && !obeys("model.eval()"));
        for text in [
            "require('/app/solution')",
            "dofile('/app/solution')",
            "do '/app/solution'",
            "eval(x)",
            "do $file",
            "load \"./solution\"",
        ] {
            assert!(loads(text, "/app/solution"), "{text}");
        }
        for text in [
            "require('fs')",
            "for x in y do print(x)",
            "readFileSync('/app/solution')",
            "JSON.parse(text)",
            "// load the answer",
            "eval { x }",
        ] {
            assert!(!loads(text, "/app/solution"), "{text}");
        }
        for text in [". /app/x.env", "  source \"/app/x.env\"", "if true; then . $file; fi", ". x.env"] {
            assert!(sources(text, "/app/x.env"), "{text}");
        }
        for text in ["cat x.env", "echo 1. x.env", "find . -name x", "cmp . /app/y.env"] {
            assert!(!sources(text, "/app/x.env"), "{text}");
        }
    }

    #[test]
    fn interpreters_without_a_script_obey_their_input() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(
            obeys_its_input("/usr/bin/bash", &words("bash"))
                && obeys_its_input("/usr/bin/python3.11", &words("python3 -"))
        );
        assert!(obeys_its_input("/usr/bin/sqlite3", &words("sqlite3 a.db")));
        assert!(!obeys_its_input("/usr/bin/python3.11", &words("python3 x.py")));
        assert!(!obeys_its_input("/usr/bin/cat", &words("cat")));
    }

    #[test]
    fn code_among_arguments_is_known() {
        for code in ["import tool", "f()", "-", "/dev/fd/63", "/proc/self/fd/0"] {
            assert!(may_be_code("/usr/bin/python3.11", code), "{code}");
        }
        for plain in ["-c", "/app/tool.py", "5", "--param=x", "-s"] {
            assert!(!may_be_code("/usr/bin/python3.11", plain), "{plain}");
        }
        assert!(may_be_code("/usr/bin/bash", "-s"));
    }
}
