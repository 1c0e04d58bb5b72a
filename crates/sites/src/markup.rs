//! Small pieces of markup.

pub(crate) use palestra_widgets::text;

/// A link.
pub(crate) fn link(address: &str, name: &str) -> String {
    format!("<a href=\"{}\">{}</a>", text(address), text(name))
}

/// A row of a table, whose first cell is its heading.
pub(crate) fn row(cells: &[String]) -> String {
    let cells = cells.iter().enumerate().map(|(place, cell)| match place {
        0 => format!("<th scope=\"row\">{cell}</th>"),
        _ => format!("<td>{cell}</td>"),
    });
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

/// A day.
pub(crate) fn day(date: jiff::civil::Date) -> String {
    format!("<time datetime=\"{date}\">{}</time>", palestra_widgets::long(date))
}

/// Digits in groups of three.
pub(crate) fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}
