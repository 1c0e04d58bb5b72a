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
    /// What was hashed before the last edits.
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

    /// Whether this is the same value, looked at only as far as the two do not share their structure.
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
mod tests {
    use proptest::prelude::{Strategy, any, proptest};
    use serde_json::json;

    use super::*;

    /// Worked out apart, with a SHA-256 of another language over the rule in this file's first lines.
    #[test]
    fn digests_are_those_of_the_rule() {
        for (value, digest) in [
            (json!(null), "cd0730e15ec92dae49fd0542076e0ca809c3d7fb4a533e817449b268bc099529"),
            (json!([]), "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
            (json!({}), "65c74c15a686187bb6bbf9958f494fc6b80068034a659a9ad44991b08c58f2d2"),
            (json!("é\n"), "0c023808dcd002b8902dd7ea26698e4e831cbbf3e3d1f50d4a759a31a0c90050"),
            (json!(1.0), "e8bc163c82eee18733288c7d4ac636db3a6deb013ef2d37b68322be20edc45cc"),
            (json!(1), "e8bc163c82eee18733288c7d4ac636db3a6deb013ef2d37b68322be20edc45cc"),
            (
                json!({"b": [1, true, null, "x"], "a": {"c": 0.5}}),
                "3f0800581559daa00b7340464461d32b24ba6ca1770ae2b7db8feca6d1845f7b",
            ),
        ] {
            assert_eq!(Digest::of_json(&value).to_string(), format!("sha256:{digest}"), "{value}");
        }
    }

    /// Worked out apart, as above: 33 members are a branch of leaves, 2,000 have three levels of branches in places.
    #[test]
    fn digests_of_large_objects_are_those_of_the_rule() {
        for (count, digest) in [
            (32, "4f3bcaccce0c739a591e8a33ff799be2ab6a5ed27d90fb3c4e236a54d554c6fc"),
            (33, "e4952b4dd2fbaac4f04ee8b4d07bb81c09c30e9fc1ca63545dd0e28c52450a58"),
            (100, "e9df53ff121c5da3004cc1619f68b10f12dd8616e6693ad6793c218e72a65439"),
            (2_000, "cd361b39769eea8cb7987fb38cfae1575b4c154763f2a002a816a44bee1630e1"),
        ] {
            let members: Map<String, Value> = (0..count).map(|number| (format!("k{number}"), json!(number))).collect();
            assert_eq!(State::from(members).digest().to_string(), format!("sha256:{digest}"), "{count}");
        }
    }

    #[test]
    fn values_of_other_types_have_other_digests() {
        let values = [
            json!(null),
            json!("null"),
            json!([]),
            json!({}),
            json!(""),
            json!(0),
            json!("0"),
            json!([0]),
            json!([[]]),
        ];
        let digests: std::collections::HashSet<Digest> = values.iter().map(Digest::of_json).collect();
        assert_eq!(digests.len(), values.len());
    }

    #[test]
    fn an_edit_forgets_the_digest_and_leaves_copies_alone() {
        let mut state = State::from(json!({"a": [1, 2]}));
        let (copy, before) = (state.clone(), state.digest());
        let State::Object(object) = &mut state else { panic!("an object") };
        let Some(State::Array(array)) = Arc::make_mut(object).members_mut().get_mut("a") else { panic!("an array") };
        Arc::make_mut(array).elements_mut().push_back(State::from(json!(3)));
        assert_eq!(state.digest(), Digest::of_json(&json!({"a": [1, 2, 3]})));
        assert_eq!((copy.digest(), copy.to_value()), (before, json!({"a": [1, 2]})));
    }

    #[test]
    fn pointers_reach_members_and_elements() {
        let state = State::from(json!({"a/b": [{"~": 7}], "": 1}));
        let at = |pointer: &str| state.pointer(pointer).map(State::to_value);
        assert_eq!(at("/a~1b/0/~0"), Some(json!(7)));
        assert_eq!(at("/"), Some(json!(1)));
        assert_eq!(at(""), Some(state.to_value()));
        for pointer in ["a", "/a~1b/00", "/a~1b/1", "/a~1b/-1", "/x", "/a~1b/0/~0/x"] {
            assert_eq!(at(pointer), None, "{pointer}");
        }
    }

    #[test]
    fn whole_and_broken_numbers_have_the_digest_of_their_canonical_form() {
        let most = (1_i64 << 53) - 1;
        for value in [json!(0), json!(-1), json!(most), json!(-most), json!(most + 1), json!(i64::MIN), json!(u64::MAX)]
        {
            let Value::Number(whole) = value else { panic!("a number") };
            assert_eq!(number(&whole), scalar(&canonical(&whole)), "{whole}");
        }
        for value in [-0.0, 0.5, 1.0, 1e21, 1e-7] {
            let broken = Number::from_f64(value).expect("it is finite");
            assert_eq!(number(&broken), scalar(&canonical(&broken)), "{broken}");
        }
    }

    #[test]
    fn plain_and_escaped_strings_have_the_digest_of_their_canonical_form() {
        for text in
            ["", "plain", "a \"b\"", "back\\slash", "line\n", "\u{1}", "\u{7f}", "é", "\u{2028}", "\u{1f600}", "/"]
        {
            assert_eq!(string(text), scalar(&canonical(text)), "{text:?}");
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = proptest::prop_oneof![
            proptest::strategy::Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            proptest::prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::vec((".{0,4}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_order_of_members_does_not_matter(members in proptest::collection::btree_map(".{0,4}", json_value(), 0..8)) {
            let forward = State::from(Map::from_iter(members.clone()));
            let mut object = Object::default();
            for (key, value) in members.into_iter().rev() {
                object.members_mut().insert(key.into(), State::from(value));
            }
            assert_eq!(State::Object(Arc::new(object)).digest(), forward.digest());
        }

        /// Writes and removals in any order, hashed in between or not, come to the digest of what is there at the end.
        #[test]
        fn the_history_of_an_object_does_not_matter(
            edits in proptest::collection::vec((0_u16..400, proptest::option::weighted(0.7, 0_u8..4), any::<bool>()), 0..600),
            shrinks in any::<bool>(),
        ) {
            let mut object = Object::default();
            let removals = (0..400).filter(|_| shrinks).map(|key| (key, None, key % 16 == 0));
            for (key, value, hashes) in edits.into_iter().chain(removals.take(390)) {
                let key = format!("key {key}");
                match value {
                    Some(value) => object.members_mut().insert(key.into(), State::from(json!([value]))),
                    None => object.members_mut().remove(key.as_str()),
                };
                if hashes {
                    let copy = object.clone();
                    assert_eq!(copy.digest(), object.digest());
                }
            }
            let state = State::Object(Arc::new(object));
            assert_eq!(state.digest(), Digest::of_json(&state.to_value()));
        }

        #[test]
        fn a_value_survives_the_round_trip(value in json_value()) {
            assert_eq!(State::from(value.clone()).to_value(), value);
        }
    }
}
