//! YAML that people write, read through one instance of the reader instead of a large one of its own for each type.

use serde::de::{DeserializeOwned, Error as _};

/// A fault of a document, and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Error {
    /// The fault, with its place in words where that is known.
    pub detail: String,
    /// Its line and column, from 1.
    pub place: Option<(u64, u64)>,
}

/// Reads a document.
///
/// # Errors
/// When it is no YAML, or does not have the shape that is asked for.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let mut read = None;
    visit(text, &mut |document| {
        read = Some(T::deserialize(document)?);
        Ok(())
    })?;
    read.ok_or_else(|| Error { detail: "there is no document: write one".to_owned(), place: None })
}

type Visit<'a> = &'a mut dyn FnMut(&mut dyn erased_serde::Deserializer<'_>) -> Result<(), erased_serde::Error>;

fn visit(text: &str, visit: Visit<'_>) -> Result<(), Error> {
    let read = serde_saphyr::with_deserializer_from_str(text, |document| {
        visit(&mut <dyn erased_serde::Deserializer<'_>>::erase(document)).map_err(serde_saphyr::Error::custom)
    });
    read.map_err(|error| innermost(&error.without_snippet().to_string()))
}

/// A fault that was found within lists and mappings has the place of each of them behind its own.
fn innermost(text: &str) -> Error {
    let (mut detail, mut place) = (text, None);
    while let Some((before, line, column)) = placed(detail) {
        (detail, place) = (before, Some((line, column)));
    }
    let at = place.map(|(line, column)| format!(" at line {line}, column {column}"));
    Error { detail: format!("{detail}{}", at.unwrap_or_default()), place }
}

fn placed(text: &str) -> Option<(&str, u64, u64)> {
    let (before, place) = text.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(", column ")?;
    Some((before, line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shelf {
        name: String,
        #[serde(default)]
        books: Vec<Book>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Book {
        title: String,
        pages: Option<u32>,
        #[serde(default)]
        kind: Kind,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        #[default]
        Novel,
        Atlas,
    }

    #[test]
    fn a_document_is_read_as_what_is_asked_for() {
        let text = "name: 1.10\nbooks:\n- title: yes\n  pages: 7\n- {title: Maps, kind: atlas}\n";
        let book = |title: &str, pages, kind| Book { title: title.to_owned(), pages, kind };
        let books = vec![book("yes", Some(7), Kind::Novel), book("Maps", None, Kind::Atlas)];
        assert_eq!(read(text), Ok(Shelf { name: "1.10".to_owned(), books }));
    }

    /// The detail and the place are those that the reader itself gives.
    #[test]
    fn a_fault_has_its_own_place_however_deep_it_is() {
        for text in [
            "name: x\nbooks:\n- title: a\n- title: b\n  pages: many\n",
            "name: x\nbooks:\n- title: a\n  colour: red\n",
            "name: x\nbooks:\n- pages: 1\n",
            "name: x\nbooks:\n- title: a\n  kind: comic\n",
            "name: x\nbooks:\n  title: a\n",
            "name: [x]\n",
            "books: []\n",
            "name: x\nname: y\n",
            "name: x\nbooks: [\n",
            "name: x\nbooks:\n- {title: 'a' b}\n",
            "- a\n",
            "",
        ] {
            let direct = serde_saphyr::from_str::<Shelf>(text).expect_err(text);
            let direct = direct.without_snippet();
            let fault = read::<Shelf>(text).expect_err(text);
            assert_eq!(fault.detail, direct.to_string(), "{text}");
            assert_eq!(fault.place, direct.location().map(|at| (at.line(), at.column())), "{text}");
        }
    }
}
