//! The screen as text that a language model can act on: one line an element, indented, ids of what can be acted on in brackets.

use std::fmt::{self, Write as _};

use super::tree::{AriaRole, Element, Tree};

/// Options of one element that are written out.
const OPTIONS_SHOWN: usize = 60;

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for element in &self.elements {
            write_element(&mut text, element, 0)?;
        }
        if let Some(scroll) = self.scroll {
            writeln!(text, "(part {} of {} of the long texts; scroll up or down)", scroll.part, scroll.parts)?;
        }
        if self.back {
            writeln!(text, "(back leads to the screen before, home to the first)")?;
        }
        f.write_str(&text)
    }
}

fn write_element(out: &mut String, element: &Element, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    let value = element.value.as_deref().unwrap_or_default();
    match element.role {
        AriaRole::Heading => writeln!(out, "{indent}# {}", flat(&element.name))?,
        AriaRole::Alert => writeln!(out, "{indent}! {}", flat(value))?,
        AriaRole::Status => writeln!(out, "{indent}* {}", flat(value))?,
        AriaRole::Cell if element.children.is_empty() => {
            if value.contains('\n') {
                writeln!(out, "{indent}{}:", element.name)?;
                for line in value.lines() {
                    writeln!(out, "{indent}  | {line}")?;
                }
            } else {
                writeln!(out, "{indent}{}: {value}", element.name)?;
            }
        }
        AriaRole::Listitem => return write_row(out, element, depth),
        AriaRole::Navigation | AriaRole::Tablist => return write_line(out, element, depth),
        AriaRole::Group | AriaRole::Search | AriaRole::Form if element.name.is_empty() => {
            return element.children.iter().try_for_each(|child| write_element(out, child, depth));
        }
        _ if element.command.is_some() => {
            out.push_str(&indent);
            write_control(out, element)?;
            out.push('\n');
        }
        role if element.name.is_empty() => writeln!(out, "{indent}{}", role.word())?,
        AriaRole::Group | AriaRole::Cell => writeln!(out, "{indent}{}", element.name)?,
        role => writeln!(out, "{indent}{} \"{}\"", role.word(), flat(&element.name))?,
    }
    element.children.iter().try_for_each(|child| write_element(out, child, depth + 1))
}

/// Links and tabs, all on one line.
fn write_line(out: &mut String, element: &Element, depth: usize) -> fmt::Result {
    write!(out, "{}{}:", "  ".repeat(depth), element.role.word())?;
    for child in &element.children {
        out.push(' ');
        write_control(out, child)?;
    }
    out.push('\n');
    Ok(())
}

/// A row: its plain values and controls on one line, what is nested below.
fn write_row(out: &mut String, row: &Element, depth: usize) -> fmt::Result {
    write!(out, "{}- {}", "  ".repeat(depth), flat(&row.name))?;
    let plain = |child: &&Element| child.children.is_empty() && child.role == AriaRole::Cell;
    for (place, cell) in row.children.iter().filter(plain).enumerate() {
        let value = flat(cell.value.as_deref().unwrap_or_default());
        write!(out, "{}{}: {value}", if place == 0 { " | " } else { "; " }, cell.name)?;
    }
    for control in row.children.iter().filter(|child| child.command.is_some()) {
        out.push(' ');
        write_control(out, control)?;
    }
    out.push('\n');
    let nested = row.children.iter().filter(|child| !plain(child) && child.command.is_none());
    nested.into_iter().try_for_each(|child| write_element(out, child, depth + 1))
}

fn write_control(out: &mut String, element: &Element) -> fmt::Result {
    write!(out, "[{}] {} {:?}", element.id, element.role.word(), element.name)?;
    if let Some(value) = &element.value {
        write!(out, " = {value:?}")?;
    }
    if !element.options.is_empty() {
        let shown = element.options.iter().filter(|option| !option.value.is_empty()).take(OPTIONS_SHOWN);
        let shown: Vec<String> = shown
            .map(|option| {
                if *option.value == *option.name {
                    option.name.clone()
                } else {
                    format!("{}={}", option.value, option.name)
                }
            })
            .collect();
        write!(out, " of ({})", flat(&shown.join(" | ")))?;
    }
    if let Some(hint) = &element.hint {
        write!(out, " ({hint})")?;
    }
    if element.required {
        out.push_str(" required");
    }
    if element.disabled {
        out.push_str(" disabled");
    }
    if let Some(invalid) = &element.invalid {
        write!(out, " invalid: {}", flat(invalid))?;
    }
    Ok(())
}

/// On one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
