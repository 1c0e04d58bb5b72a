//! Aliases of the names of a session's slot in everything that the acting side reads, since every slot has others.

use super::server::Server;
use super::template::GROUPS;

/// Stands in for the database and its role.
const SESSION: &str = "palestra_session";

/// Schemas of temporary objects, as the server names them before a number.
const TEMPORARY: &str = "_temp_";

/// Aliases by name.
pub(super) struct Aliases {
    /// Prefix of all of ours.
    prefix: String,
    names: Vec<(String, String)>,
}

impl Aliases {
    /// Those of a place, by the name that its database and role have.
    pub(super) fn new(server: &Server, slot: &str) -> Self {
        let group = |group: &str| (server.name(group), format!("palestra_{group}"));
        let mut names = vec![(slot.to_owned(), SESSION.to_owned())];
        names.extend(GROUPS.map(group));
        Self { prefix: server.name(""), names }
    }

    /// A text with the names that stand in.
    pub(super) fn put(&self, mut text: String) -> String {
        if text.contains(&self.prefix) {
            for (name, stand_in) in &self.names {
                text = text.replace(name, stand_in);
            }
        }
        if text.contains(TEMPORARY) { without_numbers(&text) } else { text }
    }
}

/// `pg_temp_3` is the schema of what is temporary on one connection and `pg_temp_4` that on another: both are `pg_temp`.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(TEMPORARY) {
        let (before, after) = (&rest[..at], &rest[at + TEMPORARY.len()..]);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let schema = digits > 0 && (before.ends_with("pg") || before.ends_with("pg_toast"));
        out.push_str(before);
        out.push_str(if schema { "_temp" } else { TEMPORARY });
        rest = &after[if schema { digits } else { 0 }..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_place_are_replaced_wherever_they_are() {
        let names = vec![("palestra_n_s_0000000001".to_owned(), SESSION.to_owned())];
        let aliases = Aliases { prefix: "palestra_n_".to_owned(), names };
        let put = |text: &str| aliases.put(text.to_owned());
        assert_eq!(put("database \"palestra_n_s_0000000001\""), "database \"palestra_session\"");
        assert_eq!(put("{pg_temp_3.a,pg_toast_temp_12}"), "{pg_temp.a,pg_toast_temp}");
        assert_eq!(put("my_temp_3 pg_temp_x pg_temp_"), "my_temp_3 pg_temp_x pg_temp_");
        assert_eq!(put("ä palestra_n_s_1"), "ä palestra_n_s_1");
    }
}
