//! Why a configuration cannot be used, and where the setting at fault comes from.

use std::fmt;
use std::path::PathBuf;

use figment::error::Kind;

/// Settings whose values are never repeated.
const SECRETS: [&str; 3] = ["secret", "admin_key", "database_url"];

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The named file is not there.
    #[error("there is no settings file {}: create it, or name another with --config", .0.display())]
    NoFile(PathBuf),
    /// The file is no TOML, a value has the wrong type, or a key is unknown; every fault in words.
    #[error("{0}")]
    Unreadable(String),
    /// A value is out of its range.
    #[error("setting {name}{origin}: {detail}")]
    Invalid {
        /// Which one, as in the file.
        name: &'static str,
        /// Where it comes from.
        origin: Origin,
        /// The fault, and what would be right.
        detail: String,
    },
}

/// Where a setting comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Origin {
    /// From the program itself.
    #[default]
    Unknown,
    /// From a flag, or from the environment variable of the same name.
    Flag(&'static str),
    /// From a settings file.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => Ok(()),
            Self::Flag(name) => {
                write!(f, " (set by --{} or PALESTRA_{})", name.replace('_', "-"), name.to_uppercase())
            }
            Self::File(path) => write!(f, " (set in {})", path.display()),
        }
    }
}

impl ConfigError {
    /// The same with the place that the setting comes from.
    pub(super) fn located_by(self, find: impl FnOnce(&'static str) -> Origin) -> Self {
        match self {
            Self::Invalid { name, detail, .. } => Self::Invalid { name, origin: find(name), detail },
            other => other,
        }
    }
}

impl From<figment::Error> for ConfigError {
    fn from(error: figment::Error) -> Self {
        let faults: Vec<String> = error.into_iter().map(|fault| describe(&fault)).collect();
        Self::Unreadable(faults.join("; "))
    }
}

/// One fault, by the name that the setting has in the file.
fn describe(fault: &figment::Error) -> String {
    let file = fault.metadata.as_ref().and_then(|metadata| metadata.source.as_ref()?.file_path());
    let origin = file.map_or(Origin::Unknown, |file| Origin::File(file.to_owned()));
    let name = fault.path.join(".");
    match &fault.kind {
        Kind::UnknownField(unknown, _) => {
            format!(
                "there is no setting {unknown}{origin}: `palestra serve --help` lists them, with - where the file has _"
            )
        }
        _ if SECRETS.contains(&name.as_str()) => format!("setting {name}{origin}: must be a text in quotation marks"),
        kind if name.is_empty() => format!("the settings cannot be read{origin}: {kind}"),
        kind => format!("setting {name}{origin}: {kind}"),
    }
}
