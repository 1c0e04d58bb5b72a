//! Records as they are written, for parameters that take them.

use std::sync::Arc;

use super::world::World;
use crate::expression::DEFAULT_BUDGET;
use crate::kinds::Type;
use crate::value::Value;

/// Type of `list {item: text, count: int, note: opt text}`.
fn lines() -> Type {
    let field = |name: &str, kind: Type| (Arc::from(name), kind);
    let fields = [field("item", Type::Text), field("count", Type::Int), field("note", Type::Text.or_null())];
    Type::List(Box::new(Type::Record(fields.as_slice().into())))
}

fn record(values: &[Value]) -> Value {
    Value::Record(values.into())
}

#[test]
fn fields_take_the_order_and_the_types_that_the_place_asks_for() {
    let world = World::new();
    let source = "[{count: 1 + 1, item: 'a'}, {item: 'b', note: 'c', count: 3}]";
    let checked = world.check(source, Some(&lines())).expect("it is right");
    assert_eq!(*checked.kind(), lines());
    let value = world.evaluate(&checked, &mut DEFAULT_BUDGET.clone()).expect("it runs");
    let expected = [
        record(&[Value::text("a"), Value::Int(2), Value::Null]),
        record(&[Value::text("b"), Value::Int(3), Value::text("c")]),
    ];
    assert_eq!(value, Value::List(expected.as_slice().into()));
}

#[test]
fn a_record_without_a_place_is_as_written() {
    let world = World::new();
    for (source, value) in [
        ("{b: 1, a: 'x'}.a", Value::text("x")),
        ("map([1, 2], n, {double: n * 2})[1].double", Value::Int(4)),
        ("size([{a: {b: true}}])", Value::Int(1)),
    ] {
        let checked = world.check(source, None).unwrap_or_else(|wrong| panic!("{source}: {wrong:?}"));
        assert_eq!(world.evaluate(&checked, &mut DEFAULT_BUDGET.clone()), Ok(value), "{source}");
    }
}

#[test]
fn wrong_records_are_told() {
    let world = World::new();
    for (source, offset, message) in [
        ("[{item: 'a'}]", 1, "the field `count` is missing: add it"),
        ("[{item: 'a', count: 1, nota: 'x'}]", 29, "no field `nota` is asked for; did you mean `note`?"),
        ("[{item: 'a', item: 'b'}]", 13, "the field `item` is given twice: leave one out"),
        ("[{'item': 'a'}]", 2, "the name of a field is expected, found a text"),
        ("[{item 'a'}]", 7, "`:` is expected in a record, found a text"),
        ("[{item: 'a'", 11, "`,` is expected in a record, found the end"),
    ] {
        let wrong = world.check(source, Some(&lines())).expect_err(source);
        assert_eq!((wrong[0].offset, wrong[0].message.as_str()), (offset, message), "{source}");
    }
    assert!(world.check("[{item: 'a', count: 'two'}]", Some(&lines())).is_err());
}
