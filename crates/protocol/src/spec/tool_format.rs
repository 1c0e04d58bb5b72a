//! The form of actions in the text of a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form of actions in the text of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolFormat {
    /// Tool calls where the environment has tools, else text. A chat template that has no place for tools shows them in the system message.
    #[default]
    Auto,
    /// `<tool_call>{"name":..,"arguments":{..}}</tool_call>`.
    Json,
    /// The text itself is the action, and tools are not shown.
    Text,
}

impl ToolFormat {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Json => "json",
            Self::Text => "text",
        }
    }

    /// The tools that a model is shown, of those that an environment offers.
    #[must_use]
    pub const fn shown(self, offered: &[Value]) -> &[Value] {
        match self {
            Self::Auto | Self::Json => offered,
            Self::Text => &[],
        }
    }
}
