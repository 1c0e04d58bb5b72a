//! Tables, views and indexes in words.

use super::cells::line;
use crate::engine::{Schema, TableInfo};

const WORDS_CHARS_MAX: usize = 500;

/// `orders (id integer, placed_on date)`.
fn table_line(table: &TableInfo) -> String {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| line(format!("{} {}", column.name, column.type_name).trim_end(), 100))
        .collect();
    let view = if table.view { "view " } else { "" };
    format!("{view}{} ({})", line(&table.name, 100), columns.join(", "))
}

/// One table or view with everything that is known of it.
pub(crate) fn table_text(table: &TableInfo, schema: &Schema) -> String {
    let mut lines = vec![format!("{} {}", if table.view { "View" } else { "Table" }, line(&table.name, 100))];
    for column in &table.columns {
        let not_null = if column.not_null { " not null" } else { "" };
        let default = column.default.as_ref().map(|words| format!(" default {words}")).unwrap_or_default();
        lines.push(format!("  {}", line(&format!("{} {}{not_null}{default}", column.name, column.type_name), 300)));
    }
    if !table.primary_key.is_empty() {
        lines.push(format!("  primary key ({})", table.primary_key.join(", ")));
    }
    lines.extend(table.unique.iter().map(|columns| format!("  unique ({})", columns.join(", "))));
    lines.extend(table.foreign_keys.iter().map(|key| {
        let columns = key.columns.join(", ");
        let on_delete = match key.on_delete.as_str() {
            "" | "NO ACTION" => String::new(),
            action => format!(" on delete {}", action.to_lowercase()),
        };
        format!("  foreign key ({columns}) references {} ({}){on_delete}", key.table, key.references.join(", "))
    }));
    lines.extend(table.checks.iter().map(|words| format!("  check ({})", line(words, WORDS_CHARS_MAX))));
    lines.extend(schema.indexes.iter().filter(|index| index.table == table.name).map(|index| {
        let unique = if index.unique { "unique " } else { "" };
        let condition = index.condition.as_ref().map(|words| format!(" where {words}")).unwrap_or_default();
        line(&format!("  {unique}index {} ({}){condition}", index.name, index.columns.join(", ")), WORDS_CHARS_MAX)
    }));
    let triggers = schema.triggers.iter().filter(|(_, of)| *of == table.name);
    lines.extend(triggers.map(|(name, _)| format!("  trigger {}", line(name, 100))));
    if table.view {
        lines.extend(table.sql.iter().map(|sql| format!("  as: {}", line(sql, 2_000))));
    }
    lines.join("\n")
}

/// All of it, in at most so many bytes; what is missing is named.
pub(crate) fn schema_text(schema: &Schema, bytes_max: usize) -> String {
    if schema.tables.is_empty() {
        return "(no tables)".to_owned();
    }
    bounded(schema, bytes_max, &|table| table_text(table, schema))
}

/// As much of the tables as there is room for.
fn bounded(schema: &Schema, bytes_max: usize, print: &dyn Fn(&TableInfo) -> String) -> String {
    let mut out = String::new();
    for (at, table) in schema.tables.iter().enumerate() {
        let printed = print(table);
        if out.len() + printed.len() > bytes_max {
            let names: Vec<String> = schema.tables[at..].iter().take(50).map(|table| line(&table.name, 60)).collect();
            out.push_str(&format!("({} more: {})", schema.tables.len() - at, names.join(", ")));
            return out;
        }
        out.push_str(&printed);
        out.push('\n');
    }
    out.trim_end().to_owned()
}

/// One line for each table.
pub(crate) fn schema_lines(schema: &Schema, bytes_max: usize) -> String {
    if schema.tables.is_empty() {
        return "(no tables)".to_owned();
    }
    bounded(schema, bytes_max, &table_line)
}
