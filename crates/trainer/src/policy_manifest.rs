//! Manifest of a policy, beside its weights: a model that was trained on plain text is not shown tools when it is served.

use std::io::ErrorKind;
use std::path::Path;

use palestra_protocol::spec::train::ToolFormat;
use serde::{Deserialize, Serialize};

use crate::failure::TrainerError;

/// The file in a policy's folder.
const FILE: &str = "palestra.json";

/// Settings that a policy was trained with and has to be sampled with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PolicyManifest {
    /// Notation of actions in its text.
    pub tool_format: ToolFormat,
    /// Texts of the actions that a policy over vectors chooses from, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
}

impl PolicyManifest {
    /// Writes them into a policy's folder.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), TrainerError> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| TrainerError::Internal(error.to_string()))?;
        std::fs::write(folder.join(FILE), text).map_err(TrainerError::io(FILE))
    }

    /// Those of a folder; the usual ones where it says nothing, as folders from elsewhere do.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn load(folder: &Path) -> Result<Self, TrainerError> {
        match std::fs::read(folder.join(FILE)) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|error| TrainerError::BadCheckpoint(format!("{FILE} cannot be read: {error}"))),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(Self::default()),
            Err(error) => Err(TrainerError::io(FILE)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_travel_with_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(PolicyManifest::load(folder.path()).unwrap(), PolicyManifest::default());
        let manifest = PolicyManifest { tool_format: ToolFormat::Text, actions: vec!["left".to_owned()] };
        manifest.save(folder.path()).unwrap();
        assert_eq!(PolicyManifest::load(folder.path()).unwrap(), manifest);
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(PolicyManifest::load(folder.path()).is_err());
    }
}
