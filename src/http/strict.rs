//! A reader that takes objects for objects alone, each member once. The one underneath would also take the fields of a structure as an
//! array in the right order, keeps the last of several members of one name where an object is free in form, and calls JSON unreadable
//! that has something else in the place of a name from a list.

use std::collections::HashSet;
use std::fmt;

use serde::de::value::{StrDeserializer, StringDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};

/// Around a deserializer or a part of one; everything that comes out of it is wrapped again.
pub(super) struct Strict<T>(pub(super) T);

macro_rules! forward {
    ($($method:ident($($argument:ident: $kind:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($argument,)* Strict(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    forward! {
        deserialize_bool();
        deserialize_i8(); deserialize_i16(); deserialize_i32(); deserialize_i64(); deserialize_i128();
        deserialize_u8(); deserialize_u16(); deserialize_u32(); deserialize_u64(); deserialize_u128();
        deserialize_f32(); deserialize_f64(); deserialize_char(); deserialize_str(); deserialize_string();
        deserialize_bytes(); deserialize_byte_buf(); deserialize_option(); deserialize_unit();
        deserialize_seq(); deserialize_identifier(); deserialize_ignored_any();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_tuple(length: usize);
        deserialize_tuple_struct(name: &'static str, length: usize);
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Free(visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Free(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Strict(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Choice(visitor))
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// Reads one of several forms: a name, or an object with one field.
struct Choice<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Choice<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        self.0.visit_enum(StrDeserializer::new(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Named(fields))
    }
}

/// A form that has content: an object with one field. A form without any is its name, and not an object with null in it.
struct Named<A>(A);

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Named<A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), A::Error> {
        match self.0.next_key_seed(seed)? {
            Some(name) => Ok((name, self)),
            None => Err(A::Error::invalid_type(Unexpected::Map, &"a name, or an object with one field")),
        }
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Named<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, &"the name alone"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Strict(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(mut self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Elements(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(mut self, _: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Fields(visitor))
    }
}

/// The value of a variant with several unnamed values.
struct Elements<V>(usize, V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Elements<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_tuple(self.0, Strict(self.1))
    }
}

/// The value of a variant with fields.
struct Fields<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Fields<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_map(Strict(self.0))
    }
}

macro_rules! visit {
    ($($method:ident($kind:ty);)*) => {$(
        fn $method<E: Error>(self, value: $kind) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )*};
}

/// Around the visitor of an object that is free in form. A structure's own reader looks after its members itself.
struct Free<V>(V);

macro_rules! visitor {
    ($around:ident, $fields:ident => $members:expr) => {
        impl<'de, V: Visitor<'de>> Visitor<'de> for $around<V> {
            type Value = V::Value;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.expecting(formatter)
            }

            visit! {
                visit_bool(bool);
                visit_i8(i8); visit_i16(i16); visit_i32(i32); visit_i64(i64); visit_i128(i128);
                visit_u8(u8); visit_u16(u16); visit_u32(u32); visit_u64(u64); visit_u128(u128);
                visit_f32(f32); visit_f64(f64); visit_char(char);
                visit_str(&str); visit_borrowed_str(&'de str); visit_string(String);
                visit_bytes(&[u8]); visit_borrowed_bytes(&'de [u8]); visit_byte_buf(Vec<u8>);
            }

            fn visit_none<E: Error>(self) -> Result<V::Value, E> {
                self.0.visit_none()
            }

            fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
                self.0.visit_unit()
            }

            fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
                self.0.visit_some(Strict(value))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
                self.0.visit_newtype_struct(Strict(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<V::Value, A::Error> {
                self.0.visit_seq(Strict(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, $fields: A) -> Result<V::Value, A::Error> {
                self.0.visit_map($members)
            }

            fn visit_enum<A: EnumAccess<'de>>(self, choice: A) -> Result<V::Value, A::Error> {
                self.0.visit_enum(Strict(choice))
            }
        }
    };
}

visitor!(Strict, fields => Strict(fields));
visitor!(Free, members => Members { members: Strict(members), names: HashSet::new() });

/// The members of an object that is free in form.
struct Members<A> {
    members: Strict<A>,
    names: HashSet<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Some(name) = self.members.next_key::<String>()? else { return Ok(None) };
        if !self.names.insert(name.clone()) {
            let shown: String = name.chars().take(NAME_CHARACTERS_SHOWN).collect();
            return Err(A::Error::custom(format_args!("the member {shown:?} stands twice in one object")));
        }
        seed.deserialize(StringDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.members.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.members.size_hint()
    }
}

/// Characters of a member's name that an error shows.
const NAME_CHARACTERS_SHOWN: usize = 100;

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Strict(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(Strict(seed))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Strict<A> {
    type Error = A::Error;
    type Variant = Strict<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        self.0.variant_seed(Strict(seed)).map(|(name, content)| (name, Strict(content)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Strict(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(length, Strict(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Strict(visitor))
    }
}

/// Reads the whole text.
pub(super) fn from_slice<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = T::deserialize(Strict(&mut deserializer))?;
    deserializer.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use palestra_protocol::session::CreateSession;
    use palestra_protocol::step::Step;
    use serde_json::error::Category;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn an_array_is_no_object_at_any_depth() {
        for text in [
            r#"["a/b"]"#,
            r#"{"environment":"a/b","limits":[]}"#,
            r#"{"environment":"a/b","limits":[1,2,3,4]}"#,
            r#"{"environment":"a/b","task":["id",null,null,null,null]}"#,
            r#"{"environment":"a/b","record":{}}"#,
            r#"{"environment":"a/b","record":7}"#,
            r#"{"environment":"a/b","record":["sync"]}"#,
        ] {
            let error = from_slice::<CreateSession>(text.as_bytes()).unwrap_err();
            assert_eq!(error.classify(), Category::Data, "{text}: {error}");
        }
        for action in [r#"["a",null,null,null,null]"#, r#"{"calls":[["id","tool",{}]]}"#] {
            assert!(from_slice::<Step>(format!("{{\"action\":{action}}}").as_bytes()).is_err(), "{action}");
        }
    }

    #[test]
    fn a_member_stands_once_in_an_object_at_any_depth() {
        for text in [
            r#"{"environment":"a/b","metadata":{"a":1,"a":1}}"#,
            r#"{"environment":"a/b","metadata":[{"b":{"a":1,"\u0061":2}}]}"#,
            r#"{"environment":"a/b","config":{"x":{"y":1,"y":2}}}"#,
            r#"{"environment":"a/b","environment":"a/b"}"#,
        ] {
            let error = from_slice::<CreateSession>(text.as_bytes()).unwrap_err();
            assert_eq!(error.classify(), Category::Data, "{text}: {error}");
        }
        for action in [
            r#"{"tool":"move","arguments":{"to":1,"to":2}}"#,
            r#"{"calls":[{"id":"a","tool":"move","arguments":{"to":{"x":1,"x":2}}}]}"#,
            r#"{"message":{"role":"assistant","content":"","content":"a"}}"#,
        ] {
            let error = from_slice::<Step>(format!("{{\"action\":{action}}}").as_bytes()).unwrap_err();
            assert!(error.to_string().contains("stands twice in one object"), "{action}: {error}");
        }
    }

    #[test]
    fn a_name_from_a_list_is_no_object() {
        for text in [
            r#"{"environment":"a/b","record":{"sync":null}}"#,
            r#"{"environment":"a/b","record":{"sync":{}}}"#,
            r#"{"environment":"a/b","verify":{}}"#,
        ] {
            let error = from_slice::<CreateSession>(text.as_bytes()).unwrap_err();
            assert_eq!(error.classify(), Category::Data, "{text}: {error}");
        }
        let forms: Vec<Form> = from_slice(br#"["bare", {"one": 1}, {"two": {"a": 1}}, {"pair": [1, 2]}]"#).unwrap();
        assert_eq!(forms, [Form::Bare, Form::One(1), Form::Two { a: 1 }, Form::Pair(1, 2)]);
        for text in [r#"{"one":1,"bare":2}"#, r#"{"two":[1]}"#, r#"{"pair":{"0":1,"1":2}}"#, r#"{"pair":[1]}"#] {
            assert!(from_slice::<Form>(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Form {
        Bare,
        One(u8),
        Two { a: u8 },
        Pair(u8, u8),
    }

    #[test]
    fn what_fits_is_read_as_ever() {
        let text = r#"{"environment":"a/b","limits":{"steps":3},"record":"sync","task":{"index":1,"difficulty":0.5},
            "metadata":[1,-2,0.5,null,{"a":[true]}],"config":{"x":{"y":[]}}}"#;
        let strict: CreateSession = from_slice(text.as_bytes()).unwrap();
        assert_eq!(strict, serde_json::from_str(text).unwrap());
        let pieces: Vec<&RawValue> = from_slice(b"[1, {\"a\": [2]}]").unwrap();
        assert_eq!(pieces[1].get(), "{\"a\": [2]}");
    }
}
