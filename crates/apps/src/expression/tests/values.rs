//! Values of expressions.

use super::world::World;
use crate::expression::DEFAULT_BUDGET;
use crate::value::Value;

/// A value as the tables of this file write it.
fn show(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(show).collect::<Vec<_>>().join(" ");
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Text(text) => format!("'{text}'"),
        Value::Row(row) => format!("{}{}", ["M", "T", "L", "S", "O"][usize::from(row.table.0)], row.number),
        Value::List(values) => format!("[{}]", list(values)),
        Value::Record(values) => format!("{{{}}}", list(values)),
    }
}

fn expect(table: &[(&str, &str)]) {
    let world = World::new();
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(source, wanted)| {
            let found = match world.check(source, None) {
                Ok(checked) => match world.evaluate(&checked, &mut DEFAULT_BUDGET.clone()) {
                    Ok(value) => show(&value),
                    Err(error) => format!("error: {error}"),
                },
                Err(wrong) => format!("{wrong:?}"),
            };
            (found != *wanted).then(|| format!("{source}\n  gives  {found}\n  wanted {wanted}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn literals() {
    expect(&[
        ("12", "12"),
        ("-3", "-3"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("true", "true"),
        ("null", "null"),
        ("'it''s'", "[Wrong { offset: 4, message: \"an operator or the end is expected, found a text\" }]"),
        (r"'it\'s'", "'it's'"),
        (r#""a\n\"b\\""#, "'a\n\"b\\'"),
        ("12.50", "1250"),
        ("-0.5", "-5"),
        ("[1, 2]", "[1 2]"),
        ("['a', 'b', ]", "['a' 'b']"),
        ("[days, 1]", "[3 1]"),
        ("date('2031-05-05')", "22404"),
        ("instant('2031-05-05T09:00')", "1935730800"),
        ("instant('2031-05-05T09:00Z')", "1935738000"),
        ("duration('1h30m')", "5400"),
    ]);
}

#[test]
fn precedence() {
    expect(&[
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 3 - 2", "5"),
        ("-2 * 3", "-6"),
        ("- (2 + 3)", "-5"),
        ("7 % 4 * 2", "6"),
        ("true || false && false", "true"),
        ("!true || true", "true"),
        ("1 + 1 == 2 && 2 < 3", "true"),
        ("true ? 1 : false ? 2 : 3", "1"),
        ("false ? 1 : false ? 2 : 3", "3"),
        ("loan.back ?? today() == today()", "true"),
        ("note ?? t.spare?.phone ?? 'none'", "'none'"),
        ("price ?? 0 + 1.00 > 3.00", "false"),
        (
            "1 in [1] == true",
            "[Wrong { offset: 9, message: \"comparisons do not chain: join two with `&&`, or use parentheses\" }]",
        ),
    ]);
}

#[test]
fn arithmetic() {
    expect(&[
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 2", "-1"),
        ("1 / 0", "error: a division by zero is out of range"),
        ("1 % (days - 3)", "error: a division by zero is out of range"),
        ("least / -1", "error: a quotient is out of range"),
        ("least % -1", "error: a remainder is out of range"),
        ("-least", "error: a number is out of range"),
        ("abs(least)", "error: abs is out of range"),
        ("9223372036854775807 + 1", "error: a sum is out of range"),
        ("least - 1", "error: a difference is out of range"),
        ("least * 2", "error: a product is out of range"),
        ("tool.day_fee * days", "1200"),
        ("days * tool.day_fee", "1200"),
        ("member.balance - tool.day_fee", "4600"),
        ("-tool.day_fee", "-400"),
        ("tool.day_fee + 1.5", "550"),
        ("tool.day_fee + 0", "400"),
        ("0 - tool.day_fee", "-400"),
        ("tool.day_fee + cents(7)", "407"),
        ("tool.rate * 3", "150"),
        ("tool.rate + 0.25", "75"),
        ("loan.length * 2", "10800"),
        ("now + duration('2h') - now", "7200"),
        ("now - loan.at == duration('0s')", "true"),
        ("now + days(4000000)", "error: a sum is out of range"),
        ("'a' + 'b' + text(1)", "'ab1'"),
        ("money(700, 'EUR') + 1.00", "800"),
        ("dec(3, 2) + 0.25", "325"),
        ("twice(4) + 1", "9"),
    ]);
}

#[test]
fn comparisons() {
    expect(&[
        ("tool.state == 'in'", "true"),
        ("'in' == tool.state", "true"),
        ("tool.state != 'out'", "true"),
        ("tool.kind == kind", "true"),
        (
            "member.balance >= 50",
            "[Wrong { offset: 15, message: \"`>=` cannot compare money EUR with int: write the amount with its decimals, or cents(n) for a number of minor units\" }]",
        ),
        ("member.balance >= 50.00", "true"),
        ("50.01 <= member.balance", "false"),
        ("member.balance > 0", "true"),
        ("loan.tool == tool", "false"),
        ("loan.member == member", "true"),
        ("loan.due < date('2031-05-06')", "true"),
        ("loan.at <= now", "true"),
        ("loan.length > minutes(89)", "true"),
        ("'abc' < 'abd'", "true"),
        ("tool.rate == 0.5", "true"),
        ("days in [1, 3]", "true"),
        ("tool.state in ['out', 'repair']", "false"),
        ("'in' in map(tool, x, x.state)", "true"),
        ("2 in sizes", "true"),
        ("loan.back == null", "true"),
        ("null == loan.back", "true"),
        ("loan.back == today()", "false"),
        ("loan.back in [today()]", "false"),
        ("note == 'x'", "false"),
        ("note == t.spare?.phone", "true"),
        ("[1, 2] == [1, 2]", "true"),
        (
            "tool == t.who.friend",
            "[Wrong { offset: 5, message: \"`==` cannot compare ref tool with ref member: compare values of one type\" }]",
        ),
        ("member == t.who.friend", "true"),
    ]);
}

#[test]
fn members_and_null() {
    expect(&[
        ("loan.member.name", "'Ada'"),
        ("loan.id + tool.id", "'L0T1'"),
        ("t.who.name", "'Zoë'"),
        ("t.spare?.name", "null"),
        ("t.spare?.friend?.name ?? 'nobody'", "'nobody'"),
        ("t.who.friend?.name", "'Ada'"),
        ("t.who.friend?.friend?.phone", "'456'"),
        ("t.who.friend != null ? t.who.friend.name : 'nobody'", "'Ada'"),
        ("t.who.friend == null ? 'nobody' : t.who.friend.name", "'Ada'"),
        ("has(t.who.friend) && t.who.friend.blocked", "false"),
        ("note == null || size(note) > 3", "true"),
        ("note ?? 'none'", "'none'"),
        ("t.who.phone ?? null", "null"),
        ("settings.limit", "3"),
        ("settings.tags[1]", "'old'"),
        ("sizes[0]", "3"),
        ("sizes[4]", "error: the list has no element 4"),
        ("sizes[-1]", "error: the list has no element -1"),
        ("pairs[1].note", "'heavy'"),
        ("pairs[0].item.name", "'Drill one'"),
        ("gone.name", "error: a row that no longer exists was read"),
        ("gone.id", "error: a row that no longer exists was read"),
        ("exists(gone)", "false"),
        ("exists(tool)", "true"),
        ("by_id(tool, 'T2')", "T2"),
        ("by_id(tool, 'M2')", "null"),
    ]);
}

#[test]
fn queries() {
    expect(&[
        ("find(tool)", "[T0 T1 T2 T3]"),
        ("find(tool, x, x.state == 'in')", "[T1 T2]"),
        ("find(tool, x, x.kind == kind && x.state == 'in')", "[T1]"),
        ("find(pairs, p, p.count > 1)[0].item", "T0"),
        ("count(tool)", "4"),
        ("count(order)", "0"),
        ("count(sizes)", "4"),
        ("count(sizes, s, s == 3)", "2"),
        ("count(tool, x, x.day_fee <= 4.00)", "3"),
        ("any(loan, l, l.tool == tool && l.back == null)", "false"),
        ("any(loan, l, l.member == member)", "true"),
        ("all(tool, x, (x.state == 'out') == any(loan, l, l.tool == x && l.back == null))", "true"),
        ("all(loan, l, l.member == member)", "false"),
        ("none(loan, l, l.due > today())", "true"),
        ("first(tool, x, x.kind == 'drill')", "T0"),
        ("last(tool, x, x.kind == 'drill')", "T3"),
        ("first(tool, x, x.name == 'none')", "null"),
        ("first(order)", "null"),
        ("first(sizes) ?? 0", "3"),
        ("one(tool, x, x.kind == 'saw').name", "'Big saw'"),
        ("one(tool, x, x.kind == 'drill')", "error: exactly one row was expected"),
        ("one(order)", "error: exactly one row was expected"),
        ("one(member, m, m.name == 'Ben')", "M1"),
        ("sum(tool, x, x.day_fee)", "1800"),
        ("sum(tool, x, x.state == 'in', x.day_fee)", "650"),
        ("sum(pairs, p, p.item.day_fee * p.count)", "750"),
        ("sum(sizes)", "9"),
        ("sum(order, o, 1.50)", "0"),
        ("sum([9223372036854775807, 1])", "error: a sum is out of range"),
        ("sum([9223372036854775807, 1, -1])", "9223372036854775807"),
        ("min(tool, x, x.day_fee)", "250"),
        ("max(tool, x, x.state == 'in', x.day_fee) ?? 0", "400"),
        ("min(sizes)", "1"),
        ("min(order, o, o.id)", "null"),
        ("map(tool, x, x.name)", "['Drill one' 'Big saw' 'Ladder' 'Drill two']"),
        ("map(tool, x, x.state == 'in', x.id)", "['T1' 'T2']"),
        ("map(loan, l, l.back)", "[null 22399]"),
        ("map(loan, l, l.back != null, l.back)", "[22399]"),
        ("sort(tool, x, x.day_fee)", "[T0 T2 T1 T3]"),
        ("sort_desc(tool, x, x.day_fee)", "[T3 T1 T0 T2]"),
        ("sort(tool, x, x.state)", "[T1 T2 T0 T3]"),
        ("sort(sizes, s, -s)", "[3 3 2 1]"),
        ("distinct(pairs, p, p.item)", "true"),
        ("distinct(sizes, s, s)", "false"),
        ("unique(sizes)", "[3 1 2]"),
        ("take(sizes, 2)", "[3 1]"),
        ("take(sizes, 9)", "[3 1 2 3]"),
        ("take(sizes, -1)", "error: the number of elements is out of range"),
        ("reverse(take(sizes, 3))", "[2 1 3]"),
        ("concat(sizes, [9])", "[3 1 2 3 9]"),
        ("contains(sizes, 2)", "true"),
        ("contains(map(tool, x, x.state), 'repair')", "true"),
        ("contains(map(loan, l, l.back), null)", "true"),
        ("size(find(tool))", "4"),
        ("pick(find(tool, x, x.state == 'in'))", "T1"),
        ("pick(find(order))", "error: nothing to pick"),
        // The rows of the index are those of a full pass, also when its key is null or cannot be had.
        ("find(loan, l, l.back == loan.back)", "[L0]"),
        ("find(loan, l, days > 5 && l.tool == find(tool)[days])", "[]"),
        ("find(loan, l, days > 5 && l.tool == find(tool)[days + 9])", "[]"),
        ("find(loan, l, l.tool == find(tool)[days + 9])", "error: the list has no element 12"),
        ("find(member, m, t.spare != null && m.name == t.spare.name)", "[]"),
        ("map(member, m, count(loan, l, l.member == m))", "[1 0 1]"),
    ]);
}

#[test]
fn texts() {
    expect(&[
        ("lower('ÄB')", "'äb'"),
        ("upper(text(tool.state))", "'IN'"),
        ("trim('  a ')", "'a'"),
        ("contains('abc', 'bc')", "true"),
        ("starts_with('abc', 'ab')", "true"),
        ("ends_with('abc', 'ab')", "false"),
        ("size('Zoë')", "3"),
        ("replace('a-b-c', '-', '+')", "'a+b+c'"),
        ("replace('abc', '', 'x')", "error: the text to replace is out of range"),
        ("split('a,b,,c', ',')", "['a' 'b' '' 'c']"),
        ("split('abc', '')", "error: the separator is out of range"),
        ("join(map(tool, x, x.name), '; ')", "'Drill one; Big saw; Ladder; Drill two'"),
        ("join(map(tool, x, x.state), ' ')", "'out in in repair'"),
        ("matches_words('Big yellow Saw', 'sa bi')", "true"),
        ("matches_words('Big yellow Saw', 'aw')", "false"),
        ("matches_words('Big', '')", "true"),
        ("text(12) + text(true)", "'12true'"),
        ("text(member.balance)", "'50.00'"),
        ("text(-0.05)", "'-0.05'"),
        ("text(money(5, 'JPY')) + text(money(5, 'KWD'))", "'50.005'"),
        ("text(loan.due)", "'2031-05-05'"),
        ("text(now)", "'2031-05-05 09:00'"),
        ("text(now + seconds(5))", "'2031-05-05 09:00:05'"),
        ("text(loan.length)", "'1h30m'"),
        ("text(tool.state)", "'in'"),
        ("text(sizes)", "'3, 1, 2, 3'"),
        ("tpl('Return ${loan.tool.name} by ${loan.due}, $$5')", "'Return Drill one by 2031-05-05, $5'"),
        ("tpl('${map(pairs, p, p.item.name)}')", "'Drill one, Ladder'"),
        (r#"tpl('${"}" + \'a\'}')"#, "'}a'"),
    ]);
}

#[test]
fn numbers() {
    expect(&[
        ("abs(-5) + abs(5)", "10"),
        ("abs(-5.25)", "525"),
        ("min2(3, days + 1)", "3"),
        ("min2(5, tool.day_fee)", "[Wrong { offset: 8, message: \"`min2` takes int here, and this is money EUR\" }]"),
        ("min2(0, tool.day_fee)", "0"),
        ("max2(tool.day_fee, 4.01)", "401"),
        ("max2('a', 'b')", "'b'"),
        ("clamp(days, 5, 9)", "5"),
        ("clamp(12, 5, 9)", "9"),
        ("clamp(7, 9, 5)", "error: the range of clamp is out of range"),
        ("mul_div(10, 1, 4)", "3"),
        ("mul_div(-10, 1, 4)", "-3"),
        ("mul_div(10, 1, 4, 'half_even')", "2"),
        ("mul_div(30, 1, 4, 'half_even')", "8"),
        ("mul_div(11, 1, 4, 'down')", "2"),
        ("mul_div(9, 1, 4, 'up')", "3"),
        ("mul_div(-9, 1, 4, 'up')", "-3"),
        ("mul_div(9, -1, 4, 'down')", "-2"),
        ("mul_div(tool.day_fee, 1, 3)", "133"),
        ("mul_div(9223372036854775807, 4, 8)", "4611686018427387904"),
        ("mul_div(9223372036854775807, 2, 1)", "error: mul_div is out of range"),
        ("mul_div(1, 1, 0)", "error: a division by zero is out of range"),
        ("tool.day_fee * 1.5", "600"),
        ("1.5 * tool.day_fee", "600"),
        ("tool.day_fee * 0.00125", "1"),
        ("-1.00125 * tool.day_fee", "-401"),
        ("tool.day_fee * dec(3, 2)", "1200"),
        ("tool.day_fee * 0.125 == 0.50", "true"),
        ("tool.day_fee * 99999999999999999.9", "error: mul_div is out of range"),
        ("percent(tool.day_fee, 1250)", "50"),
        ("percent(200, 25)", "1"),
        ("split(money(1000, 'EUR'), 3)", "[334 333 333]"),
        ("split(money(-1000, 'EUR'), 3)", "[-334 -333 -333]"),
        ("sum(split(tool.day_fee, 7))", "400"),
        ("split(tool.day_fee, 0)", "error: the number of parts is out of range"),
        ("int(tool.day_fee) + int(tool.rate)", "450"),
    ]);
}

#[test]
fn dates_and_times() {
    expect(&[
        ("today()", "22404"),
        ("date(now)", "22404"),
        ("time_of_day(now)", "32400"),
        ("instant(today(), '09:00') == now", "true"),
        ("instant(today(), hours(9)) == now", "true"),
        ("instant(today(), hours(25))", "error: the time of day is out of range"),
        ("add_days(today(), days)", "22407"),
        ("add_days(today(), 9223372036854775807)", "error: add_days is out of range"),
        ("text(add_months(date('2031-01-31'), 1))", "'2031-02-28'"),
        ("days_between(today(), loan.due)", "0"),
        ("days_between(date('2031-05-01'), today())", "4"),
        ("weekday(today())", "1"),
        ("text(week_start(date('2031-05-08')))", "'2031-05-05'"),
        ("text(start_of_month(date('2031-05-08')))", "'2031-05-01'"),
        ("year(today()) * 10000 + month(today()) * 100 + day(today())", "20310505"),
        ("overlap(now, now + hours(1), now + hours(1), now + hours(2))", "false"),
        ("overlap(now, now + hours(1), now + minutes(59), now + hours(2))", "true"),
        ("minutes_of(duration('2h1m59s'))", "121"),
        ("days(1) == hours(24)", "true"),
        ("hours(9223372036854775807)", "error: a duration is out of range"),
    ]);
}

#[test]
fn earlier_data() {
    expect(&[
        ("old(tool.state)", "'in'"),
        ("map(tool, x, old(x.state))", "['in' 'in' 'in' 'in']"),
        ("map(tool, x, x.state != old(x).state, x.id)", "['T0' 'T3']"),
        ("init(member).balance - member.balance", "2000"),
        ("init(member).balance == init(member.balance)", "true"),
        ("init(loan).member.balance", "7000"),
        ("init(count(tool, x, x.state == 'in'))", "4"),
        ("init(find(tool))[0].state", "'in'"),
        ("init.today", "22403"),
        ("init.now < now", "true"),
        ("init(today()) == init.today", "true"),
        ("old(now) == now", "true"),
        ("(init(t.who).friend != null) && init(t.who).friend.balance > 60.00", "true"),
        ("init(exists(gone))", "false"),
    ]);
}
