//! Tests of equal and unequal results.

use proptest::prelude::*;

use super::{Grid, difference};
use crate::task::{Columns, Compare};
use crate::value::{Column, Value};

fn columns(names: &[&str]) -> Vec<Column> {
    names.iter().map(|name| Column { name: (*name).to_owned(), type_name: String::new() }).collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn real(value: f64) -> Value {
    Value::Real(value)
}

fn whole(value: i64) -> Value {
    Value::Integer(value)
}

fn compared(names: (&[&str], &[&str]), rows: (&[Vec<Value>], &[Vec<Value>]), how: &Compare) -> Option<String> {
    let (wanted, given) = (columns(names.0), columns(names.1));
    let expected = Grid { columns: &wanted, rows: rows.0 };
    difference(expected, Grid { columns: &given, rows: rows.1 }, how).map(|difference| difference.0)
}

fn one_value(expected: Value, found: Value, how: &Compare) -> bool {
    compared((&["v"], &["v"]), (&[vec![expected]], &[vec![found]]), how).is_none()
}

const STRICT: Compare =
    Compare { ordered: false, columns: Columns::Position, tolerance: 1e-6, strict_types: true, distinct: false };

#[test]
fn values_are_the_same_by_what_they_mean() {
    let same = [
        (Value::Null, Value::Null),
        (whole(1), real(1.0)),
        (whole(1), text("1")),
        (real(1.0), text("1.0")),
        (whole(1), Value::Boolean(true)),
        (whole(12), Value::Decimal("12.000".to_owned())),
        (real(0.1 + 0.2), real(0.3)),
        (real(f64::NAN), real(f64::NAN)),
        (real(f64::INFINITY), real(f64::INFINITY)),
        (real(0.0), real(-0.0)),
        (text("2025-01-01"), text("2025-01-01 00:00:00")),
        (text("2025-01-01 08:30"), text("2025-01-01T08:30:00.000Z")),
        (text("2025-01-01 08:30:00+02"), text("2025-01-01 06:30:00")),
        (text("2025-01-01 00:00:00-02:30"), text("2025-01-01 02:30:00")),
        (text("O'Neil"), text("O'Neil")),
        (Value::Blob(vec![1, 2]), Value::Blob(vec![1, 2])),
    ];
    for (a, b) in same {
        assert!(one_value(a.clone(), b.clone(), &Compare::default()), "{a:?} {b:?}");
        assert!(one_value(b.clone(), a.clone(), &Compare::default()), "{b:?} {a:?}");
    }
    let different = [
        (Value::Null, whole(0)),
        (Value::Null, text("")),
        (Value::Null, text("NULL")),
        (whole(9_007_199_254_740_993), whole(9_007_199_254_740_992)),
        (whole(10_000_001), whole(10_000_002)),
        (whole(7), text("007")),
        (whole(1000), text("1e3")),
        (text("1.0"), text("1.00")),
        (text("12"), text(" 12")),
        (real(1.0), real(1.000_01)),
        (real(f64::INFINITY), real(f64::MAX)),
        (real(f64::NAN), Value::Null),
        (text("2025-02-30"), text("2025-03-02")),
        (text("2025-01-01"), text("2025-01-02")),
        (text("a"), text("A")),
        (Value::Blob(b"a".to_vec()), text("a")),
    ];
    for (a, b) in different {
        assert!(!one_value(a.clone(), b.clone(), &Compare::default()), "{a:?} {b:?}");
        assert!(!one_value(b.clone(), a.clone(), &Compare::default()), "{b:?} {a:?}");
    }
}

#[test]
fn strict_types_tell_sorts_of_values_apart() {
    for (a, b) in [
        (whole(1), real(1.0)),
        (whole(1), text("1")),
        (whole(1), Value::Boolean(true)),
        (real(1.5), Value::Decimal("1.5".to_owned())),
        (text("2025-01-01"), text("2025-01-01 00:00:00")),
    ] {
        assert!(!one_value(a, b, &STRICT));
    }
    assert!(one_value(real(1.0), real(1.000_000_1), &STRICT));
}

#[test]
fn rows_are_a_multiset_unless_order_counts_or_repeats_do_not() {
    let a = [vec![whole(1)], vec![whole(2)], vec![whole(2)]];
    let shuffled = [vec![whole(2)], vec![whole(1)], vec![whole(2)]];
    let fewer = [vec![whole(2)], vec![whole(1)]];
    let other = [vec![whole(1)], vec![whole(1)], vec![whole(2)]];
    let names: (&[&str], &[&str]) = (&["n"], &["n"]);
    assert_eq!(compared(names, (&a, &shuffled), &Compare::default()), None);
    assert!(compared(names, (&a, &other), &Compare::default()).is_some());
    assert!(compared(names, (&a, &fewer), &Compare::default()).is_some());
    let ordered = Compare { ordered: true, ..Compare::default() };
    assert!(compared(names, (&a, &shuffled), &ordered).is_some());
    assert_eq!(compared(names, (&a, &a), &ordered), None);
    let distinct = Compare { distinct: true, ..Compare::default() };
    for found in [&shuffled[..], &fewer, &other] {
        assert_eq!(compared(names, (&a, found), &distinct), None);
    }
    assert!(compared(names, (&a, &a[..1]), &distinct).is_some());
    let both = Compare { ordered: true, distinct: true, ..Compare::default() };
    assert_eq!(compared(names, (&a, &other), &both), None);
    assert!(compared(names, (&a, &fewer), &both).is_some());
}

#[test]
fn a_chain_of_values_within_the_tolerance_is_matched_as_a_whole() {
    let how = Compare { tolerance: 0.1, ..Compare::default() };
    let rows = |values: &[f64]| values.iter().map(|value| vec![real(*value)]).collect::<Vec<_>>();
    let names: (&[&str], &[&str]) = (&["n"], &["n"]);
    // The equal zeros are no pair of the only matching there is.
    assert_eq!(compared(names, (&rows(&[0.0, -0.08]), &rows(&[0.0, 0.08])), &how), None);
    assert_eq!(compared(names, (&rows(&[0.5, 0.59, 0.41]), &rows(&[0.5, 0.45, 0.66])), &how), None);
    assert!(compared(names, (&rows(&[0.0, -0.08]), &rows(&[0.08, 0.08])), &how).is_some());
    // A number as text lies between two texts that differ.
    assert_eq!(compared(names, (&[vec![text("1.0")], vec![whole(1)]], &[vec![whole(1)], vec![text("1")]]), &how), None);
}

#[test]
fn columns_are_matched_by_place_by_name_or_in_any_order() {
    let rows = [vec![whole(1), text("a"), whole(2)], vec![whole(2), text("b"), whole(1)]];
    let turned = [vec![whole(2), whole(1), text("a")], vec![whole(1), whole(2), text("b")]];
    let names: (&[&str], &[&str]) = (&["x", "Label", "y"], &["y", "X", "label"]);
    assert!(compared(names, (&rows, &turned), &Compare::default()).is_some());
    let by_name = Compare { columns: Columns::Name, ..Compare::default() };
    assert_eq!(compared(names, (&rows, &turned), &by_name), None);
    let any = Compare { columns: Columns::Any, ..Compare::default() };
    assert_eq!(compared((&["p", "q", "r"], &["c", "b", "a"]), (&rows, &turned), &any), None);
    let unrelated = compared((&["x", "y", "z"], &["x", "y", "w"]), (&rows, &rows), &by_name).expect("z is not there");
    assert_eq!(unrelated, "no column \"z\" among x, y, w");
    let wider = compared((&["x"], &["x", "y"]), (&[vec![whole(1)]], &[vec![whole(1), whole(2)]]), &any);
    assert_eq!(wider.expect("one column too many"), "expected 1 column, found 2: x, y");
}

#[test]
fn any_order_of_columns_that_look_alike_is_found_within_bounds() {
    // Twelve columns with the same content each, in rotated rows: 12! orders, of which only the row contents tell the right one.
    let width = 12;
    let rows: Vec<Vec<Value>> = (0..width)
        .map(|row| (0..width).map(|column| whole(((row * 7 + column * row) % width) as i64)).collect())
        .collect();
    let turned: Vec<Vec<Value>> = rows.iter().map(|row| row.iter().rev().cloned().collect()).collect();
    let names: Vec<String> = (0..width).map(|column| format!("c{column}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let any = Compare { columns: Columns::Any, ..Compare::default() };
    assert_eq!(compared((&names, &names), (&rows, &turned), &any), None);
}

#[test]
fn the_first_difference_names_the_place_and_both_values() {
    let names: (&[&str], &[&str]) = (&["name", "total"], &["name", "sum"]);
    let expected = [vec![text("Ann"), real(1.0)], vec![text("Bo"), real(2.0)], vec![text("Cy"), real(12.5)]];
    let mut found = expected.clone();
    found[2][1] = whole(12);
    let ordered = Compare { ordered: true, ..Compare::default() };
    for how in [Compare::default(), ordered] {
        let words = compared(names, (&expected, &found), &how).expect("they differ");
        assert_eq!(words, "row 3, column \"total\": expected 12.5, found 12");
    }
    let words = compared(names, (&expected, &found[..1]), &Compare::default()).expect("two are missing");
    assert_eq!(words, "2 rows missing, such as ('Bo', 2.0) (expected 3 rows, found 1)");
    let words = compared(names, (&expected[..1], &expected), &ordered).expect("two are too many");
    assert_eq!(words, "expected 1 row, found 3");
    let words = compared(names, (&[], &expected), &Compare::default()).expect("three are too many");
    assert_eq!(words, "3 rows too many, such as ('Ann', 1.0) (expected 0 rows, found 3)");
}

#[test]
fn twenty_thousand_rows_are_compared_in_a_moment() {
    let row = |at: i64| vec![whole(at), real(at as f64 / 7.0), text("same"), Value::Null];
    let expected: Vec<Vec<Value>> = (0..20_000).map(row).collect();
    let near: Vec<Vec<Value>> = (0..20_000)
        .rev()
        .map(|at| {
            let mut row = row(at);
            row[1] = real(at as f64 / 7.0 + 1e-9);
            row
        })
        .collect();
    let names = &["a", "b", "c", "d"][..];
    let begun = std::time::Instant::now();
    assert_eq!(compared((names, names), (&expected, &near), &Compare::default()), None);
    let any = Compare { columns: Columns::Any, ..Compare::default() };
    assert_eq!(compared((names, names), (&expected, &near), &any), None);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        (-3_i64..3).prop_map(Value::Integer),
        (-3.0_f64..3.0).prop_map(Value::Real),
        prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(1e300)].prop_map(Value::Real),
        (-300_i64..300).prop_map(|cents| Value::Decimal(format!("{}.{:02}", cents / 100, cents.abs() % 100))),
        "[a-c0-2]{0,2}".prop_map(Value::Text),
        (1_u8..4).prop_map(|day| Value::Text(format!("2025-01-0{day}"))),
        proptest::collection::vec(any::<u8>(), 0..2).prop_map(Value::Blob),
    ]
}

fn rows() -> impl Strategy<Value = Vec<Vec<Value>>> {
    proptest::collection::vec(proptest::collection::vec(value(), 3), 0..8)
}

fn how() -> impl Strategy<Value = Compare> {
    let matched = prop_oneof![Just(Columns::Position), Just(Columns::Name), Just(Columns::Any)];
    let tolerance = prop_oneof![Just(0.0), Just(1e-6), Just(0.3)];
    (any::<bool>(), matched, tolerance, any::<bool>(), any::<bool>()).prop_map(
        |(ordered, columns, tolerance, strict_types, distinct)| Compare {
            ordered,
            columns,
            tolerance,
            strict_types,
            distinct,
        },
    )
}

const NAMES: &[&str] = &["a", "b", "c"];

/// The largest matching by trying everything, for a few rows.
fn matched_by_force(expected: &[Vec<Value>], found: &[Vec<Value>], how: &Compare) -> bool {
    let Some((first, rest)) = expected.split_first() else { return found.is_empty() };
    (0..found.len()).any(|at| {
        let alone = Compare { ordered: true, columns: Columns::Position, distinct: false, ..*how };
        let mut others = found.to_vec();
        let candidate = others.remove(at);
        compared((NAMES, NAMES), (std::slice::from_ref(first), &[candidate]), &alone).is_none()
            && matched_by_force(rest, &others, how)
    })
}

/// Rows in which one number is near to several others.
fn near_rows() -> impl Strategy<Value = Vec<Vec<Value>>> {
    let row = (0_i64..12).prop_map(|n| vec![Value::Real(n as f64 * 0.07), Value::Null, Value::Integer(1)]);
    proptest::collection::vec(row, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_result_is_the_same_as_itself(rows in rows(), how in how()) {
        prop_assert_eq!(compared((NAMES, NAMES), (&rows, &rows), &how), None);
    }

    #[test]
    fn sides_can_be_changed(a in rows(), b in rows(), how in how()) {
        let forth = compared((NAMES, NAMES), (&a, &b), &how).is_none();
        let back = compared((NAMES, NAMES), (&b, &a), &how).is_none();
        prop_assert_eq!(forth, back);
    }

    #[test]
    fn the_order_of_rows_does_not_count_where_it_should_not(
        (a, b) in rows().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        how in how(),
    ) {
        let how = Compare { ordered: false, ..how };
        prop_assert_eq!(compared((NAMES, NAMES), (&a, &b), &how), None);
    }

    #[test]
    fn the_order_of_columns_does_not_count_where_it_should_not(
        rows in rows(),
        order in Just(vec![0_usize, 1, 2]).prop_shuffle(),
        how in how(),
    ) {
        let turned: Vec<Vec<Value>> =
            rows.iter().map(|row| order.iter().map(|column| row[*column].clone()).collect()).collect();
        let names: Vec<&str> = order.iter().map(|column| NAMES[*column]).collect();
        for columns in [Columns::Name, Columns::Any] {
            prop_assert_eq!(compared((NAMES, &names), (&rows, &turned), &Compare { columns, ..how }), None);
        }
    }

    #[test]
    fn one_changed_cell_is_found(rows in rows(), row in any::<prop::sample::Index>(), column in 0_usize..3, how in how()) {
        prop_assume!(!rows.is_empty());
        let mut changed = rows.clone();
        let row = row.index(rows.len());
        changed[row][column] = Value::Text("something else".to_owned());
        let how = Compare { distinct: false, ..how };
        prop_assert!(compared((NAMES, NAMES), (&rows, &changed), &how).is_some());
        prop_assert!(compared((NAMES, NAMES), (&changed, &rows), &how).is_some());
    }

    #[test]
    fn rows_are_matched_as_trying_everything_would(a in near_rows(), b in near_rows()) {
        let how = Compare { tolerance: 0.3, ..Compare::default() };
        let quick = compared((NAMES, NAMES), (&a, &b), &how).is_none();
        prop_assert_eq!(quick, matched_by_force(&a, &b, &how));
    }
}
