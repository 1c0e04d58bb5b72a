//! The stream: frames of `GET /v1/stream` and items of the batch calls.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::episode::Event;
use crate::id::{EpisodeId, SessionId};
use crate::observation::Observe;
use crate::problem::Problem;
use crate::step::Step;

/// The subprotocol of the stream.
pub const SUBPROTOCOL: &str = "palestra.json";

/// Header of the answer that opens a stream: bytes of the largest frame that the server reads.
pub const FRAME_BYTES_MAX: &str = "palestra-frame-bytes-max";
/// Subprotocols with this prefix carry a credential, for clients that cannot set headers.
pub const BEARER_SUBPROTOCOL_PREFIX: &str = "bearer.";
/// The most items in one batch call.
pub const BATCH_ITEMS_MAX: usize = 1_024;

/// A batch of items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Batch<T> {
    /// At most 1,024.
    #[cfg_attr(feature = "openapi", schema(max_items = 1024))]
    pub items: Vec<T>,
}

/// One item of a batch: the body of the single call, beside which stand `session` and `key` where the call has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Item<T> {
    /// The session, for calls on one.
    pub session: Option<SessionId>,
    /// As `Idempotency-Key`.
    pub key: Option<String>,
    /// The body of the single call.
    pub body: T,
}

impl<T: Serialize> Serialize for Item<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error;
        let Value::Object(mut fields) = serde_json::to_value(&self.body).map_err(S::Error::custom)? else {
            return Err(S::Error::custom("the body of an item is an object"));
        };
        if let Some(session) = self.session {
            fields.insert("session".to_owned(), Value::String(session.to_string()));
        }
        if let Some(key) = &self.key {
            fields.insert("key".to_owned(), Value::String(key.clone()));
        }
        fields.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut fields = Map::<String, Value>::deserialize(deserializer)?;
        let session = fields.remove("session").map(serde_json::from_value).transpose().map_err(D::Error::custom)?;
        let key = fields.remove("key").map(serde_json::from_value).transpose().map_err(D::Error::custom)?;
        let body = serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)?;
        Ok(Self { session, key, body })
    }
}

#[cfg(feature = "openapi")]
impl<T: utoipa::PartialSchema> utoipa::PartialSchema for Item<T> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::RefOr;
        use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
        let RefOr::T(Schema::Object(mut object)) = T::schema() else { return T::schema() };
        let session = <SessionId as utoipa::PartialSchema>::schema();
        object.properties.insert("session".to_owned(), session);
        let key = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Null]));
        object.properties.insert("key".to_owned(), key.into());
        RefOr::T(Schema::Object(object))
    }
}

#[cfg(feature = "openapi")]
impl<T: utoipa::ToSchema> utoipa::ToSchema for Item<T> {
    fn name() -> std::borrow::Cow<'static, str> {
        format!("{}Item", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
        T::schemas(schemas);
    }
}

/// One step of a batch: a step with its session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StepItem {
    /// The session.
    pub session: SessionId,
    /// As in [`Step`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub seq: Option<u64>,
    /// As in [`Step`].
    pub action: Action,
    /// As in [`Step`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<EpisodeId>,
    /// As in [`Step`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<Observe>,
    /// As in [`Step`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl StepItem {
    /// The session and the step.
    #[must_use]
    pub fn split(self) -> (SessionId, Step) {
        let Self { session, seq, action, episode, observe, meta } = self;
        (session, Step { seq, action, episode, observe, meta })
    }
}

/// The outcome of one item or frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome<T> {
    /// It worked.
    Ok(T),
    /// It did not.
    Error(Problem),
}

/// A frame that the server sends over the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reply<T> {
    /// The answer to the frame with this id; null when the frame's id could not be read.
    Answer {
        /// The frame's id.
        id: Option<u64>,
        /// The outcome.
        #[serde(flatten)]
        outcome: Outcome<T>,
    },
    /// Something that happened in a session that this socket subscribed to.
    Event {
        /// The event.
        event: Box<Event>,
    },
}
