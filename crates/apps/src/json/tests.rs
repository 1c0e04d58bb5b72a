//! Values survive the way to JSON and back; what isn't of the type is refused with its place and reason.

use std::sync::Arc;

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value as Json, json};

use super::{Codec, Wrong, WrongKind};
use crate::calendar::{Calendar, DAYS};
use crate::data::Data;
use crate::ids::IdPattern;
use crate::kinds::{TableId, Type};
use crate::limits::INSTANTS;
use crate::schema::{Column, Schema, Table};
use crate::value::{RowKey, Value};

const TOOL: TableId = TableId(0);

fn data() -> Data {
    let tool = Table {
        name: "tool".into(),
        id: IdPattern::parse("T{4}").expect("a pattern"),
        columns: vec![Column::new("name", Type::Text)],
        single: false,
        untracked: false,
        owner: None,
    };
    let schema = Schema::new(vec![tool], Calendar::new("Europe/Paris", false).expect("a zone")).expect("a schema");
    let mut data = Data::new(Arc::new(schema), 1);
    data.insert_named(TOOL, "T1", vec![Value::text("drill")]).expect("a row");
    data
}

fn read(json: &Json, kind: &Type) -> Result<Value, Wrong> {
    let data = data();
    Codec::new(data.schema()).from_json(json, kind, &|table, id| data.by_id(table, id))
}

fn enumeration() -> Type {
    Type::Enum(["in", "out"].map(Into::into).into())
}

fn record() -> Type {
    Type::Record([("tool".into(), Type::Row(TOOL)), ("a/b".into(), Type::Opt(Box::new(Type::Int)))].into())
}

#[test]
fn values_have_one_form_in_json_and_one_for_people() {
    let data = data();
    let codec = Codec::new(data.schema());
    let tool = Value::Row(RowKey { table: TOOL, number: 0 });
    for (value, kind, shown, text) in [
        (Value::Null, Type::Opt(Box::new(Type::Int)), json!(null), "-"),
        (Value::Bool(true), Type::Bool, json!(true), "yes"),
        (Value::Int(-3), Type::Int, json!(-3), "-3"),
        (Value::text("a b"), Type::Text, json!("a b"), "a b"),
        (Value::Int(22_404), Type::Date, json!("2031-05-05"), "2031-05-05"),
        (Value::Int(1_935_730_800), Type::Instant, json!("2031-05-05T09:00+02:00"), "2031-05-05 09:00"),
        (Value::Int(1_935_730_801), Type::Instant, json!("2031-05-05T09:00:01+02:00"), "2031-05-05 09:00:01"),
        (Value::Int(-5400), Type::Duration, json!("-1h30m"), "-1h30m"),
        (Value::Int(1250), Type::Money("EUR".into()), json!("12.50"), "12.50 EUR"),
        (Value::Int(1250), Type::Money("JPY".into()), json!("1250"), "1250 JPY"),
        (Value::Int(-1), Type::Decimal(3), json!("-0.001"), "-0.001"),
        (Value::text("in"), enumeration(), json!("in"), "in"),
        (tool.clone(), Type::Row(TOOL), json!("T1"), "T1"),
        (Value::List([Value::Int(1), Value::Int(2)].into()), Type::List(Box::new(Type::Int)), json!([1, 2]), "1, 2"),
        (Value::Record([tool, Value::Null].into()), record(), json!({"tool": "T1", "a/b": null}), "tool: T1, a/b: -"),
    ] {
        assert_eq!(codec.to_json(&value, &kind, &data), shown);
        assert_eq!(codec.show(&value, &kind, &data), text);
        assert_eq!(read(&shown, &kind), Ok(value), "{shown}");
    }
}

#[test]
fn other_spellings_are_read_where_they_are_exact() {
    for (json, kind, value) in [
        (json!(12.5), Type::Money("EUR".into()), Value::Int(1250)),
        (json!(12), Type::Money("EUR".into()), Value::Int(1200)),
        (json!("12"), Type::Decimal(1), Value::Int(120)),
        (json!(90), Type::Duration, Value::Int(90)),
        (json!("2031-05-05T07:00:00Z"), Type::Instant, Value::Int(1_935_730_800)),
        (
            json!({"tool": "T1"}),
            record(),
            Value::Record([Value::Row(RowKey { table: TOOL, number: 0 }), Value::Null].into()),
        ),
    ] {
        assert_eq!(read(&json, &kind), Ok(value), "{json}");
    }
}

