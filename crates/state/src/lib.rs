//! Persistent JSON state: copies share their structure, and the Merkle hash is cached per container.
//!
//! The hash is part of stored data: scalar = SHA-256 of its tag and RFC 8785 form, array = hash of its children's digests,
//! object = hash of its sorted (key, digest) pairs, each tagged by type. A key is hashed as the string that it is.
//!
//! An object of more than 32 members is a branch: the hash of the digests of 16 parts, by the first four bits of the members'
//! hashed keys. A part of more than 32 members is a branch again, by the next four bits; another is the hash of its pairs in the
//! order of their hashed keys. So a hash after an edit costs what was edited, and neither order nor history matters.

pub mod json;
mod parts;
pub mod secrets;

use std::fmt;
use std::sync::{Arc, OnceLock};

use imbl::ordmap::DiffItem;
use imbl::{OrdMap, Vector};
use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

use parts::{Part, TOGETHER_MAX};

/// Whole numbers stay within ±(2^53 - 1), so that every JSON implementation carries them exactly.
pub const WHOLE_MAX: u64 = (1 << 53) - 1;

/// A SHA-256 digest, written `sha256:<hex>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of a JSON value's canonical form, as a state.
    #[must_use]
    pub fn of_json(value: &Value) -> Self {
        State::from(value.clone()).digest()
    }

    /// The bare 32 bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0u8; 64];
        hex::encode_to_slice(self.0, &mut buffer).map_err(|_| fmt::Error)?;
        f.write_str("sha256:")?;
        f.write_str(std::str::from_utf8(&buffer).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A JSON value that is cheap to copy, to edit in place and to hash again after an edit.
#[derive(Debug, Clone)]
pub enum State {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(Arc<str>),
    /// An array.
    Array(Arc<Array>),
    /// An object; keys are ordered.
    Object(Arc<Object>),
}

/// The elements of an array, with its digest once it was asked for.
#[derive(Debug, Clone, Default)]
pub struct Array {
    elements: Vector<State>,
    digest: OnceLock<Digest>,
}

/// The members of an object, with its digest once it was asked for.
#[derive(Debug, Clone, Default)]
pub struct Object {
    members: OrdMap<Arc<str>, State>,
    digest: OnceLock<Hashed>,
    /// The members as hashed before the last edits.
    before: Option<Arc<Whole>>,
}

/// An object's digest.
#[derive(Debug, Clone)]
enum Hashed {
    Small(Digest),
    Large(Arc<Whole>),
}

/// The members of a large object as they were hashed.
#[derive(Debug)]
struct Whole {
    members: OrdMap<Arc<str>, State>,
    parts: Part,
}

impl Array {
    /// The elements, to read.
    #[must_use]
    pub const fn elements(&self) -> &Vector<State> {
        &self.elements
    }

    /// The elements, to write; forgets the digest.
    pub fn elements_mut(&mut self) -> &mut Vector<State> {
        self.digest = OnceLock::new();
        &mut self.elements
    }
}

impl Object {
    /// The members, to read.
    #[must_use]
    pub const fn members(&self) -> &OrdMap<Arc<str>, State> {
        &self.members
    }

    /// The members, to write; forgets the digest.
    pub fn members_mut(&mut self) -> &mut OrdMap<Arc<str>, State> {
        if let Some(Hashed::Large(whole)) = self.digest.take() {
            self.before = Some(whole);
        }
        &mut self.members
    }

    fn digest(&self) -> Digest {
        match self.digest.get_or_init(|| self.hash()) {
            Hashed::Small(digest) => *digest,
            Hashed::Large(whole) => whole.parts.digest(),
        }
    }

    fn hash(&self) -> Hashed {
        let pairs = self.members.iter().map(|(key, value)| (string(key), value.digest()));
        if self.members.len() <= TOGETHER_MAX {
            let mut hasher = Sha256::new_with_prefix([TAG_OBJECT]);
            for (key, value) in pairs {
                hasher.update(key.0);
                hasher.update(value.0);
            }
            return Hashed::Small(Digest(hasher.finalize().into()));
        }
        let parts = match &self.before {
            None => pairs.collect(),
            Some(before) => {
                let mut parts = before.parts.clone();
                for item in before.members.diff(&self.members) {
                    match item {
                        DiffItem::Add(key, value) | DiffItem::Update { new: (key, value), .. } => {
                            parts.insert(string(key), value.digest());
                        }
                        DiffItem::Remove(key, _) => parts.remove(&string(key)),
                    }
                }
                parts
            }
        };
        Hashed::Large(Arc::new(Whole { members: self.members.clone(), parts }))
    }
}

const TAG_SCALAR: u8 = b's';
const TAG_ARRAY: u8 = b'a';
const TAG_OBJECT: u8 = b'o';

impl State {
    /// The Merkle digest of this value.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self {
            Self::Null => scalar(b"null"),
            Self::Bool(true) => scalar(b"true"),
            Self::Bool(false) => scalar(b"false"),
            Self::Number(value) => number(value),
            Self::String(text) => string(text),
            Self::Array(array) => *array.digest.get_or_init(|| {
                let mut hasher = Sha256::new_with_prefix([TAG_ARRAY]);
                for element in &array.elements {
                    hasher.update(element.digest().0);
                }
                Digest(hasher.finalize().into())
            }),
            Self::Object(object) => object.digest(),
        }
    }

    /// The value at a JSON Pointer (RFC 6901), if there is one.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |state, token| {
            let token = token.replace("~1", "/").replace("~0", "~");
            match state {
                Self::Object(object) => object.members.get(token.as_str()),
                // An index has one spelling, without leading zeros.
                Self::Array(array) => token
                    .parse::<usize>()
                    .ok()
                    .filter(|index| index.to_string() == token)
                    .and_then(|index| array.elements.get(index)),
                _ => None,
            }
        })
    }

    /// The member of an object, if this is one and has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(object) => object.members.get(key),
            _ => None,
        }
    }

    /// The string, if this is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// True if this is the same value, looked at only as far as the two do not share their structure.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(left), Self::Object(right)) => {
                Arc::ptr_eq(left, right)
                    || left.members.len() == right.members.len()
                        && left
                            .members
                            .iter()
                            .zip(&right.members)
                            .all(|((a, left), (b, right))| a == b && left.same(right))
            }
            (Self::Array(left), Self::Array(right)) => {
                Arc::ptr_eq(left, right)
                    || left.elements.len() == right.elements.len()
                        && left.elements.iter().zip(&right.elements).all(|(left, right)| left.same(right))
            }
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::String(left), Self::String(right)) => left == right,
            (Self::Number(_), Self::Number(_)) => self == other,
            _ => false,
        }
    }

    /// As a plain JSON value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.as_ref().to_owned()),
            Self::Array(array) => Value::Array(array.elements.iter().map(Self::to_value).collect()),
            Self::Object(object) => Value::Object(
                object.members.iter().map(|(key, value)| (key.as_ref().to_owned(), value.to_value())).collect(),
            ),
        }
    }
}

