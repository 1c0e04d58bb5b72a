//! Files that jobs learn from and leave, in the form that clients of OpenAI read.

use serde::{Deserialize, Serialize};

use crate::id::FileId;

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct File {
    /// The file.
    pub id: FileId,
    /// The kind of object.
    pub object: FileObject,
    /// Its size.
    pub bytes: u64,
    /// When it was kept, in seconds since 1970.
    pub created_at: i64,
    /// Its name, as it was uploaded.
    pub filename: String,
    /// Its purpose.
    pub purpose: FilePurpose,
    /// Every file that is listed is whole.
    pub status: FileStatus,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

/// The kind of object that a file is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileObject {
    /// A file.
    #[default]
    File,
}

/// The state of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// It is whole and can be used.
    #[default]
    Processed,
}

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FilePurpose {
    /// Jobs learn from it.
    #[serde(rename = "fine-tune")]
    FineTune,
    /// A job left it; none is uploaded as such.
    #[serde(rename = "fine-tune-results")]
    FineTuneResults,
    /// It is kept, and nothing else.
    #[serde(rename = "user_data")]
    UserData,
}

impl FilePurpose {
    /// Every purpose.
    pub const ALL: [Self; 3] = [Self::FineTune, Self::FineTuneResults, Self::UserData];
    /// Those that files can be uploaded for.
    pub const UPLOADED: [Self; 2] = [Self::FineTune, Self::UserData];

    /// As it is written in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FineTune => "fine-tune",
            Self::FineTuneResults => "fine-tune-results",
            Self::UserData => "user_data",
        }
    }
}

/// A page of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileList {
    /// The kind of object.
    pub object: ListObject,
    /// The files of this page.
    pub data: Vec<File>,
    /// True if more come behind the last one.
    pub has_more: bool,
}

/// The kind of object that a list is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ListObject {
    /// A list.
    #[default]
    List,
}

/// A file that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileDeleted {
    /// The file that it was.
    pub id: FileId,
    /// The kind of object.
    pub object: FileObject,
    /// Always true.
    pub deleted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purpose_is_written_in_json_as_in_the_store() {
        for purpose in FilePurpose::ALL {
            assert_eq!(serde_json::to_value(purpose).unwrap(), purpose.as_str());
        }
        assert!(!FilePurpose::UPLOADED.contains(&FilePurpose::FineTuneResults));
    }
}