#[test]
fn values_of_another_type_are_refused() {
    for (json, kind) in [
        (json!(null), Type::Int),
        (json!(3.0), Type::Int),
        (json!("3"), Type::Int),
        (json!(true), Type::Text),
        (json!("yes"), Type::Bool),
        (json!("2031-02-30"), Type::Date),
        (json!(1), Type::Date),
        (json!("2031-05-05"), Type::Instant),
        (json!(1.5), Type::Duration),
        (json!("soon"), Type::Duration),
        (json!("--1h"), Type::Duration),
        (json!("12.505"), Type::Money("EUR".into())),
        (json!(0.30000000000000004), Type::Money("EUR".into())),
        (json!(1e300), Type::Money("EUR".into())),
        (json!("12.5"), Type::Money("JPY".into())),
        (json!([1]), Type::Decimal(2)),
        (json!("gone"), enumeration()),
        (json!("in "), enumeration()),
        (json!(7), Type::Row(TOOL)),
        (json!({}), Type::List(Box::new(Type::Int))),
        (json!([]), record()),
        (json!(1), Type::Null),
    ] {
        let wrong = read(&json, &kind).expect_err("it isn't of the type");
        assert!(matches!(wrong.kind, WrongKind::Type(_)), "{json}: {wrong:?}");
        assert_eq!(wrong.pointer, "");
    }
    for (json, kind) in [
        (json!(u64::MAX), Type::Int),
        (json!(1_u64 << 53), Type::Int),
        (json!(i64::MIN), Type::Duration),
        (json!("9".repeat(30)), Type::Decimal(2)),
        (json!("x".repeat(65_537)), Type::Text),
        (json!("a\0"), Type::Text),
    ] {
        assert_eq!(read(&json, &kind).expect_err("it is out of range").kind, WrongKind::Range, "{kind}");
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    let list = Type::List(Box::new(record()));
    let wrong = read(&json!([{"tool": "T1"}, {"tool": "T1", "a/b": "x"}]), &list).expect_err("b is a number");
    assert_eq!(
        (wrong.pointer.as_str(), wrong.message.as_str()),
        ("/1/a~1b", "expected a whole number, or null, got \"x\"")
    );
    let wrong = read(&json!([{"tool": "T2"}]), &list).expect_err("no such tool");
    assert_eq!(
        (wrong.pointer.as_str(), wrong.message.as_str()),
        ("/0/tool", "there is no tool with the id \"T2\": name one that exists")
    );
    assert_eq!(wrong.kind, WrongKind::UnknownRow { table: TOOL, id: "T2".to_owned() });
    let wrong = read(&json!([{"tool": "T1", "x": 1}]), &list).expect_err("no such field");
    assert_eq!(wrong.pointer, "/0/x");
    let wrong = read(&json!([{}]), &list).expect_err("the tool is missing");
    assert_eq!((wrong.pointer.as_str(), wrong.message.as_str()), ("/0/tool", "expected the id of a tool, got null"));
    let wrong = read(&json!("é".repeat(1000)), &enumeration()).expect_err("no such word");
    assert!(wrong.message.len() < 200, "{}", wrong.message);
}

#[test]
fn types_are_described_for_tools() {
    let data = data();
    let codec = Codec::new(data.schema());
    let kind = Type::Record(
        [
            ("tool".into(), Type::Row(TOOL)),
            ("state".into(), enumeration()),
            ("fee".into(), Type::Opt(Box::new(Type::Money("EUR".into())))),
            ("days".into(), Type::List(Box::new(Type::Date))),
        ]
        .into(),
    );
    let fee = json!({
        "type": "string",
        "pattern": "^-?[0-9]+(\\.[0-9]{1,2})?$",
        "description": "an amount in EUR such as 12.50",
    });
    let day = json!({"type": "string", "format": "date", "description": "a date such as 2031-05-05"});
    let expected = json!({
        "type": "object",
        "properties": {
            "tool": {"type": "string", "description": "id of a tool"},
            "state": {"type": "string", "enum": ["in", "out"]},
            "fee": {"anyOf": [fee, {"type": "null"}]},
            "days": {"type": "array", "items": day},
        },
        "required": ["tool", "state", "days"],
        "additionalProperties": false,
    });
    assert_eq!(codec.schema_of(&kind), expected);
}

fn value_of_type() -> impl Strategy<Value = (Value, Type)> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|flag| (Value::Bool(flag), Type::Bool)),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(|whole| (Value::Int(whole), Type::Int)),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(|whole| (Value::Int(whole), Type::Duration)),
        any::<i64>().prop_map(|units| (Value::Int(units), Type::Money("KWD".into()))),
        (any::<i64>(), 0_u8..19).prop_map(|(units, scale)| (Value::Int(units), Type::Decimal(scale))),
        DAYS.prop_map(|day| (Value::Int(day), Type::Date)),
        INSTANTS.prop_map(|instant| (Value::Int(instant), Type::Instant)),
        "[^\0]{0,8}".prop_map(|text| (Value::text(&text), Type::Text)),
        Just((Value::text("out"), enumeration())),
        Just((Value::Row(RowKey { table: TOOL, number: 0 }), Type::Row(TOOL))),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0_usize..3).prop_map(|((value, kind), count)| (
                Value::List(vec![value; count].into()),
                Type::List(Box::new(kind))
            )),
            inner.clone().prop_map(|(_, kind)| (Value::Null, kind.or_null())),
            (inner.clone(), inner).prop_map(|((a, one), (b, two))| {
                (Value::Record([a, b].into()), Type::Record([("one".into(), one), ("two".into(), two)].into()))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn every_value_survives_the_round_trip((value, kind) in value_of_type()) {
        let data = data();
        let shown = Codec::new(data.schema()).to_json(&value, &kind, &data);
        assert_eq!(read(&shown, &kind), Ok(value), "{shown} as {kind}");
    }
}
