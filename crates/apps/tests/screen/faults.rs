//! Mistakes in screens, each with its place.

use crate::fixture::{SCREENS, TOOLSHED, load, messages};

#[test]
fn mistakes_are_reported_where_they_stand() {
    for (right, wrong, place, message) in [
        (
            "{list: tools, open: tool}",
            "{list: toolz, open: tool}",
            "toolz",
            "there is no view `toolz`; did you mean `tools`?",
        ),
        (
            "{list: tools, open: tool}",
            "{list: tools, open: tolo}",
            "tolo",
            "there is no screen `tolo`; did you mean `tool`?",
        ),
        ("{list: tools, open: tool}", "{list: tools, open: loan}", "loan}", "does not take a tool as its one argument"),
        ("{list: tools, open: tool}", "{list: tool_sheet, open: tool}", "tool_sheet", "this one shows a single row"),
        ("[{search: tools}", "[{search: members}", "members", "belongs to a list of `members` on the same screen"),
        ("{filters: tools}", "{filters: members}", "members", "belongs to a list of `members` on the same screen"),
        ("{search: members}", "{filters: members}", "members", "has nothing to `filter`"),
        ("{pager: open_loans}", "{pager: history}", "history", "belongs to a list of `history`"),
        ("{form: lend, fix: {tool: tool}", "{form: land, fix: {tool: tool}", "land", "there is no action `land`"),
        (
            "{form: lend, fix: {tool: tool}",
            "{form: lend, fix: {tol: tool}",
            "tol:",
            "there is no parameter of lend `tol`",
        ),
        ("{form: lend, fix: {tool: tool}", "{form: lend, fix: {days: tool}", "tool}", "int"),
        ("then: loans}", "then: tool}", "tool}", "`args` must give `tool`"),
        ("show: [name, kind", "show: [nam, kind", "nam,", "there is no column of tool `nam`"),
        ("{detail: loan}", "{detail: lend}", "lend", "there is no argument of the screen `lend`"),
        ("args: {member: member}, by: due", "by: due", "history", "must give the parameter `member`"),
        ("args: {member: member}, by: due", "args: {member: member}", "history", "`by` must name a date or an instant"),
        (
            "args: {member: member}, by: due",
            "args: {member: member}, by: fee",
            "fee",
            "`by` must name a date or an instant",
        ),
        ("when: \"tool.state == 'repair'\"", "when: tool.name", "tool.name", "bool"),
        ("title: \"${tool.name}\"", "title: \"${tool.nam}\"", "nam}", "no column `nam` in tool"),
        ("days_between(today(), loan.due)", "days_between(today(), row.due)", "row", "row"),
        (
            "{list: open_loans, open: loan,",
            "{list: open_loans,",
            "loan:",
            "no link leads from home to the screen `loan`",
        ),
        (
            "{button: scrap, fix: {tool: tool}, confirm: true, label: \"Scrap ${tool.name}\", then: tools}",
            "{banner: x}",
            "scrap:",
            "no screen offers the action `scrap`",
        ),
    ] {
        assert!(SCREENS.contains(right), "{right}");
        let text = format!("{TOOLSHED}{}", SCREENS.replacen(right, wrong, 1));
        let faults = load(&text).expect_err(wrong);
        let found = faults.iter().find(|fault| fault.message.contains(message));
        let Some(found) = found else { panic!("{wrong}: {}", messages(&faults)) };
        let line = text.lines().nth(found.position.line as usize - 1).expect("a line");
        let there: String = line.chars().skip(found.position.column as usize - 1).collect();
        assert!(there.contains(place), "{wrong}: {found} stands at {there:?}");
    }
}

#[test]
fn home_takes_no_arguments_and_must_exist() {
    let text =
        format!("{TOOLSHED}screens:\n  tool: {{title: Tool, args: {{tool: ref tool}}, body: [{{detail: tool}}]}}\n");
    let faults = load(&text).expect_err("home has arguments");
    assert!(messages(&faults).contains("the first screen is home"), "{}", messages(&faults));
    let faults = load(&format!("{TOOLSHED}screens: {{}}\n")).expect_err("there is no screen");
    assert!(messages(&faults).contains("there must be a screen"), "{}", messages(&faults));
}
