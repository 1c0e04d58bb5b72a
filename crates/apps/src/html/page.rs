//! Markup.

use std::fmt::{self, Write};

use super::form::{ELEMENT, GO, OPTION, SCROLL, TEXT};
use crate::screen::{AriaRole, Element, Tree};

/// The style sheet of every page, for the hash by which a content security policy allows it.
pub const STYLE: &str = include_str!("style.css");

/// A screen as a web page. Links lead to `base` with the id of their element as `element`; forms post to it.
#[must_use]
pub fn page(tree: &Tree, base: &str) -> String {
    let mut page = Page { out: String::new(), base, inside_form: false, level: 2 };
    // Writing to a string does not fail.
    let _written = page.whole(tree);
    page.out
}

struct Page<'a> {
    out: String,
    base: &'a str,
    inside_form: bool,
    /// Level of the next heading.
    level: u8,
}

impl Page<'_> {
    fn whole(&mut self, tree: &Tree) -> fmt::Result {
        let title = Escaped(&tree.title);
        write!(
            self.out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        )?;
        let (above, below): (Vec<&Element>, Vec<&Element>) =
            tree.elements.iter().partition(|element| element.role == AriaRole::Navigation);
        above.into_iter().try_for_each(|element| self.element(element))?;
        self.out.push_str("<main>\n<div aria-live=\"polite\">\n");
        let toasts = below.iter().take_while(|element| element.role != AriaRole::Heading);
        toasts.copied().try_for_each(|element| self.element(element))?;
        self.out.push_str("</div>\n");
        let rest = below.iter().skip_while(|element| element.role != AriaRole::Heading);
        rest.copied().try_for_each(|element| self.element(element))?;
        self.out.push_str("</main>\n<footer>\n");
        if let Some(scroll) = tree.scroll {
            writeln!(self.out, "<p>Part {} of {} of the long texts.</p>", scroll.part, scroll.parts)?;
            self.leave(SCROLL, "up", "Scroll up")?;
            self.leave(SCROLL, "down", "Scroll down")?;
        }
        if tree.back {
            self.leave(GO, "back", "Back")?;
        }
        self.leave(GO, "home", "Home")?;
        self.out.push_str("</footer>\n</body>\n</html>\n");
        Ok(())
    }

    fn leave(&mut self, field: &str, value: &str, name: &str) -> fmt::Result {
        let base = Escaped(self.base);
        writeln!(
            self.out,
            "<form method=\"post\" action=\"{base}\"><button name=\"{field}\" value=\"{value}\">{name}</button></form>"
        )
    }

    /// One element after the other; values that follow each other make one list.
    fn all(&mut self, elements: &[Element]) -> fmt::Result {
        let mut elements = elements;
        while let Some((first, rest)) = elements.split_first() {
            if first.role == AriaRole::Cell {
                let count = elements.iter().take_while(|element| element.role == AriaRole::Cell).count();
                let (cells, behind) = elements.split_at(count);
                self.values(cells)?;
                elements = behind;
            } else {
                self.element(first)?;
                elements = rest;
            }
        }
        Ok(())
    }

    fn values(&mut self, cells: &[Element]) -> fmt::Result {
        self.out.push_str("<dl>\n");
        for cell in cells {
            let (name, value) = (Escaped(&cell.name), Escaped(cell.value.as_deref().unwrap_or_default()));
            writeln!(self.out, "<dt>{name}</dt><dd>{value}</dd>")?;
        }
        self.out.push_str("</dl>\n");
        Ok(())
    }

    fn element(&mut self, element: &Element) -> fmt::Result {
        let (name, value) = (Escaped(&element.name), Escaped(element.value.as_deref().unwrap_or_default()));
        match element.role {
            AriaRole::Navigation => {
                writeln!(self.out, "<nav aria-label=\"{name}\"><ul>")?;
                for link in &element.children {
                    self.out.push_str("<li>");
                    self.element(link)?;
                    self.out.push_str("</li>\n");
                }
                self.out.push_str("</ul></nav>\n");
                Ok(())
            }
            AriaRole::Heading => writeln!(self.out, "<h1>{name}</h1>"),
            AriaRole::Status => writeln!(self.out, "<p class=\"toast\" role=\"status\">{value}</p>"),
            AriaRole::Alert => writeln!(self.out, "<p class=\"alert\" role=\"alert\">{value}</p>"),
            AriaRole::Cell => self.values(std::slice::from_ref(element)),
            AriaRole::Link => self.link(element),
            AriaRole::Button | AriaRole::Tab => self.button(element),
            AriaRole::Textbox | AriaRole::Searchbox | AriaRole::Checkbox | AriaRole::Combobox => {
                self.in_form(|page| page.input(element))
            }
            AriaRole::Form | AriaRole::Search => self.form(element),
            AriaRole::List => self.list(element),
            AriaRole::Listitem => {
                writeln!(self.out, "<section><h{0}>{name}</h{0}>", self.level)?;
                self.deeper(|page| page.all(&element.children))?;
                self.out.push_str("</section>\n");
                Ok(())
            }
            AriaRole::Tablist => {
                writeln!(self.out, "<div role=\"group\" aria-label=\"Tabs\">")?;
                self.all(&element.children)?;
                self.out.push_str("</div>\n");
                Ok(())
            }
            AriaRole::Dialog => {
                writeln!(self.out, "<section role=\"dialog\" aria-label=\"{name}\"><h{0}>{name}</h{0}>", self.level)?;
                self.deeper(|page| page.all(&element.children))?;
                self.out.push_str("</section>\n");
                Ok(())
            }
            AriaRole::Group => self.group(element),
        }
    }

    fn deeper(&mut self, write: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        self.level = (self.level + 1).min(6);
        let written = write(self);
        self.level -= 1;
        written
    }

    /// A form of its own around something, unless it stands in one.
    fn in_form(&mut self, write: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        if self.inside_form {
            return write(self);
        }
        writeln!(self.out, "<form method=\"post\" action=\"{}\">", Escaped(self.base))?;
        self.inside_form = true;
        let written = write(self);
        self.inside_form = false;
        self.out.push_str("</form>\n");
        written
    }

    fn form(&mut self, element: &Element) -> fmt::Result {
        let sends = |child: &Element| child.role == AriaRole::Button;
        let own = !element.children.iter().any(sends);
        self.in_form(|page| {
            if !element.name.is_empty() {
                writeln!(page.out, "<fieldset><legend>{}</legend>", Escaped(&element.name))?;
            }
            // The button that sends the form comes first in it, so that the key Enter presses that one.
            if let Some(submit) = element.children.iter().find(|child| child.id.ends_with("/form-submit")) {
                writeln!(
                    page.out,
                    "<button hidden name=\"{ELEMENT}\" value=\"{}\" tabindex=\"-1\"></button>",
                    Escaped(&submit.id)
                )?;
            }
            page.all(&element.children)?;
            if own {
                page.out.push_str("<button>Apply</button>\n");
            }
            if !element.name.is_empty() {
                page.out.push_str("</fieldset>\n");
            }
            Ok(())
        })
    }

    fn group(&mut self, element: &Element) -> fmt::Result {
        if element.name.is_empty() {
            return self.all(&element.children);
        }
        let name = Escaped(&element.name);
        if self.inside_form {
            writeln!(self.out, "<fieldset><legend>{name}</legend>")?;
            self.all(&element.children)?;
            self.out.push_str("</fieldset>\n");
            return Ok(());
        }
        writeln!(self.out, "<section><h{0}>{name}</h{0}>", self.level)?;
        self.deeper(|page| page.all(&element.children))?;
        self.out.push_str("</section>\n");
        Ok(())
    }

    fn link(&mut self, element: &Element) -> fmt::Result {
        let (base, id, name) = (Escaped(self.base), &element.id, Escaped(&element.name));
        let query = Encoded(id);
        write!(self.out, "<a href=\"{base}?{ELEMENT}={query}\" data-element=\"{}\">{name}</a> ", Escaped(id))
    }

    fn button(&mut self, element: &Element) -> fmt::Result {
        let (id, name) = (Escaped(&element.id), Escaped(&element.name));
        let pressed = if element.value.is_some() { " aria-pressed=\"true\"" } else { "" };
        let disabled = if element.disabled { " disabled" } else { "" };
        self.in_form(|page| {
            writeln!(
                page.out,
                "<button name=\"{ELEMENT}\" value=\"{id}\" data-element=\"{id}\"{pressed}{disabled}>{name}</button>"
            )
        })
    }

    fn input(&mut self, element: &Element) -> fmt::Result {
        let (id, name) = (Escaped(&element.id), Escaped(&element.name));
        let text = element.value.as_deref().unwrap_or_default();
        let value = Escaped(text);
        let mut marks = String::new();
        if element.invalid.is_some() {
            write!(marks, " aria-invalid=\"true\" aria-describedby=\"{id}-wrong\"")?;
        }
        if element.required {
            marks.push_str(" aria-required=\"true\"");
        }
        write!(marks, " id=\"{id}\" data-element=\"{id}\"")?;
        writeln!(self.out, "<label for=\"{id}\">{name}</label>")?;
        match element.role {
            AriaRole::Checkbox => {
                let checked = if text == "true" { " checked" } else { "" };
                writeln!(
                    self.out,
                    "<input type=\"hidden\" name=\"{OPTION}{id}\" value=\"false\">\
                     <input type=\"checkbox\" name=\"{OPTION}{id}\" value=\"true\"{checked}{marks}>"
                )?;
            }
            AriaRole::Combobox => {
                writeln!(self.out, "<select name=\"{OPTION}{id}\"{marks}>")?;
                for option in &element.options {
                    let selected = if *option.value == *text { " selected" } else { "" };
                    let (value, name) = (Escaped(&option.value), Escaped(&option.name));
                    writeln!(self.out, "<option value=\"{value}\"{selected}>{name}</option>")?;
                }
                self.out.push_str("</select>\n");
            }
            // A line break right behind the tag would be left out by browsers.
            _ if element.multiline => writeln!(self.out, "<textarea name=\"{TEXT}{id}\"{marks}>\n{value}</textarea>")?,
            role => {
                let kind = if role == AriaRole::Searchbox { "search" } else { "text" };
                writeln!(self.out, "<input type=\"{kind}\" name=\"{TEXT}{id}\" value=\"{value}\"{marks}>")?;
            }
        }
        if let Some(hint) = &element.hint {
            writeln!(self.out, "<p class=\"hint\">{}</p>", Escaped(hint))?;
        }
        if let Some(wrong) = &element.invalid {
            writeln!(self.out, "<p class=\"invalid\" id=\"{id}-wrong\">{}</p>", Escaped(wrong))?;
        }
        Ok(())
    }

    /// Rows as a table where they are alike; what stands around them before and behind it.
    fn list(&mut self, list: &Element) -> fmt::Result {
        let name = Escaped(&list.name);
        writeln!(self.out, "<section aria-label=\"{name}\"><h{0}>{name}</h{0}>", self.level)?;
        self.deeper(|page| {
            let mut children = list.children.as_slice();
            while let Some((first, rest)) = children.split_first() {
                if first.role == AriaRole::Listitem && is_flat(first) {
                    let rows = children.iter().take_while(|row| row.role == AriaRole::Listitem && is_flat(row));
                    let (table, behind) = children.split_at(rows.count());
                    page.table(table)?;
                    children = behind;
                } else {
                    page.element(first)?;
                    children = rest;
                }
            }
            Ok(())
        })?;
        self.out.push_str("</section>\n");
        Ok(())
    }

    fn table(&mut self, rows: &[Element]) -> fmt::Result {
        let cells = |row: &Element| -> Vec<String> {
            row.children.iter().filter(|cell| cell.role == AriaRole::Cell).map(|cell| cell.name.clone()).collect()
        };
        let mut columns: Vec<String> = Vec::new();
        for name in rows.iter().flat_map(cells) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        self.out.push_str("<table><thead><tr><th scope=\"col\">Entry</th>");
        for name in &columns {
            write!(self.out, "<th scope=\"col\">{}</th>", Escaped(name))?;
        }
        self.out.push_str("<th scope=\"col\">Actions</th></tr></thead><tbody>\n");
        for row in rows {
            write!(self.out, "<tr data-row=\"{}\"><th scope=\"row\">{}</th>", Escaped(&row.id), Escaped(&row.name))?;
            for name in &columns {
                let cell = row.children.iter().find(|cell| cell.role == AriaRole::Cell && cell.name == *name);
                let value = cell.and_then(|cell| cell.value.as_deref()).unwrap_or_default();
                write!(self.out, "<td>{}</td>", Escaped(value))?;
            }
            self.out.push_str("<td>");
            for control in row.children.iter().filter(|child| child.role != AriaRole::Cell) {
                self.element(control)?;
            }
            self.out.push_str("</td></tr>\n");
        }
        self.out.push_str("</tbody></table>\n");
        Ok(())
    }
}

/// True if a row fits into a row of a table.
fn is_flat(row: &Element) -> bool {
    row.children.iter().all(|child| !matches!(child.role, AriaRole::List | AriaRole::Listitem | AriaRole::Group))
}

/// Text in markup, in an element or between double quotes.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // Not allowed in markup at all.
                letter if letter.is_control() && !letter.is_whitespace() => f.write_str("\u{fffd}")?,
                letter => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// Text in the query of a link (RFC 3986).
struct Encoded<'a>(&'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                    f.write_char(char::from(byte))?;
                }
                other => write!(f, "%{other:02X}")?,
            }
        }
        Ok(())
    }
}
