//! Names: one grammar for everything that can be named. What was stored before there was one is still read; what is named anew is
//! [checked](NameKind::check) where it comes in.

use crate::visible::is_command;

/// A kind of name. Each kind narrows the same grammar: names hold letters that are seen as they are, and never what commands a
/// terminal, changes the direction of writing, or cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// An environment: `family/name`, both parts small letters, digits, `-` and `_`, beginning with a letter or digit.
    Environment,
    /// A part of an environment's tasks: small letters, digits and `_`, beginning with a letter or digit.
    Split,
    /// An upstream: small letters, digits, `-` and `_`, beginning with a letter or digit.
    Upstream,
    /// For people: keys, snapshots, workers, tags, tasks, models. Any letters, not beginning or ending with a space.
    Label,
    /// A file that somebody uploaded: a label without slashes.
    File,
    /// A file of a job or a policy: up to 8 parts with `/` between them, of letters, digits, `.`, `_` and `-`.
    Path,
}

/// A name does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError {
    kind: NameKind,
    /// The character that must not be there, where it is one.
    character: Option<char>,
}

/// Bytes of each part of an environment's name, and of a split's.
const WORD_BYTES_MAX: usize = 64;
/// Parts of a path.
const PARTS_MAX: usize = 8;

impl NameKind {
    /// The longest name: of labels in characters, of the others in bytes.
    #[must_use]
    pub const fn length_max(self) -> usize {
        match self {
            Self::Environment => 2 * WORD_BYTES_MAX + 1,
            Self::Split | Self::Upstream => WORD_BYTES_MAX,
            Self::Label | Self::Path => 200,
            Self::File => 255,
        }
    }

    /// Checks a name that somebody gives.
    ///
    /// # Errors
    /// In words that say what is allowed.
    pub fn check(self, name: &str) -> Result<(), NameError> {
        if let Some(character) = name.chars().find(|character| is_unseen(*character)) {
            return Err(NameError { kind: self, character: Some(character) });
        }
        let length = if self == Self::Label { name.chars().count() } else { name.len() };
        let sized = (1..=self.length_max()).contains(&length);
        let fits = match self {
            Self::Environment => {
                name.split_once('/').is_some_and(|(family, name)| is_word(family, b"-_") && is_word(name, b"-_"))
            }
            Self::Split => is_word(name, b"_"),
            Self::Upstream => is_word(name, b"-_"),
            Self::Label => name.trim() == name,
            Self::File => name.trim() == name && !matches!(name, "." | "..") && !name.contains(['/', '\\']),
            Self::Path => name.split('/').count() <= PARTS_MAX && name.split('/').all(is_path_part),
        };
        if sized && fits { Ok(()) } else { Err(NameError { kind: self, character: None }) }
    }

    /// True if a name fits.
    #[must_use]
    pub fn fits(self, name: &str) -> bool {
        self.check(name).is_ok()
    }
}

impl std::fmt::Display for NameError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(character) = self.character {
            return write!(
                formatter,
                "a name must hold no character that cannot be seen, such as U+{:04X}",
                u32::from(character)
            );
        }
        match self.kind {
            NameKind::Environment => write!(
                formatter,
                "an environment must be called family/name, each 1 to {WORD_BYTES_MAX} small letters, digits, - and _, beginning with a \
                 letter or digit"
            ),
            NameKind::Split => {
                write!(
                    formatter,
                    "a split must be 1 to {WORD_BYTES_MAX} small letters, digits and _, beginning with a letter or digit"
                )
            }
            NameKind::Upstream => write!(
                formatter,
                "an upstream must be called by 1 to {WORD_BYTES_MAX} small letters, digits, - and _, beginning with a letter or digit"
            ),
            NameKind::Label => {
                write!(
                    formatter,
                    "a name must have 1 to {} characters, and no space at its beginning or end",
                    self.kind.length_max()
                )
            }
            NameKind::File => write!(
                formatter,
                "a file's name must have 1 to {} bytes without slashes, and no space at its beginning or end",
                self.kind.length_max()
            ),
            NameKind::Path => write!(
                formatter,
                "a file's name must have 1 to {} bytes: up to {PARTS_MAX} parts with / between them, of letters, digits, ., _ and -",
                self.kind.length_max()
            ),
        }
    }
}

impl std::error::Error for NameError {}

/// Characters that nobody sees, or that look like another: commands, and letters without width.
const fn is_unseen(character: char) -> bool {
    is_command(character)
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{2800}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1d173}'..='\u{1d17a}')
}

fn is_word(text: &str, others: &[u8]) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= WORD_BYTES_MAX
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|byte| plain(byte) || others.contains(&byte))
}

fn is_path_part(part: &str) -> bool {
    !part.is_empty()
        && !matches!(part, "." | "..")
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [NameKind; 5] =
        [NameKind::Environment, NameKind::Split, NameKind::Label, NameKind::File, NameKind::Path];

    #[test]
    fn every_kind_takes_what_it_says() {
        for (kind, names) in [
            (NameKind::Environment, &["puzzle/countdown", "app/a_b-c", "dataset/0"][..]),
            (NameKind::Split, &["train", "held_out", "0"]),
            (NameKind::Label, &["trainer", "Zoë's key (2)", "東京", "👩‍🔬", "a/b\\c"]),
            (NameKind::File, &["a.jsonl", "my data (1).jsonl", "日本.csv"]),
            (NameKind::Path, &["a", "policy/model.safetensors", "a/b/c/d/e/f/g/h"]),
        ] {
            for name in names {
                assert_eq!(kind.check(name), Ok(()), "{kind:?} {name}");
            }
        }
    }

    #[test]
    fn every_kind_refuses_the_rest_and_says_why() {
        for (kind, names) in [
            (
                NameKind::Environment,
                &["", "a", "a/", "/a", "a/b/c", "A/b", "a/b@1", "a/b c", "a/-b", "a/../b", "a/é"][..],
            ),
            (NameKind::Split, &["", "Train", "held-out", "_a", "a b"]),
            (NameKind::Label, &["", " ", " a", "a ", "a\u{a0}"]),
            (NameKind::File, &["", ".", "..", "a/b", "a\\b", " a"]),
            (NameKind::Path, &["", "/a", "a//b", "a/../b", "a b", "é", "a/b/c/d/e/f/g/h/i"]),
        ] {
            let long = "a".repeat(kind.length_max() + 1);
            for name in names.iter().copied().chain([long.as_str()]) {
                let error = kind.check(name).expect_err(name);
                assert!(error.to_string().contains("1 to"), "{kind:?} {name}: {error}");
            }
        }
    }

    #[test]
    fn no_name_holds_what_cannot_be_seen() {
        for unseen in [
            '\u{0}',
            '\n',
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{202e}',
            '\u{2066}',
            '\u{200b}',
            '\u{2800}',
            '\u{feff}',
            '\u{e0041}',
            '\u{2028}',
        ] {
            for kind in KINDS {
                let error = kind.check(&format!("a/{unseen}b")).expect_err("it cannot be seen");
                assert_eq!(error.character, Some(unseen));
                let words = error.to_string();
                assert!(!words.contains(unseen) && words.contains("U+"), "{words}");
            }
        }
    }
}
