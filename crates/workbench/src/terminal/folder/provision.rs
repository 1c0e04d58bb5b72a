//! Packages and environments of uv that the script of the tests installs before it tests. Where builds have a network they are
//! installed beforehand, into the image in which the tests run, since those have none.

use super::packages::{self, Install};
use super::words;
use crate::terminal::row::Step;

/// The address from which scripts install uv.
const UV_ADDRESS: &str = "astral.sh/uv/";
/// Options of uv with a value that follows.
const VALUED: [&str; 12] = [
    "--with",
    "-w",
    "--from",
    "--python",
    "-p",
    "--index",
    "--index-url",
    "--extra-index-url",
    "--default-index",
    "--with-requirements",
    "--directory",
    "--project",
];

/// Installs uv from the index of Python packages, and links it from the folder that is the second argument.
const UV: &str = r#"python3 -m venv /opt/uv
/opt/uv/bin/python -m pip install --quiet --no-cache-dir "$0"
mkdir -p "$1" "$HOME/.local/bin" "$HOME/.cargo"
ln -sf /opt/uv/bin/uv /opt/uv/bin/uvx "$1/"
[ "$1" = "$HOME/.local/bin" ] || exit 0
echo 'export PATH="$HOME/.local/bin:$PATH"' > "$HOME/.local/bin/env"
cp "$HOME/.local/bin/env" "$HOME/.cargo/env""#;

/// Steps that a script needs beforehand; `file` is where it is written.
pub(super) fn steps(script: &str, file: &str) -> Vec<Step> {
    let mut found = Vec::new();
    let mut uv: Option<(String, String)> = None;
    for (number, line) in joined(script) {
        let place = format!("{file}:{number}");
        if let Some(version) = installer(&line) {
            uv = Some((place.clone(), version));
        }
        for command in simple_commands(&line) {
            match packages::install(&command) {
                Some(Install::Packages(kind, names))
                    if !names.is_empty() && !command.trim_start().starts_with("uv") =>
                {
                    found.push(Step::Packages { names, kind: kind.to_owned(), place: place.clone() });
                }
                _ => {
                    let Some(fetching) = fetching(&command) else { continue };
                    uv.get_or_insert_with(|| (place.clone(), String::new()));
                    if !fetching.is_empty() {
                        found.push(run(&["sh", "-ec", &format!("{PREFIX}{fetching}")], &place));
                    }
                }
            }
        }
    }
    let Some((place, version)) = uv else { return found };
    let mut steps = uv_in(INSTALLED_IN, &version, &place);
    steps.extend(found);
    steps
}

/// Steps that put uv into a folder; the newest where no version is named.
pub(super) fn uv_in(folder: &str, version: &str, place: &str) -> Vec<Step> {
    let wanted = if version.starts_with(|letter: char| letter.is_ascii_digit()) {
        format!("uv=={version}")
    } else {
        "uv".to_owned()
    };
    let names = ["python3", "python3-venv", "ca-certificates"].map(str::to_owned).to_vec();
    vec![
        Step::Packages { names, kind: "deb".to_owned(), place: place.to_owned() },
        run(&["sh", "-ec", UV, &wanted, folder], place),
    ]
}

/// Where uv's own installer puts it.
pub(super) const INSTALLED_IN: &str = "/root/.local/bin";

/// A line of a container file without uv's own installer, which is not found in an index; and the version that it installs.
pub(super) fn without_installer(line: &str) -> Option<(String, String)> {
    let version = installer(line)?;
    let start = line[..line.find(UV_ADDRESS)?].rfind(['&', ';', '\n']).map_or(0, |at| at + 1);
    let end = line[start..].find("&&").or_else(|| line[start..].find(';')).map_or(line.len(), |at| start + at);
    line[start..end].contains('|').then(|| (format!("{} : {}", &line[..start], &line[end..]), version))
}

/// Stands before a command of uv.
const PREFIX: &str = "PATH=\"$HOME/.local/bin:$PATH\"\ncd \"$(mktemp -d)\"\n";

