//! Tests of running expressions: expected types, the budget, templates, filters, and data that changes underneath.

use super::world::{LOAN, MEMBER, TOOL, World, euro, row, words};
use crate::expression::{Checked, DEFAULT_BUDGET, EvalError, check, check_filter, compile_template};
use crate::kinds::Type;
use crate::value::Value;

#[test]
fn an_expected_type_says_what_literals_mean() {
    let world = World::new();
    let states = words(&["in", "out", "repair"]);
    let table = [
        ("'out'", states.clone(), Value::text("out")),
        ("days > 1 ? 'out' : 'in'", states.clone(), Value::text("out")),
        ("5", Type::Int, Value::Int(5)),
        ("5.00", euro(), Value::Int(500)),
        ("5.5", Type::Decimal(3), Value::Int(5500)),
        ("0", euro(), Value::Int(0)),
        ("cents(days)", euro(), Value::Int(3)),
        ("2.50 * days", euro(), Value::Int(750)),
        ("null", Type::Date.or_null(), Value::Null),
        ("today()", Type::Date.or_null(), Value::Int(22_404)),
        ("[]", Type::List(Box::new(Type::Int)), Value::List([].as_slice().into())),
        ("['in']", Type::List(Box::new(states.clone())), Value::List([Value::text("in")].as_slice().into())),
        ("weights('in', 8, 'repair', 1)", states.clone(), Value::text("in")),
        ("loan.back ?? null", Type::Date.or_null(), Value::Null),
        ("days > 5 ? null : 'in'", states.or_null(), Value::text("in")),
    ];
    for (source, kind, value) in table {
        let checked = world.check(source, Some(&kind)).unwrap_or_else(|wrong| panic!("{source}: {wrong:?}"));
        assert_eq!(world.evaluate(&checked, &mut 1000).as_ref(), Ok(&value), "{source}");
    }
}

#[test]
fn every_visited_row_is_a_step_and_an_index_visits_fewer() {
    let world = World::new();
    for (source, steps) in [
        ("count(tool)", 0),
        ("find(tool)", 4),
        ("first(tool, x, x.kind == 'saw')", 2),
        ("find(loan, l, l.tool == tool)", 1),
        ("find(loan, l, l.fee == 4.00 && l.tool == tool)", 1),
        ("find(loan, l, l.fee == 4.00)", 2),
        ("all(loan, l, l.tool == tool)", 1),
        ("all(tool, x, none(loan, l, l.due > today()))", 12),
    ] {
        let checked = world.check(source, None).expect("an expression");
        let mut budget = 100;
        world.evaluate(&checked, &mut budget).expect("a value");
        assert_eq!(100 - budget, steps, "{source}");
        if steps > 0 {
            let mut few = steps - 1;
            assert_eq!(world.evaluate(&checked, &mut few), Err(EvalError::Budget), "{source}");
        }
    }
}

#[test]
fn text_that_would_grow_beyond_the_budget_is_never_made() {
    let world = World::new();
    let long = "x".repeat(500);
    let grown = format!("replace('{long}', 'x', '{long}')");
    let source = format!("size(replace({grown}, 'x', '{long}'))");
    let checked = world.check(&source, None).expect("an expression");
    assert_eq!(world.evaluate(&checked, &mut DEFAULT_BUDGET.clone()), Err(EvalError::Budget));
}

#[test]
fn templates_are_filled() {
    let world = World::new();
    let scope = world.scope();
    for (source, wanted) in [
        ("Lend ${kind} to ${member.name} for ${days} days.", "Lend saw to Ada for 3 days."),
        ("", ""),
        ("$$${tool.day_fee}", "$4.00"),
        ("${note ?? \"}\"}{}", "}{}"),
    ] {
        let template = compile_template(source, &scope).unwrap_or_else(|wrong| panic!("{source}: {wrong:?}"));
        let text = world.with_frame(&mut 1000, |frame| template.render(frame));
        assert_eq!(text.as_deref(), Ok(wanted), "{source}");
    }
}

#[test]
fn a_filter_gives_the_rows_of_its_table() {
    let world = World::new();
    let filter = check_filter("l.member == member && l.back == null", LOAN, "l", &world.scope()).expect("a filter");
    assert_eq!(filter.kind(), &Type::List(Box::new(Type::Row(LOAN))));
    let mut budget = 10;
    let found = world.evaluate(&filter, &mut budget);
    assert_eq!((found, budget), (Ok(Value::List([row(LOAN, 0)].as_slice().into())), 9));
    let wrong = check_filter("l.nmae == 'x'", LOAN, "l", &world.scope()).expect_err("no such column");
    assert_eq!(wrong[0].offset, 2);
}

#[test]
fn an_expression_tells_which_locals_it_mentions() {
    let world = World::new();
    let checked = world.check("member.balance >= tool.day_fee * days", None).expect("an expression");
    assert_eq!(checked.locals(), [0, 1, 3]);
    assert_eq!(
        world.check("['a']", None).expect("a list").constant(),
        Some(&Value::List([Value::text("a")].as_slice().into()))
    );
}

#[test]
fn the_other_branch_of_a_condition_knows_the_opposite() {
    let world = World::new();
    let absent = world.check("t.who.friend == null", None).expect("a condition");
    let present = absent.negated();
    for (known, fine) in [(&absent, false), (&present, true), (&present.negated(), false)] {
        let mut scope = world.scope();
        scope.assume.push(known);
        assert_eq!(check("t.who.friend.name", &scope, None).is_ok(), fine);
    }
    let holds = |checked: &Checked| world.with_frame(&mut 10, |frame| checked.holds(frame));
    assert_eq!((holds(&absent), holds(&present)), (Ok(false), Ok(true)));
}

#[test]
fn a_proof_that_an_effect_undoes_is_an_error_and_no_panic() {
    let mut world = World::new();
    let scope = world.scope();
    let guard = check("loan.tool == tool || t.who.friend != null", &scope, None).expect("a guard");
    assert!(check("t.who.friend.name", &scope, None).is_err());
    let sure = check("t.who.friend != null", &scope, None).expect("a guard");
    let mut later = world.scope();
    later.assume = vec![&guard, &sure];
    let checked = check("t.who.friend.name", &later, None).expect("the friend is there");
    assert_eq!(world.evaluate(&checked, &mut 10), Ok(Value::text("Ada")));
    world.rows[usize::from(MEMBER.0)][2].as_mut().expect("a member")[4] = Value::Null;
    assert_eq!(world.evaluate(&checked, &mut 10), Err(EvalError::Mismatch));
    world.rows[usize::from(TOOL.0)][1] = None;
    assert!(matches!(world.run("tool.name"), Err(EvalError::Dangling(_))));
}
