//! Messages about wrong expressions, and their positions.

use super::world::{World, euro, words};
use crate::expression::{Wrong, check, compile_template};
use crate::kinds::Type;

/// Each row: a source, the text that the first message points at, and the message.
fn expect(table: &[(&str, &str, &str)], expected: Option<&Type>) {
    let world = World::new();
    compare(table, |source| world.check(source, expected).map(|checked| checked.kind().to_string()));
}

fn compare(table: &[(&str, &str, &str)], check: impl Fn(&str) -> Result<String, Vec<Wrong>>) {
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(source, at, message)| {
            let found = match check(source) {
                Ok(kind) => format!("is {kind}"),
                Err(wrong) => {
                    let rest: String = source.chars().skip(wrong[0].offset).collect();
                    if rest.starts_with(at) && (!at.is_empty() || rest.is_empty()) && wrong[0].message == *message {
                        return None;
                    }
                    format!("at {rest:?}: {}", wrong[0].message)
                }
            };
            Some(format!("{source}\n  gives  {found}\n  wanted at {at:?}: {message}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unreadable_expressions() {
    let table = [
        ("", "", "an expression is expected"),
        ("   ", "   ", "an expression is expected"),
        ("1 +", "", "a value is expected, found the end"),
        ("1 + * 2", "* 2", "a value is expected, found `*`"),
        ("(1", "", "`)` is expected in a bracket, found the end"),
        ("1)", ")", "an operator or the end is expected, found `)`"),
        ("[1 2]", "2]", "`,` is expected in a list, found `2`"),
        ("count(tool", "", "`,` is expected in a call, found the end"),
        ("days days", "days", "an operator or the end is expected, found `days`"),
        ("true ? 1", "", "`:` is expected in `c ? a : b`, found the end"),
        ("days = 3", "= 3", "`=` assigns nothing here: compare with `==`"),
        ("true & false", "& false", "`&` means nothing here: write `&&`"),
        ("true | false", "| false", "`|` means nothing here: write `||`"),
        ("{'a': 1}", "'a'", "the name of a field is expected, found a text"),
        ("${days}", "$", "`${...}` belongs into a template: write tpl('...')"),
        ("days # 3", "#", "`#` means nothing here: remove it, or quote text"),
        ("'abc", "'abc", "this text has no closing ': add it"),
        (r"'a\qb'", r"\qb", r#"after a backslash one of n t r \ ' " is expected"#),
        ("9223372036854775808", "9223372036854775808", "this number needs more than 64 bits: use a smaller one"),
        ("99999999999999999999", "99999999999999999999", "this number needs more than 64 bits: use a smaller one"),
        ("3days", "days", "`d` cannot follow a number directly: put an operator between them"),
        ("tool.", "", "the name of a member is expected, found the end"),
        ("tool.3", "3", "the name of a member is expected, found `3`"),
        ("member.name.size()", "size()", "there are no methods: call `size(...)` with the value as first argument"),
        ("1 < days < 3", "< 3", "comparisons do not chain: join two with `&&`, or use parentheses"),
        ("in [1]", "in", "a value is expected before `in`"),
        ("old()", "old()", "`old` takes one expression"),
    ];
    expect(&table, None);
}

#[test]
fn names_that_are_unknown() {
    let table = [
        ("member.ballance > 0", "ballance", "no column `ballance` in member; did you mean `balance`?"),
        ("1 + member.ballance", "ballance", "no column `ballance` in member; did you mean `balance`?"),
        (
            "loan.member.weight",
            "weight",
            "no column `weight` in member: name one of name, balance, blocked, phone, friend, id",
        ),
        ("t.woh", "woh", "no field `woh` in `t`; did you mean `who`?"),
        ("pairs[0].itme", "itme", "no field `itme` in this record; did you mean `item`?"),
        ("memebr.name", "memebr", "there is no `memebr` here; did you mean `member`?"),
        ("xyzzy", "xyzzy", "there is no `xyzzy` here: define it first, or quote it if it is text"),
        ("setings.limit", "setings", "there is no `setings` here; did you mean `settings`?"),
        ("today", "today", "`today` is a function: call it, `today(...)`"),
        ("count", "count", "`count` is a function: call it, `count(...)`"),
        (
            "order == null",
            "order",
            "`order` is a table of many rows: it can only be the first argument of a query, such as find(order, x, ...)",
        ),
        ("cuont(tool)", "cuont", "there is no function `cuont`; did you mean `count`?"),
        ("twcie(1)", "twcie", "there is no function `twcie`; did you mean `twice`?"),
        ("frobnicate(1)", "frobnicate", "there is no function `frobnicate`: use one of docs/app-expressions.md"),
        ("find(tol)", "tol", "there is no table or list `tol`; did you mean `tool`?"),
        ("by_id(tol, 'T1')", "tol", "the name of a table is expected; did you mean `tool`?"),
        ("any(tool, x, y.name == 'a')", "y", "there is no `y` here: define it first, or quote it if it is text"),
        (
            "x.name == 'a' && any(tool, x, true)",
            "x",
            "there is no `x` here: define it first, or quote it if it is text",
        ),
        ("init.nwo", "nwo", "`init` has no `nwo`; did you mean `now`?"),
        ("name.first", "name", "there is no `name` here: define it first, or quote it if it is text"),
        ("days.first", "first", "int has no members: leave `.first` out"),
        (
            "sizes.first",
            "first",
            "a list has no members: `.first` can be asked of one element, as in map(list, x, x.first)",
        ),
    ];
    expect(&table, None);
}

#[test]
fn types_that_do_not_fit() {
    let table = [
        ("days && true", "days", "a condition is expected, and this is int"),
        ("!days", "days", "a condition is expected, and this is int"),
        ("days ? 1 : 2", "days", "a condition is expected, and this is int"),
        ("true ? 1 : 'a'", "? 1", "both results of `? :` must have one type, and these are int and text"),
        ("days == 'a'", "== 'a'", "`==` cannot compare int with text: compare values of one type"),
        ("tool == member", "== member", "`==` cannot compare ref tool with ref member: compare values of one type"),
        ("tool == 'T1'", "== 'T1'", "`==` cannot compare ref tool with text: compare its `.id` with a text"),
        (
            "tool.state == kind",
            "== kind",
            "`==` cannot compare enum in out repair with enum drill saw ladder: compare values of one type",
        ),
        (
            "tool.state == member.name",
            "== member",
            "`==` cannot compare enum in out repair with text: use text(e), the word of an enum as text",
        ),
        ("tool.state == 'inn'", "'inn'", "'inn' is none of the words 'in', 'out', 'repair'; did you mean 'in'?"),
        ("tool.state in ['lost']", "'lost'", "'lost' is none of the words 'in', 'out', 'repair': write one of them"),
        (
            "tool.state < 'out'",
            "< 'out'",
            "`<` cannot compare enum in out repair, which has no order: use `==` or `!=`",
        ),
        ("member < member", "< member", "`<` cannot compare ref member, which has no order: use `==` or `!=`"),
        (
            "member.balance == 3",
            "== 3",
            "`==` cannot compare money EUR with int: write the amount with its decimals, or cents(n) for a number of minor units",
        ),
        (
            "member.balance >= 3 * 900",
            ">= 3",
            "`>=` cannot compare money EUR with int: write the amount with its decimals, or cents(n) for a number of minor units",
        ),
        ("member.balance == 3.005", "3.005", "money EUR has 2 digits behind the point, and this has 3: round it"),
        (
            "member.balance < money(3, 'USD')",
            "< money",
            "`<` cannot compare money EUR with money USD: compare values of one type",
        ),
        (
            "member.balance * member.balance",
            "* member",
            "`*` cannot multiply money EUR with money EUR: an amount must be multiplied with int or dec; percent(x, basis points) and mul_div(x, numerator, denominator) say how to round",
        ),
        (
            "member.balance / 2",
            "/ 2",
            "`/` cannot divide money EUR with int: use mul_div(x, 1, n) or split(x, n), which say what happens to the rest",
        ),
        (
            "member.balance + days",
            "+ days",
            "`+` cannot add money EUR with int: write the amount with its decimals, or cents(n) for a number of minor units",
        ),
        ("loan.due + 3", "+ 3", "`+` cannot add date with int: add days by add_days(date, n)"),
        ("loan.due - today()", "- today", "`-` cannot subtract date with date: use days_between(from, to)"),
        (
            "loan.due == '2031-05-05'",
            "== '2031",
            "`==` cannot compare date with text: write a date as date('2031-05-05')",
        ),
        (
            "loan.at < '2031-05-05T09:00'",
            "< '2031",
            "`<` cannot compare instant with text: write a point in time as instant('2031-05-05T09:00')",
        ),
        (
            "loan.at > today()",
            "> today",
            "`>` cannot compare instant with date: use date(instant), the day of a point in time",
        ),
        (
            "loan.length == 90",
            "== 90",
            "`==` cannot compare duration with int: write a duration as duration('1h30m') or minutes(n)",
        ),
        (
            "'a' - 'b'",
            "- 'b'",
            "`-` cannot subtract text with text: use two of one type: int, money, dec, duration or instant",
        ),
        ("'a' + 1", "+ 1", "`+` cannot add text with int: use two of one type: int, money, dec, duration or text"),
        ("-'a'", "'a'", "`-` takes int, money, dec or duration, and this is text"),
        ("days in 3", "3", "`in` takes a list behind it, and this is int"),
        ("days in ['a']", "in ['a']", "`in` cannot compare int with list text: use a list of the same type"),
        ("[1, 'a']", "'a'", "the elements of a list must have one type, and this is text, not int"),
        ("[]", "[]", "the type of the elements of `[]` cannot be known here: write an element"),
        ("days[0]", "days", "an index takes a list before it, and this is int"),
        ("sizes['a']", "'a'", "the place of an element must be an int, and this is text"),
        ("cents(5)", "cents", "the currency of cents(n) cannot be known here: write money(n, 'EUR')"),
        ("money(5, 'Euro')", "'Euro'", "a currency is expected by its code, such as 'EUR'"),
        ("dec(5, days)", "days", "the number of digits is written out, from 0 to 18"),
        ("date('2031-02-30')", "'2031-02-30'", "'2031-02-30' is no date such as 2031-05-05"),
        ("instant('noon')", "'noon'", "'noon' is no time such as 2031-05-05T09:00"),
        ("instant(today(), '25:00')", "'25:00'", "'25:00' is no time of day such as 09:30"),
        ("duration('soon')", "'soon'", "'soon' is no duration such as 1h30m"),
        ("duration(note ?? '')", "duration", "usage: duration('1h30m') with literal text"),
        ("text(tool)", "tool", "ref tool has no text: name one of its columns, or `.id`"),
        ("text(t)", "t)", "{who: ref member, days: int, spare: opt ref member} has no text: name one of its fields"),
        ("exists(3)", "3", "`exists` takes a row, and this is int"),
    ];
    expect(&table, None);
}

#[test]
fn calls_that_do_not_fit() {
    let table = [
        ("today(1)", "today", "usage: today()"),
        ("lower(3)", "3", "`lower` takes text here, and this is int"),
        ("lower()", "lower", "usage: lower(text)"),
        ("add_days(today(), 'a')", "'a'", "`add_days` takes int here, and this is text"),
        (
            "mul_div(1, 2)",
            "mul_div",
            "usage: mul_div(int, money or dec, int, int) or mul_div(int, money or dec, int, int, 'half_up' or 'half_even' or 'down' or 'up')",
        ),
        (
            "mul_div(1, 2, 3, 'sideways')",
            "'sideways'",
            "'sideways' is none of the words 'half_up', 'half_even', 'down', 'up': write one of them",
        ),
        ("size(3)", "3", "`size` takes text or list here, and this is int"),
        ("contains(sizes, 'a')", "'a'", "`contains` takes int here, and this is text"),
        ("concat(sizes, ['a'])", "['a']", "`concat` takes list int here, and this is list text"),
        ("twice('a')", "'a'", "the value is text, and int is expected here"),
        ("twice()", "twice", "usage: twice(int)"),
        ("pick(3)", "pick", "pick: takes one list"),
        ("find(days)", "days", "a query takes a table or a list, and this is int"),
        ("find(tool, x)", "find", "usage: find(source) or find(source, x, condition)"),
        ("find(tool, 3, true)", "3", "the name of a variable is expected, such as x in find(table, x, ...)"),
        ("find(tool, days, true)", "days, true", "`days` is something else already: give the variable another name"),
        ("find(tool, x, x.name)", "x.name", "a condition is expected, and this is text"),
        ("all(tool)", "all", "usage: all(source, x, condition)"),
        ("sum(tool, x, x.name)", "x.name", "each element must be int, money, dec or duration, and this is text"),
        (
            "max(tool, x, x.kind)",
            "x.kind",
            "each element must be something that has an order, and this is enum drill saw ladder",
        ),
        ("sort(tool, x, x)", "x)", "each element must be something that has an order, and this is ref tool"),
        ("sum(find(tool))", "sum", "each element must be int, money, dec or duration, and this is ref tool"),
        ("tpl(note ?? '')", "note", "a template is literal text: write tpl('... ${value} ...')"),
        ("tpl('${dyas}')", "dyas", "there is no `dyas` here; did you mean `days`?"),
        ("tpl('a ${tpl(\"b\")}')", "\"b\"", "templates cannot be within each other: write all of it in the outer one"),
    ];
    expect(&table, None);
}

#[test]
fn null_that_is_not_handled() {
    let advice = |name: &str| {
        format!(
            "`{name}` may be null: test it first (`{name} != null && ...`), give a default (`{name} ?? ...`), or reach its \
             members with `{name}?.`"
        )
    };
    let (back, note, friend, spare) = (advice("loan.back"), advice("note"), advice("t.who.friend"), advice("t.spare"));
    let (price, phone, inner, old) = (advice("price"), advice("m.phone"), advice("l.back"), advice("old(loan.back)"));
    let table = [
        ("loan.back < today()", "loan.back", &*back),
        ("add_days(loan.back, 1)", "loan.back", &*back),
        ("loan.back == null && loan.back < today()", "loan.back < ", &*back),
        ("loan.back != null || loan.back < today()", "loan.back < ", &*back),
        ("(loan.back != null && true) || loan.back < today()", "loan.back < ", &*back),
        ("loan.back != null ? 1 : days_between(loan.back, today())", "loan.back, t", &*back),
        ("loan.back != null && old(loan.back) < today()", "old(loan.back) <", &*old),
        ("init(loan.back) != null && loan.back < today()", "loan.back < ", &*back),
        ("!(loan.back != null) && loan.back < today()", "loan.back < ", &*back),
        ("t.who.friend.name", "t.who.friend.name", &*friend),
        ("t.spare.name == 'a'", "t.spare", &*spare),
        ("has(note) || size(note) > 3", "note) >", &*note),
        ("price * 2", "price", &*price),
        ("price > 1.00", "price", &*price),
        ("note + 'a'", "note", &*note),
        ("tpl('${note}')", "note", &*note),
        ("map(member, m, upper(m.phone))", "m.phone", &*phone),
        ("sum(member, m, m.phone)", "m.phone", &*phone),
        ("any(loan, l, l.back != null) && any(loan, l, l.back < today())", "l.back < ", &*inner),
        ("null + 1", "null", "null means nothing here: write a value"),
        (
            "first(tool).name",
            "first",
            "this may be null: test it first (`x != null && ...`), give a default (`x ?? ...`), or reach its members with `x?.`",
        ),
        ("tool.state == null", "tool.state", "`tool.state` is never null: leave the test out"),
        ("null != days", "days", "`days` is never null: leave the test out"),
        ("has(days)", "days", "`days` is never null: leave the test out"),
        ("days ?? 3", "days", "`days` is never null: leave `??` and the default out"),
        ("loan.back ?? 'never'", "?? 'never'", "a default for date cannot be text: use one of the same type"),
    ];
    expect(&table, None);
}

#[test]
fn proofs_that_a_value_is_present() {
    let world = World::new();
    for source in [
        "loan.back != null && loan.back < today()",
        "null != loan.back && loan.back < today()",
        "has(loan.back) && loan.back < today()",
        "loan.back == null || loan.back < today()",
        "!has(loan.back) || loan.back < today()",
        "!(loan.back == null) && loan.back < today()",
        "!(loan.back == null || false) && loan.back < today()",
        "loan.back == null ? false : loan.back < today()",
        "loan.back != null ? loan.back < today() : false",
        "loan.back == today() && add_days(loan.back, 1) > today()",
        "loan.back in [today()] && loan.back < today()",
        "days > 3 && loan.back != null && (days > 4 || loan.back < today())",
        "(loan.back != null && note != null || loan.back != null && days > 1) && loan.back < today()",
        "t.who.friend?.friend != null && t.who.friend.friend.blocked",
        "t.spare != null && (t.spare.friend != null && t.spare.friend.blocked)",
        "init(loan.back) != null && init(loan).back < today()",
        "init(loan.back != null && loan.back < today())",
        "note != null && any(tool, x, x.name == note && starts_with(note, 'a'))",
        "sum(loan, l, l.back != null, days_between(l.back, today())) > 0",
        "loan.back != null && loan.back != null",
        "(loan.back ?? today()) < today()",
    ] {
        assert_eq!(
            world.check(source, Some(&Type::Bool)).map(|checked| checked.kind().clone()),
            Ok(Type::Bool),
            "{source}"
        );
    }
}

#[test]
fn places_that_ask_for_another_type() {
    let states = words(&["in", "out"]);
    expect(&[("'inn'", "'inn'", "'inn' is none of the words 'in', 'out'; did you mean 'in'?")], Some(&states));
    expect(&[("member.name", "member", "the value is text, and enum in out is expected here")], Some(&states));
    expect(
        &[
            ("5", "5", "the value is int, and money EUR is expected here"),
            ("1.005", "1.005", "money EUR has 2 digits behind the point, and this has 3: round it"),
        ],
        Some(&euro()),
    );
    expect(&[("null", "null", "the value is null, and int is expected here")], Some(&Type::Int));
    expect(
        &[("92233720368547758.08", "92233720368547758.08", "this number needs more than 64 bits: use a smaller one")],
        Some(&euro()),
    );
}

#[test]
fn names_out_of_scope() {
    let world = World::new();
    let mut scope = world.scope();
    (scope.roots, scope.now) = (crate::expression::Roots::default(), false);
    let table = [
        ("now > loan.at", "now", "there is no time here: write a date or a time out"),
        ("loan.due > today()", "today", "there is no time here: write a date or a time out"),
        ("old(tool).state == 'in'", "old", "the data at the start of the action is not known here: leave `old` out"),
        (
            "1 + count(init(find(tool)))",
            "init",
            "the data at the start of the episode is not known here: leave `init` out",
        ),
        ("init.now", "init", "the data at the start of the episode is not known here: leave `init` out"),
    ];
    compare(&table, |source| check(source, &scope, None).map(|checked| checked.kind().to_string()));
    let nested =
        [("old(init(tool).state) == 'in'", "init", "`old` and `init` cannot be within each other: use one of them")];
    expect(&nested, None);
}

#[test]
fn templates_that_are_wrong() {
    let world = World::new();
    let scope = world.scope();
    let table = [
        ("costs $5", "$5", "a `$` begins a hole `${...}`; a dollar sign is written `$$`"),
        ("for ${days", "${days", "this `${` has no closing `}`: add it"),
        ("for ${}", "}", "an expression is expected"),
        ("for ${dyas} days", "dyas", "there is no `dyas` here; did you mean `days`?"),
        ("Ö ${days} ${member}", "member", "ref member has no text: name one of its columns, or `.id`"),
    ];
    compare(&table, |source| compile_template(source, &scope).map(|_| "a template".to_owned()));
}

#[test]
fn one_look_finds_several_mistakes() {
    let world = World::new();
    let wrong = world.check("dyas > 1 && member.ballance > 0 && lowre('a') == 'a'", None).expect_err("three mistakes");
    assert_eq!(wrong.iter().map(|wrong| wrong.offset).collect::<Vec<_>>(), [0, 19, 35]);
}

#[test]
fn long_and_deep_sources_are_refused() {
    let world = World::new();
    let long = "1".repeat(4001);
    assert_eq!(world.check(&long, None).expect_err("too long")[0].message, "an expression has 4000 characters at most");
    for (open, close) in [("(", ")"), ("!", ""), ("-", ""), ("[", "]"), ("abs(", ")"), ("1 + (", ")"), ("null ?? ", "")]
    {
        let source = format!("{}1{}", open.repeat(400), close.repeat(400));
        let wrong = world.check(&source, None).expect_err("too deep");
        assert!(wrong[0].message.starts_with("more than 64 parts"), "{open}: {wrong:?}");
    }
    for source in [
        "1".to_owned() + &" + 1".repeat(900),
        "t".to_owned() + &".t".repeat(900),
        "sizes".to_owned() + &"[0]".repeat(900),
    ] {
        let wrong = world.check(&source, None).expect_err("too deep");
        assert!(wrong[0].message.starts_with("more than 64 parts"), "{wrong:?}");
    }
    let many = "true".to_owned() + &" && true".repeat(400);
    assert!(world.check(&many, None).is_ok(), "conditions in a row are not nested");
}

#[test]
fn the_deepest_source_that_is_taken_needs_little_room() {
    let world = World::new();
    let inner = format!("{}days{}", "[".repeat(30), "][0]".repeat(30));
    let deep = format!("{}days{}", "abs(".repeat(62), ")".repeat(62));
    let twice = format!("{}size(tpl('${{{deep}}}')){}", "abs(".repeat(60), ")".repeat(60));
    for source in [inner.clone(), format!("tpl('${{{inner}}}')"), deep, twice] {
        let checked = world.check(&source, None).unwrap_or_else(|wrong| panic!("{source}: {wrong:?}"));
        assert!(world.evaluate(&checked, &mut 1000).is_ok(), "{source}");
    }
}

#[test]
fn no_word_generator_takes_the_name_of_a_function() {
    let world = World::new();
    for generator in crate::words::all() {
        let call = format!("{}()", generator.name);
        let wrong = world.check(&call, None).expect_err("no generators are known here");
        let unknown = format!("there is no function `{}`", generator.name);
        assert!(wrong[0].message.starts_with(&unknown), "{call}: {}", wrong[0].message);
    }
}