fn run(argv: &[&str], place: &str) -> Step {
    Step::Run {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        user: "root".to_owned(),
        folder: "/".to_owned(),
        env: [("HOME".to_owned(), "/root".to_owned())].into(),
        place: place.to_owned(),
    }
}

/// Lines with their continuations, each with its number; comments are left out.
fn joined(script: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in script.lines().enumerate() {
        let line = line.trim();
        if !open && (line.is_empty() || line.starts_with('#')) {
            continue;
        }
        let (text, goes_on) = line.strip_suffix('\\').map_or((line, false), |text| (text, true));
        match lines.last_mut().filter(|_| open) {
            Some((_, last)) => {
                last.push(' ');
                last.push_str(text);
            }
            None => lines.push((index + 1, text.to_owned())),
        }
        open = goes_on;
    }
    lines
}

/// The simple commands of a line, wherever they stand in it, without redirections, words of control flow and variables that are set.
fn simple_commands(line: &str) -> Vec<String> {
    const CONTROL: [&str; 11] = ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "exec"];
    let mut commands = vec![String::new()];
    let mut letters = line.chars().peekable();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        let command = commands.last_mut().expect("one is always begun");
        match (quote, letter) {
            (Some(open), letter) => {
                command.push(letter);
                if letter == open {
                    quote = None;
                } else if letter == '\\' && open == '"' {
                    command.extend(letters.next());
                }
            }
            (None, '\'' | '"') => {
                quote = Some(letter);
                command.push(letter);
            }
            (None, '\\') => {
                command.push(letter);
                command.extend(letters.next());
            }
            (None, '&') if letters.peek() == Some(&'>') => {}
            (None, '<' | '>') => {
                // The descriptor before it, and the file behind it.
                command.truncate(command.trim_end_matches(|digit: char| digit.is_ascii_digit()).len());
                while letters.next_if(|next| matches!(next, '<' | '>' | '&' | '|') || next.is_whitespace()).is_some() {}
                while letters.next_if(|next| !next.is_whitespace() && !";|&()".contains(*next)).is_some() {}
            }
            (None, ';' | '|' | '&' | '(' | ')' | '`') => commands.push(String::new()),
            (None, letter) => command.push(letter),
        }
    }
    let plain = commands.iter().filter_map(|command| {
        let mut rest = command.trim();
        loop {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let sets = word.split_once('=').is_some_and(|(name, _)| name.bytes().all(is_of_a_name));
            if !sets && !CONTROL.contains(&word) {
                return (!rest.is_empty()).then(|| rest.to_owned());
            }
            rest = after.trim_start();
        }
    });
    plain.collect()
}

const fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The version of uv that a line installs by its own installer; empty for the newest.
pub(super) fn installer(line: &str) -> Option<String> {
    let (_, after) = line.split_once(UV_ADDRESS)?;
    let (version, _) = after.split_once("install.sh")?;
    Some(version.trim_matches('/').to_owned())
}

/// A command that fetches what a command of uv will need, in an empty folder; empty where it needs nothing but uv itself.
fn fetching(command: &str) -> Option<String> {
    let words = words::split(command).ok()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Nothing is known here of a variable's value.
    if words.first().is_some_and(|word| word.starts_with("uv")) && words.iter().any(|word| word.contains('$')) {
        return Some(String::new());
    }
    let quoted = |words: &[&str]| {
        let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
        quoted.collect::<Vec<_>>().join(" ")
    };
    match words.as_slice() {
        ["uvx", rest @ ..] | ["uv", "tool", "run", rest @ ..] => {
            let (options, program) = split(rest);
            Some(program.map_or_else(String::new, |program| {
                format!("uvx {} {} --version", quoted(&options), quoted(&[program]))
            }))
        }
        ["uv", "run", rest @ ..] => {
            let (options, program) = split(rest);
            let wanted =
                options.iter().any(|option| *option == "--with" || *option == "-w" || option.starts_with("--with="));
            Some(match program {
                Some(program) if wanted => {
                    format!("uv run --no-project {} {} --version", quoted(&options), quoted(&[program]))
                }
                _ => String::new(),
            })
        }
        ["uv", "add", rest @ ..] => Some(format!("uv init -q --bare\nuv add {}", quoted(rest))),
        ["uv", "pip", "install", rest @ ..] => {
            let rest: Vec<&str> = rest.iter().filter(|word| **word != "--system").copied().collect();
            Some(format!("uv venv -q\nuv pip install {}", quoted(&rest)))
        }
        ["uv", ..] => Some(String::new()),
        _ => None,
    }
}

