//! Properties of any source and any numbers.

use proptest::prelude::*;

use super::world::{World, euro};
use crate::expression::{EvalError, check_filter, compile_template};
use crate::kinds::Type;
use crate::value::Value;

/// Pieces of sources, so that random ones get further than the first token.
const PIECES: [&str; 72] = [
    "tool",
    "member",
    "loan",
    "days",
    "pairs",
    "t",
    "note",
    "sizes",
    "kind",
    "least",
    "gone",
    "price",
    "settings",
    "x",
    ".",
    "?.",
    "name",
    "state",
    "back",
    "friend",
    "item",
    "who",
    "id",
    "balance",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    ",",
    ",",
    "&&",
    "||",
    "!",
    "==",
    "!=",
    "<",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "?",
    ":",
    "??",
    "in",
    "null",
    "true",
    "0",
    "1",
    "12.50",
    "'in'",
    "'2031-05-05'",
    "find",
    "count",
    "any",
    "sum",
    "map",
    "sort",
    "first",
    "old",
    "init",
    "text",
    "tpl",
    "'${days}'",
    "mul_div",
    "split",
    "has",
    "date",
    "cents",
];

/// Sources that mostly check.
fn sensible() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|number| if number == i64::MIN { "least".to_owned() } else { format!("({number})") }),
        (-3_i64..4).prop_map(|number| format!("({number})")),
        Just("days".to_owned()),
        Just("least".to_owned()),
        Just("count(tool)".to_owned()),
        Just("int(tool.day_fee)".to_owned()),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        prop_oneof![
            (inner.clone(), prop_oneof![Just("+"), Just("-"), Just("*"), Just("/"), Just("%")], inner.clone())
                .prop_map(|(left, operator, right)| format!("({left} {operator} {right})")),
            inner.clone().prop_map(|value| format!("(-{value})")),
            inner.clone().prop_map(|value| format!("abs({value})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("mul_div({a}, {b}, {c})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} < {b} ? {b} : {c})")),
            inner.clone().prop_map(|value| format!("sum(sizes, s, s * {value})")),
            inner.prop_map(|value| format!("int(percent(money({value}, 'EUR'), 1250))")),
        ]
    })
}

/// Result of exact arithmetic, and none where 64 bits or the rules of division do not allow it.
fn exact(operator: &str, left: i64, right: i64) -> Option<i64> {
    let (wide, other) = (i128::from(left), i128::from(right));
    let result = match operator {
        "+" => wide + other,
        "-" => wide - other,
        "*" => wide * other,
        _ if right == 0 => return None,
        "/" => wide / other,
        // The one remainder whose quotient does not fit.
        _ if left == i64::MIN && right == -1 => return None,
        _ => wide % other,
    };
    i64::try_from(result).ok()
}

fn edges() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), -5_i64..6, Just(i64::MIN), Just(i64::MAX), Just(i64::MIN + 1)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn random_sources_never_panic(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24), glue in "[ ]?") {
        let world = World::new();
        let source = pieces.join(&glue);
        match world.check(&source, None) {
            Ok(checked) => {
                let _ = world.evaluate(&checked, &mut 2000);
            }
            Err(wrong) => {
                prop_assert!(!wrong.is_empty());
                prop_assert!(wrong.iter().all(|wrong| wrong.offset <= source.chars().count()), "{source}: {wrong:?}");
            }
        }
        let _ = check_filter(&source, super::world::LOAN, "x", &world.scope());
    }

    #[test]
    fn random_text_never_panics(source in any::<String>(), hole in "\\PC{0,40}") {
        let world = World::new();
        let _ = world.check(&source, Some(&Type::Bool));
        let _ = world.check(&hole, Some(&euro()));
        let _ = compile_template(&source, &world.scope());
        if let Err(wrong) = compile_template(&format!("Ö ${{{hole}}}"), &world.scope()) {
            prop_assert!(wrong.iter().all(|wrong| wrong.offset <= hole.chars().count() + 6));
        }
    }

    #[test]
    fn arithmetic_is_exact_or_an_error(
        left in edges(), right in edges(), operator in prop::sample::select(&["+", "-", "*", "/", "%"][..]),
    ) {
        let world = World::new();
        let write = |number: i64| format!("({number})");
        let source = format!("{} {operator} {}", write(left), write(right));
        match (world.run(&source), exact(operator, left, right)) {
            (Ok(found), Some(wanted)) => prop_assert_eq!(found, Value::Int(wanted)),
            (Err(EvalError::OutOfRange(_)), None) => {}
            (found, wanted) => prop_assert!(false, "{}: {:?}, {:?}", source, found, wanted),
        }
    }

    #[test]
    fn checked_numbers_give_a_number_or_are_out_of_range(source in sensible()) {
        let world = World::new();
        if let Ok(checked) = world.check(&source, Some(&Type::Int)) {
            let found = world.evaluate(&checked, &mut 100_000);
            prop_assert!(matches!(found, Ok(Value::Int(_)) | Err(EvalError::OutOfRange(_))), "{source}: {found:?}");
            prop_assert_eq!(&found, &world.evaluate(&checked, &mut 100_000), "the same again");
        }
    }

    #[test]
    fn parts_of_an_amount_make_it_whole_again(amount in -100_000_i64..100_000, parts in 1_i64..50) {
        let world = World::new();
        let list = format!("split(money({amount}, 'EUR'), {parts})");
        prop_assert_eq!(world.run(&format!("sum({list})")), Ok(Value::Int(amount)));
        let spread = world.run(&format!("int(max({list}) ?? 0) - int(min({list}) ?? 0) <= 1"));
        prop_assert_eq!(spread, Ok(Value::Bool(true)));
    }

    #[test]
    fn an_index_finds_what_a_full_pass_finds(number in 0_usize..4, more in prop::bool::ANY) {
        let world = World::new();
        let extra = if more { " && l.fee > 4.00" } else { "" };
        // A negated inequality is nothing that an index answers.
        let by_index = world.run(&format!("find(loan, l, l.tool == find(tool)[{number}]{extra})"));
        let by_pass = world.run(&format!("find(loan, l, !(l.tool != find(tool)[{number}]){extra})"));
        prop_assert_eq!(by_index, by_pass);
    }
}
