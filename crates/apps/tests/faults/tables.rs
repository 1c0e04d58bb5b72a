//! Mistakes in tables and in how their first rows are made.

use super::Mistake;

pub(super) const MISTAKES: &[Mistake] = &[
    (
        "balance: money EUR,",
        "balance: money,",
        "app.yaml:6:59: tables.member.cols.balance: money takes a currency of three letters: `money EUR`",
    ),
    (
        "blocked: bool = false",
        "blocked: boolean",
        "app.yaml:6:79: tables.member.cols.blocked: `boolean` is no type: write one of bool, int, text, date, instant, duration, money, dec, enum, ref, list, opt",
    ),
    (
        "blocked: bool = false",
        "blocked: bool = maybe",
        "app.yaml:6:79: tables.member.cols.blocked: the default `maybe` does not fit, correct it: there is no `maybe` here: define it first, or quote it if it is text",
    ),
    (
        "member: ref member, text: text",
        "member: ref members, text: text",
        "app.yaml:9:39: tables.notice.cols.member: there is no table `members`; did you mean `member`?",
    ),
    (
        r#"kind: "enum drill saw ladder""#,
        r#"kind: "enum drill saw drill""#,
        "app.yaml:7:49: tables.tool.cols.kind: the word `drill` stands twice in the enum: leave one out",
    ),
    (
        r#"state: "enum in out repair = in""#,
        r#"state: "enum in out repair = lost""#,
        "app.yaml:7:102: tables.tool.cols.state: the default `lost` does not fit, correct it: there is no `lost` here: define it first, or quote it if it is text",
    ),
    (
        "name: text unique",
        "name: text unike",
        "app.yaml:6:37: tables.member.cols.name: `unike` is no flag of a column; unique, index, volatile, secret, restrict, cascade, null",
    ),
    (
        "due: date,",
        "due: date cascade,",
        "app.yaml:8:85: tables.loan.cols.due: only a reference says what happens on deletion",
    ),
    (
        "tool: ref tool restrict",
        "tool: ref tool null",
        "app.yaml:8:31: tables.loan.cols.tool: a reference that becomes null must be optional",
    ),
    (
        r#"id: "M{4}""#,
        r#"id: "M{12}""#,
        r#"app.yaml:6:17: tables.member.id: "M{12}" is no pattern of ids: expected text with {1} to {9} once, such as "W{7}""#,
    ),
    (
        "name: text unique",
        "name: text 1..20",
        "app.yaml:6:37: tables.member.cols.name: a column has no bounds: guard the actions that write it, or add an invariant",
    ),
    (
        r#"notice: {id: "N{5}", cols: {member: ref member,"#,
        r#"notice: {id: "N{5}", owned_by: order, cols: {member: ref member,"#,
        "app.yaml:9:34: tables.notice.owned_by: there is no table `order`: use one of member, tool, loan, notice",
    ),
    (
        "text: text, at: instant}",
        "text: list ref tool, at: instant}",
        "app.yaml:9:51: tables.notice.cols.text: a list or a record holds no references: give them a table of their own",
    ),
    (
        "day_fee: money EUR,",
        "day_fee: dec 12,",
        "app.yaml:7:83: tables.tool.cols.day_fee: dec takes 1 to 9 digits behind the point: `dec 2`",
    ),
    (
        "at: instant}}",
        "id: text}}",
        "app.yaml:9:63: tables.notice.cols.id: `id` is a reserved word: choose another name",
    ),
    (
        "n: 40, name",
        r#"n: 40, nmae: "'x'", name"#,
        "app.yaml:11:19: seed.member.nmae: there is no column of member `nmae`; did you mean `name`?",
    ),
    (
        "member: {n: 40,",
        "members: {n: 40,",
        "app.yaml:11:3: seed.members: there is no table `members`; did you mean `member`?",
    ),
    (
        "n: 40, name: distinct person_name(), ",
        "n: 40, ",
        "app.yaml:11:3: seed.member: the column `name` has no default and must be set",
    ),
    (
        "name: distinct person_name()",
        "name: distinct random()",
        "app.yaml:11:34: seed.member.name: there is no function `random`: use one of docs/app-expressions.md",
    ),
    (
        r#""int(0, 8000)""#,
        r#""now""#,
        "app.yaml:11:59: seed.member.balance: the value is instant, and money EUR is expected here",
    ),
    (
        "kind: uniform",
        r#"kind: "'hammer'""#,
        "app.yaml:12:26: seed.tool.kind: 'hammer' is none of the words 'drill', 'saw', 'ladder': write one of them",
    ),
    ("n: 40,", r#"n: "'many'","#, "app.yaml:11:16: seed.member.n: the value is text, and int is expected here"),
    (
        "member: {n: 40, name",
        "member: {name",
        "app.yaml:11:3: seed.member: `member` needs `n`, `rows`, `each` or `per`",
    ),
    (
        r#"balance: "int(0, 8000)""#,
        r#"balance: "int(0, 8000""#,
        "app.yaml:11:70: seed.member.balance: `,` is expected in a call, found the end",
    ),
    (
        "seed:
",
        "seed:
  variants: 1000
",
        "app.yaml:11:13: seed.variants: expected a number from 1 to 32, found 1000",
    ),
];
