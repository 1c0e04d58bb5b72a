//! Digests by the rule, edits, pointers, and round trips.

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
    let values =
        [json!(null), json!("null"), json!([]), json!({}), json!(""), json!(0), json!("0"), json!([0]), json!([[]])];
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
    for value in [json!(0), json!(-1), json!(most), json!(-most), json!(most + 1), json!(i64::MIN), json!(u64::MAX)] {
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
    for text in ["", "plain", "a \"b\"", "back\\slash", "line\n", "\u{1}", "\u{7f}", "é", "\u{2028}", "\u{1f600}", "/"]
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
