//! Lines of container files and tests that install packages. What they install is in the image already, or is installed where builds
//! have a network; the rest of such a line is run.

use std::collections::BTreeSet;

use palestra_sandbox::image::Images;

use super::words;
use crate::terminal::row::Step;

/// Shipped images with more and more in them, by the one that stands in for a base image.
const LARGER: [(&str, &[&str]); 2] = [("shell", &["python", "build", "languages"]), ("python", &["build"])];

/// Of an image and those that have all of it and more, the first that lacks the fewest of the packages that steps name.
pub(super) fn image_with(images: &Images, image: &str, steps: &[Step]) -> String {
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for step in steps {
        let Step::Packages { names, kind, .. } = step else { continue };
        let named = |name: &String| match kind.as_str() {
            "python" => format!("python3-{}", name.to_ascii_lowercase()),
            _ => name.clone(),
        };
        wanted.extend(names.iter().map(named));
    }
    let larger = LARGER.iter().find(|(smaller, _)| *smaller == image).map_or(&[] as &[&str], |(_, larger)| larger);
    let candidates = std::iter::once(image).chain(larger.iter().copied());
    let lacking = candidates.filter_map(|name| {
        let packages = images.packages(name)?;
        Some((wanted.iter().filter(|package| !packages.contains(*package)).count(), name))
    });
    // The first of equals.
    lacking.min_by_key(|(lacking, _)| *lacking).map_or(image, |(_, name)| name).to_owned()
}

/// Takes a line apart that installs packages: what has to be there already (by kind `deb` or `python`), and what is left to run.
pub(super) fn installs(line: &str) -> (Vec<(String, Vec<String>)>, Option<String>) {
    let whole = || (Vec::new(), Some(line.to_owned()));
    let Some(commands) = commands(line) else { return whole() };
    let mut packages = Vec::new();
    let mut left = Vec::new();
    for command in commands {
        match install(&command) {
            Some(Install::Packages(kind, names)) if names.is_empty() => drop((kind, names)),
            Some(Install::Packages(kind, names)) => packages.push((kind.to_owned(), names)),
            Some(Install::Housekeeping) => {}
            None => left.push(command),
        }
    }
    if packages.is_empty() && left.len() == 1 {
        return whole();
    }
    // What only sets the shell up has nothing left to do.
    let idle = left.iter().all(|command| command.starts_with("set ") || command.starts_with("export "));
    (packages, (!idle).then(|| left.join(" && ")))
}

/// The commands of a line that are joined by `&&`, `;` or line ends alone; `None` where it is more than that.
pub(super) fn commands(line: &str) -> Option<Vec<String>> {
    let mut commands = Vec::new();
    let mut command = String::new();
    let mut quote = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
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
            (None, '&') if letters.peek() == Some(&'&') => {
                letters.next();
                commands.push(std::mem::take(&mut command));
            }
            (None, ';' | '\n') => commands.push(std::mem::take(&mut command)),
            (None, '|' | '&' | '(' | ')' | '{' | '}' | '`' | '<') => return None,
            (None, letter) => command.push(letter),
        }
    }
    commands.push(command);
    let commands: Vec<String> =
        commands.iter().map(|command| command.trim().to_owned()).filter(|command| !command.is_empty()).collect();
    let compound = ["if", "then", "else", "fi", "for", "do", "done", "while", "until", "case", "esac"];
    let plain = |command: &String| !compound.contains(&command.split_whitespace().next().unwrap_or_default());
    commands.iter().all(plain).then_some(commands)
}

pub(super) enum Install {
    Packages(&'static str, Vec<String>),
    /// Nothing that has to be done where packages are there.
    Housekeeping,
}

pub(super) fn install(command: &str) -> Option<Install> {
    let words = words::split(command).ok()?;
    let assigned = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
    };
    let words: Vec<&str> = words.iter().skip_while(assigned).map(String::as_str).collect();
    match words.as_slice() {
        ["apt-get" | "apt" | "aptitude" | "apk", rest @ ..] => {
            let rest = plain_words(rest, &["-o", "-t", "-c", "--repository", "-X"]);
            match rest.split_first()? {
                (&("install" | "add"), names) => {
                    let name = |name: &&str| name.split(['=', '/', '<', '>', '~']).next().unwrap_or(name).to_owned();
                    Some(Install::Packages("deb", names.iter().map(name).collect()))
                }
                (&("update" | "upgrade" | "dist-upgrade" | "clean" | "autoclean" | "autoremove"), _) => {
                    Some(Install::Housekeeping)
                }
                _ => None,
            }
        }
        ["pip" | "pip3", rest @ ..] | ["python" | "python3", "-m", "pip", rest @ ..] | ["uv", "pip", rest @ ..] => {
            if rest
                .iter()
                .any(|word| ["-r", "-e", "-c", "--requirement", "--editable", "--target", "-t"].contains(word))
            {
                return None;
            }
            let rest = plain_words(rest, &["-i", "--index-url", "--extra-index-url", "--timeout", "--retries"]);
            let (&"install", names) = rest.split_first()? else { return None };
            // Files and folders are installed by running it.
            let local = names.iter().any(|name| name.contains('/') || *name == "." || name.ends_with(".whl"));
            (!local).then(|| Install::Packages("python", names.iter().map(|name| (*name).to_owned()).collect()))
        }
        ["rm", rest @ ..] => {
            let caches = ["/var/lib/apt/", "/var/cache/apt", "/var/cache/apk", "/root/.cache/pip"];
            let paths: Vec<&&str> = rest.iter().filter(|word| !word.starts_with('-')).collect();
            let idle = paths.iter().all(|path| caches.iter().any(|cache| path.starts_with(cache)));
            (idle && !paths.is_empty()).then_some(Install::Housekeeping)
        }
        _ => None,
    }
}

/// Words that are neither options nor the values of those that take one.
fn plain_words<'w>(words: &[&'w str], valued: &[&str]) -> Vec<&'w str> {
    let mut plain = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if valued.contains(word) {
            words.next();
        } else if !word.starts_with('-') {
            plain.push(*word);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_install_packages_only_ask_for_them() {
        let deb = |names: &[&str]| vec![("deb".to_owned(), names.iter().map(|name| (*name).to_owned()).collect())];
        let line = "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends git=1:2.4* curl -o X=Y && rm -rf /var/lib/apt/lists/*";
        assert_eq!(installs(line), (deb(&["git", "curl"]), None));
        assert_eq!(
            installs("set -eux; apt-get update; apt-get install -y git; git init /x"),
            (deb(&["git"]), Some("set -eux && git init /x".to_owned()))
        );
        let python = vec![("python".to_owned(), vec!["pytest==8.4.1".to_owned()])];
        assert_eq!(installs("pip install --no-cache-dir pytest==8.4.1"), (python, None));
        for whole in [
            "make -j2",
            "pip install -r requirements.txt",
            "curl x | sh && apt-get install y",
            "rm -rf /var/lib/apt/lists/* /home",
        ] {
            assert_eq!(installs(whole), (Vec::new(), Some(whole.to_owned())), "{whole}");
        }
        let both = "apt-get update && if true; then apt-get install -y x; fi";
        assert_eq!(installs(both), (Vec::new(), Some(both.to_owned())));
    }
}
