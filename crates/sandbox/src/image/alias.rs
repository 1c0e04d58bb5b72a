//! Aliases: our images that replace the base images of other people's container files.

use serde::{Deserialize, Serialize};

/// The shipped table.
const SHIPPED: &str = include_str!("../../../../sandboxes/aliases.toml");

/// A table of names. The first line that matches counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aliases {
    /// The lines.
    #[serde(rename = "alias", default)]
    pub aliases: Vec<Alias>,
}

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    /// Names of base images, with their tag; `*` stands for any text.
    pub patterns: Vec<String>,
    /// Our image.
    pub image: String,
    /// Reason why it can stand in.
    pub reason: String,
}

impl Aliases {
    /// Reads a table.
    ///
    /// # Errors
    /// In words, with the place.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// In words, with the file and the place.
    pub fn read(path: &std::path::Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        text.and_then(|text| Self::parse(&text)).map_err(|error| {
            format!("{} is no file of aliases, write one as sandboxes/aliases.toml: {error}", path.display())
        })
    }

    /// The shipped table.
    ///
    /// # Errors
    /// In words, with the place; a test reads it.
    pub fn shipped() -> Result<Self, String> {
        Self::parse(SHIPPED).map_err(|error| format!("sandboxes/aliases.toml cannot be read, correct it: {error}"))
    }

    /// Alias of a base image; `None` where nothing does. Registry, digest and the `library/` of official images (`docker/library/` in a mirror) do not count,
    /// and a name without a tag means `latest`.
    #[must_use]
    pub fn find(&self, base: &str) -> Option<&Alias> {
        let name = normal(base);
        self.aliases.iter().find(|alias| alias.patterns.iter().any(|pattern| matches(pattern, &name)))
    }
}

/// The name and tag of a reference.
fn normal(base: &str) -> String {
    let base = base.split_once('@').map_or(base, |(name, _)| name).trim();
    let (host, rest) = base.split_once('/').unwrap_or(("", base));
    // A first part with a dot or a port is a registry.
    let path = if host.contains(['.', ':']) || host == "localhost" { rest } else { base };
    let mirrored = path.strip_prefix("docker/library/").filter(|_| path != base);
    let path = mirrored.or_else(|| path.strip_prefix("library/")).unwrap_or(path);
    if path.contains(':') { path.to_owned() } else { format!("{path}:latest") }
}

/// True if `text` fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Definition;

    #[test]
    fn the_shipped_table_names_shipped_images_and_gives_reasons() {
        let table = Aliases::shipped().expect("readable");
        for alias in &table.aliases {
            assert!(Definition::shipped(&alias.image).is_ok(), "{}", alias.image);
            assert!(!alias.reason.is_empty() && !alias.patterns.is_empty());
        }
    }

    #[test]
    fn names_are_found_as_people_write_them() {
        let table = Aliases::shipped().expect("readable");
        let image = |base: &str| table.find(base).map(|alias| alias.image.as_str());
        assert_eq!(image("ubuntu"), Some("shell"));
        assert_eq!(image("ubuntu:24.04"), Some("shell"));
        assert_eq!(image("docker.io/library/debian:bookworm-slim"), Some("shell"));
        assert_eq!(image("python:3.12-slim@sha256:00ff"), Some("python"));
        assert_eq!(image("gcc:13"), Some("build"));
        assert_eq!(image("public.ecr.aws/docker/library/ubuntu:24.04@sha256:00ff"), Some("shell"));
        assert_eq!(image("ghcr.io/laude-institute/t-bench/ubuntu-24-04:20250624"), Some("shell"));
        assert_eq!(image("ghcr.io/laude-institute/t-bench/python-3-13:20250620"), Some("python"));
        assert_eq!(image("localhost:5000/golang:1.22"), Some("languages"));
        assert_eq!(image("python:2.7"), None);
        assert_eq!(image("someone/ubuntu:latest"), None);
        assert_eq!(image("nvidia/cuda:12"), None);
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "a", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abc", true),
            ("ab*bc", "abc", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
