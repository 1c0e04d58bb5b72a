//! Upstreams: model endpoints of a tenant, which its sessions call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::time::Timestamp;

/// The protocol that an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// OpenAI's `chat/completions` and `responses`, which vLLM, SGLang and llama.cpp speak too.
    Openai,
    /// Anthropic's `messages`.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::Openai, Self::Anthropic, Self::Gemini];

    /// As it is written in JSON, in paths and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

/// Price of tokens, in whatever unit the tenant counts costs in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of a million tokens that a model reads.
    #[cfg_attr(feature = "openapi", schema(minimum = 0.0))]
    pub input_per_million: f64,
    /// Of a million tokens that it writes.
    #[cfg_attr(feature = "openapi", schema(minimum = 0.0))]
    pub output_per_million: f64,
}

impl Price {
    /// The cost of a call with these numbers of tokens.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "2^53 tokens cost more than anybody has")]
    pub fn of(self, input: u64, output: u64) -> f64 {
        (input as f64).mul_add(self.input_per_million, output as f64 * self.output_per_million) / 1e6
    }
}

/// Most that a tenant spends on an upstream: once one of them is reached, no further call begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub calls: Option<u64>,
    /// Tokens that they read and write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub tokens: Option<u64>,
    /// Their cost, by the upstream's price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0.0))]
    pub cost: Option<f64>,
}

/// Spent by calls that are over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Spent {
    /// Calls.
    pub calls: u64,
    /// Tokens that they read and wrote.
    pub tokens: u64,
    /// Their cost.
    pub cost: f64,
}

/// Makes an upstream, or replaces the one of this name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PutUpstream {
    /// The protocol that it speaks.
    pub dialect: Dialect,
    /// Address below which its calls are, such as `https://api.openai.com/v1` or `http://127.0.0.1:8000/v1`.
    #[cfg_attr(feature = "openapi", schema(max_length = 2_048))]
    pub url: String,
    /// Its key, sent with each call and shown never again; what was stored stays where it is left out and the address is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 4_096))]
    pub key: Option<String>,
    /// 1 to 256 models that sessions may call, by the name that they use: the name that the upstream knows. `*` stands for every name that no
    /// upstream has, for agents whose model cannot be chosen.
    pub models: BTreeMap<String, String>,
    /// Fields that are added to the body of each call, such as those that make an engine return token ids.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub extra: Map<String, Value>,
    /// The price of its tokens; calls cost nothing where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Most that may be spent on it, counted from when it was put: put it again to begin anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Calls that may run at once, further ones wait; no limit where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub calls_at_once: Option<u32>,
    /// Longest wait for the next part of an answer, in milliseconds; 600,000 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1_000, maximum = 3_600_000))]
    pub silence_max_ms: Option<u64>,
}

/// An upstream, without its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Upstream {
    /// Its name in its tenant.
    pub name: String,
    /// The protocol that it speaks.
    pub dialect: Dialect,
    /// Address below which its calls are.
    pub url: String,
    /// True if a key is stored.
    pub has_key: bool,
    /// Models that sessions may call, by the name that they use.
    pub models: BTreeMap<String, String>,
    /// Fields that are added to the body of each call.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub extra: Map<String, Value>,
    /// The price of its tokens.
    pub price: Option<Price>,
    /// Most that may be spent on it.
    pub budget: Option<Budget>,
    /// Spent on it since it was put.
    pub spent: Spent,
    /// Calls that may run at once.
    pub calls_at_once: Option<u32>,
    /// Longest wait for the next part of an answer, in milliseconds.
    pub silence_max_ms: u64,
    /// When it was made or replaced last.
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_what_its_tokens_do() {
        let price = Price { input_per_million: 2.0, output_per_million: 10.0 };
        assert!((price.of(500_000, 100_000) - 2.0).abs() < 1e-12);
        assert!(price.of(0, 0).abs() < 1e-12);
    }

    #[test]
    fn dialects_are_written_as_they_are_named() {
        for dialect in Dialect::ALL {
            assert_eq!(serde_json::to_value(dialect).unwrap(), dialect.as_str());
        }
    }
}
