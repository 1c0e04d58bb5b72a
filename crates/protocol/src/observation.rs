//! Observations: what the acting side is shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The observation of an environment after a reset or a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Observation {
    /// Always there, and enough to act on.
    pub text: String,
    /// Typed blocks: `{"type":"table"|"tree"|"screen"|"image",...}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Value>,
    /// Structured form of the observation, as the environment's `observation_schema` says.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
    /// Bytes of `text` that were cut away; the whole is kept at `/v1/episodes/{id}/steps/{seq}`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Observation {
    /// An observation of text alone.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// A chat message in OpenAI's form: `role`, `content`, and `tool_call_id` for a tool's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// The text.
    pub content: String,
    /// Which call a tool's result answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// A message of `role` with `content`.
    #[must_use]
    pub fn new(role: &str, content: impl Into<String>) -> Self {
        Self { role: role.to_owned(), content: content.into(), tool_call_id: None }
    }
}

/// The size that observations are cut to, and the blocks that are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Most bytes of `text`; the cut never splits a character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0))]
    pub text_bytes: Option<u64>,
    /// Which part is kept when text is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
    /// Types of `content` blocks that are wanted; all when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<String>>,
    /// True to get `info.state_hash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_hash: Option<bool>,
}

/// Which part of a text stays when it is cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The beginning.
    #[default]
    Head,
    /// The end.
    Tail,
    /// Half of each.
    Both,
}