fn scalar(canonical: &[u8]) -> Digest {
    let mut hasher = Sha256::new_with_prefix([TAG_SCALAR]);
    hasher.update(canonical);
    Digest(hasher.finalize().into())
}

/// RFC 8785 form of a scalar. Every scalar has one: JSON numbers that parsed are finite.
fn canonical<T: Serialize + ?Sized>(scalar: &T) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(&scalar).unwrap_or_default()
}

/// The digest of a number. A whole one that every implementation carries exactly is its own canonical form.
fn number(number: &Number) -> Digest {
    match number.as_i64().filter(|whole| whole.unsigned_abs() <= WHOLE_MAX) {
        Some(whole) => scalar(whole.to_string().as_bytes()),
        None => scalar(&canonical(number)),
    }
}

/// The digest of a string. Nearly all strings are their own canonical form, in quotation marks.
fn string(text: &str) -> Digest {
    let plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    if !plain {
        return scalar(&canonical(text));
    }
    let mut hasher = Sha256::new_with_prefix([TAG_SCALAR, b'"']);
    hasher.update(text);
    hasher.update(b"\"");
    Digest(hasher.finalize().into())
}

impl From<Value> for State {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(flag),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::String(text.into()),
            Value::Array(elements) => Self::Array(Arc::new(Array {
                elements: elements.into_iter().map(Self::from).collect(),
                digest: OnceLock::new(),
            })),
            Value::Object(members) => Self::from(members),
        }
    }
}

impl From<Map<String, Value>> for State {
    fn from(members: Map<String, Value>) -> Self {
        Self::Object(Arc::new(Object {
            members: members.into_iter().map(|(key, value)| (Arc::from(key), Self::from(value))).collect(),
            digest: OnceLock::new(),
            before: None,
        }))
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(array) => serializer.collect_seq(array.elements.iter()),
            Self::Object(object) => {
                serializer.collect_map(object.members.iter().map(|(key, value)| (key.as_ref(), value)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