/// The options of uv and the program that they are for.
fn split<'w>(words: &[&'w str]) -> (Vec<&'w str>, Option<&'w str>) {
    let mut options = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if VALUED.contains(word) {
            options.push(*word);
            options.extend(words.next());
        } else if word.starts_with('-') {
            options.push(*word);
        } else {
            return (options, Some(word));
        }
    }
    (options, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = r"#!/bin/bash
apt-get update
apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh
source $HOME/.local/bin/env
uvx \
  -p 3.11 \
  --with pytest==8.4.1 \
  --with pytest-json-ctrf==0.3.5 \
  pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA
";

    #[test]
    fn what_tests_install_is_found() {
        let steps = steps(SCRIPT, "tests/test.sh");
        assert_eq!(steps.len(), 4, "{steps:#?}");
        let Step::Run { argv, place, .. } = &steps[1] else { panic!("{steps:#?}") };
        assert_eq!((argv[3].as_str(), place.as_str()), ("uv==0.9.7", "tests/test.sh:4"));
        assert!(matches!(&steps[2], Step::Packages { names, .. } if names == &["curl"]));
        let Step::Run { argv, place, .. } = &steps[3] else { panic!("{steps:#?}") };
        assert!(argv[2].ends_with(
            "uvx '-p' '3.11' '--with' 'pytest==8.4.1' '--with' 'pytest-json-ctrf==0.3.5' 'pytest' --version"
        ));
        assert_eq!(place, "tests/test.sh:6");
    }

    #[test]
    fn what_tests_install_is_found_wherever_it_stands_in_a_line() {
        for line in [
            "if uv run --with pytest pytest /tests/test_x.py -v; then",
            "uv run --with pytest pytest /tests/test_x.py 2>&1 | tee /logs/verifier/out.txt",
            "cd /app && ! (PYTHONPATH=. FLAG=1 uv run --with pytest pytest /tests > /dev/null 2>/tmp/x) || exit 1",
            "passed=$(uv run --with pytest pytest -q &> log; echo $?)",
        ] {
            let found = steps(line, "t");
            let Some(Step::Run { argv, .. }) = found.last() else { panic!("{line}: {found:#?}") };
            assert!(argv[2].ends_with("uv run --no-project '--with' 'pytest' 'pytest' --version"), "{line}: {argv:?}");
        }
        // What is only known when it runs, what is text, and what is no command.
        assert_eq!(steps("uvx --with $WANTED pytest; x=1", "t").len(), 2);
        assert_eq!(steps("echo 'use: uvx pytest' && echo \"uvx; uvx pytest\"", "t"), Vec::new());
        assert_eq!(simple_commands("if [ 1 -lt 2 ]; then a=1 b < c d 2> e; fi"), ["[ 1 -lt 2 ]", "b  d", "fi"]);
    }

    #[test]
    fn the_installer_of_uv_is_taken_out_of_a_line() {
        let line = "apt-get update && curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh && uv --version";
        assert_eq!(
            without_installer(line),
            Some(("apt-get update && : && uv --version".to_owned(), "0.9.7".to_owned()))
        );
        assert_eq!(without_installer("curl https://astral.sh/uv/install.sh > x"), None);
        assert_eq!(without_installer("make"), None);
    }

    #[test]
    fn scripts_that_install_nothing_need_nothing() {
        assert_eq!(steps("pytest /tests\nif [ $? -eq 0 ]; then echo 1; fi\n# uvx x\n", "t"), Vec::new());
        assert_eq!(steps("pip install pytest==8.0.0", "t").len(), 1);
        assert_eq!(steps("uv init\nuv add pytest==8.4.1\nuv run pytest x", "t").len(), 3);
    }
}
