//! Definitions of images as data: Debian packages, each group with its reason.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The definitions that are shipped, by name.
const SHIPPED: [(&str, &str); 4] = [
    ("shell", include_str!("../../../../sandboxes/images/shell.toml")),
    ("python", include_str!("../../../../sandboxes/images/python.toml")),
    ("build", include_str!("../../../../sandboxes/images/build.toml")),
    ("languages", include_str!("../../../../sandboxes/images/languages.toml")),
];
/// Largest depth of includes.
const INCLUDES_MAX: usize = 8;

/// Definition of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Purpose.
    pub description: String,
    /// Debian release.
    pub suite: String,
    /// Where commands start; made for the user `agent`.
    pub folder: String,
    /// Shipped definitions whose packages it has too.
    #[serde(default)]
    pub include: Vec<String>,
    /// Environment of every command.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Packages beyond those that every Debian has.
    #[serde(default)]
    pub packages: Vec<Packages>,
}

/// Packages that are there for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packages {
    /// The reason.
    pub reason: String,
    /// Names of Debian packages.
    pub names: Vec<String>,
}

impl Definition {
    /// Reads one.
    ///
    /// # Errors
    /// In words, with the place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let definition: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let word = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_alphanumeric())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.:".contains(&byte))
        };
        if let Some(name) = definition.own_packages().find(|name| !word(name)) {
            return Err(format!("{name:?} is no name of a package: write one as it is in Debian"));
        }
        if !word(&definition.suite) {
            return Err(format!("{:?} is no name of a Debian release: write one as bookworm", definition.suite));
        }
        let steps = definition.folder.strip_prefix('/').map(|rest| rest.split('/'));
        if !steps.is_some_and(|mut steps| steps.all(|step| !step.is_empty() && step != "." && step != "..")) {
            return Err(format!("folder {:?} must be an absolute path below the root", definition.folder));
        }
        Ok(definition)
    }

    /// The shipped one of a name.
    ///
    /// # Errors
    /// In words, with the names that there are.
    pub fn shipped(name: &str) -> Result<Self, String> {
        let found = SHIPPED.iter().find(|(other, _)| *other == name);
        let (_, text) = found.ok_or_else(|| {
            let names: Vec<&str> = Self::shipped_names().collect();
            format!("there is no definition of an image {name:?}: choose one of {}", names.join(", "))
        })?;
        Self::parse(text).map_err(|error| format!("sandboxes/images/{name}.toml cannot be read, correct it: {error}"))
    }

    /// The names of those that are shipped.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// Every package that it names, those of included definitions too.
    ///
    /// # Errors
    /// When a definition includes one that is not there, or itself.
    pub fn all_packages(&self) -> Result<BTreeSet<String>, String> {
        self.packages_below(INCLUDES_MAX)
    }

    fn packages_below(&self, depth: usize) -> Result<BTreeSet<String>, String> {
        let mut names: BTreeSet<String> = self.own_packages().map(str::to_owned).collect();
        let deeper = depth
            .checked_sub(1)
            .ok_or("definitions include each other too deep, or in a circle: remove an inclusion")?;
        for other in &self.include {
            names.extend(Self::shipped(other)?.packages_below(deeper)?);
        }
        Ok(names)
    }

    fn own_packages(&self) -> impl Iterator<Item = &str> {
        self.packages.iter().flat_map(|group| group.names.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_definition_can_be_read_and_says_why_each_package_is_there() {
        for name in Definition::shipped_names() {
            let definition = Definition::shipped(name).expect("readable");
            assert!(definition.packages.iter().all(|group| !group.reason.is_empty()), "{name}");
            assert!(definition.env.contains_key("PATH"), "{name}");
            let packages = definition.all_packages().expect("resolved");
            assert!(packages.contains("bash") && packages.contains("git"), "{name}");
        }
        let build = Definition::shipped("build").expect("readable").all_packages().expect("resolved");
        assert!(build.contains("cmake") && build.contains("python3-pytest"));
    }

    #[test]
    fn names_like_options_or_paths_are_refused() {
        let text = |packages: &str, folder: &str| {
            format!(
                "description = \"d\"\nsuite = \"bookworm\"\nfolder = {folder:?}\n\
                 [[packages]]\nreason = \"r\"\nnames = [{packages:?}]\n"
            )
        };
        assert!(Definition::parse(&text("bash", "/home/agent")).is_ok());
        for package in ["--option", "a b", "a,b", "", "../x", "bash;reboot"] {
            assert!(Definition::parse(&text(package, "/home/agent")).is_err(), "{package}");
        }
        for folder in ["home", "/", "", "/a/../b", "/a//b", "/a/"] {
            assert!(Definition::parse(&text("bash", folder)).is_err(), "{folder}");
        }
        assert!(Definition::parse("unknown = 1").is_err());
    }

    #[test]
    fn a_circle_of_includes_ends() {
        let mut definition = Definition::shipped("shell").expect("readable");
        definition.include = vec!["none".to_owned()];
        assert!(definition.all_packages().expect_err("missing").contains("none"));
        assert!(definition.packages_below(0).is_err());
    }
}
