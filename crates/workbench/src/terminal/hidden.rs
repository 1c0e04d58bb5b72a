//! Hidden files of a task: each secret has a place in its set-up, and nobody who acts is told one at the beginning.

use std::collections::BTreeMap;

use super::row::{Row, StoredFile};

/// Secrets that the set-up of a task uses nowhere, each as a fault.
pub(super) fn unused(secrets: &BTreeMap<String, String>, files: &[StoredFile], run: Option<&str>) -> Vec<String> {
    let placed = |name: &str| {
        let filled = format!("${{{name}}}");
        let in_files = files.iter().any(|file| file.text.as_ref().is_some_and(|text| text.contains(&filled)));
        in_files || run.is_some_and(|script| has_word(script, &name.to_ascii_uppercase()))
    };
    let names = secrets.keys().filter(|name| !placed(name));
    names
        .map(|name| {
            let variable = name.to_ascii_uppercase();
            format!("{name:?} is hidden nowhere: setup.files say ${{{name}}}, and setup.run has it as the variable {variable}")
        })
        .collect()
}

/// Secrets that whoever acts reads at the beginning, in the instruction, what is shown, or the variables of the shell.
pub(super) fn leaked(row: &Row, shown: &str, drawn: &BTreeMap<String, String>) -> Vec<String> {
    let variables = row.scene.env.iter().map(|(name, value)| format!("{name}={value}"));
    let texts: Vec<String> = [row.instruction.clone(), shown.to_owned()].into_iter().chain(variables).collect();
    let tells = |secret: &str| texts.iter().any(|text| text.contains(secret));
    let names = drawn.iter().filter(|(_, secret)| tells(secret)).map(|(name, _)| name);
    names.map(|name| format!("the secret {name:?} is told at the beginning")).collect()
}

/// Parts of secrets that are the same for all of these draws.
pub(super) fn constant(draws: &[BTreeMap<String, String>]) -> Vec<String> {
    let Some(names) = draws.first() else { return Vec::new() };
    let same = |name: &&String| {
        let values: Vec<&String> = draws.iter().filter_map(|drawn| drawn.get(*name)).collect();
        values.len() > 1 && values.windows(2).all(|pair| pair[0] == pair[1])
    };
    names.keys().filter(same).map(|name| format!("the secret {name:?} is the same for {} keys", draws.len())).collect()
}

/// True if a script has a word that is no part of a longer one.
fn has_word(script: &str, word: &str) -> bool {
    let inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    script.match_indices(word).any(|(at, _)| {
        let before = script[..at].chars().next_back();
        let after = script[at + word.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(run: Option<&str>, text: Option<&str>) -> Vec<String> {
        let secrets = BTreeMap::from([("flag".to_owned(), "%hex8%".to_owned())]);
        let file = |text: &str| StoredFile { text: Some(text.to_owned()), ..StoredFile::default() };
        let files: Vec<StoredFile> = text.map(file).into_iter().collect();
        unused(&secrets, &files, run)
    }

    #[test]
    fn a_secret_has_a_place_in_the_set_up() {
        for (run, text) in [(Some("echo $FLAG > f"), None), (Some("x=${FLAG}"), None), (None, Some("it is ${flag}."))] {
            assert_eq!(faults(run, text), Vec::<String>::new(), "{run:?} {text:?}");
        }
        for (run, text) in [(None, None), (Some("echo $FLAGS $MY_FLAG"), None), (None, Some("$flag"))] {
            assert_eq!(faults(run, text).len(), 1, "{run:?} {text:?}");
        }
    }

    #[test]
    fn a_secret_that_never_differs_is_found() {
        let draw = |flag: &str| BTreeMap::from([("flag".to_owned(), flag.to_owned())]);
        assert_eq!(constant(&[draw("a"), draw("a")]).len(), 1);
        assert_eq!(constant(&[draw("a"), draw("b")]), Vec::<String>::new());
        assert_eq!(constant(&[draw("a")]), Vec::<String>::new());
    }
}
