//! Names of types in messages, and suggestions for misspelt names.

use super::Checker;
use crate::kinds::Type;

impl Checker<'_> {
    /// A type with its tables by name.
    pub(super) fn show(&self, kind: &Type) -> String {
        match kind {
            Type::Row(table) => format!("ref {}", self.scope.tables.name(*table)),
            Type::List(element) => format!("list {}", self.show(element)),
            Type::Opt(inner) => format!("opt {}", self.show(inner)),
            Type::Record(fields) => {
                let fields: Vec<_> = fields.iter().map(|(name, kind)| format!("{name}: {}", self.show(kind))).collect();
                format!("{{{}}}", fields.join(", "))
            }
            other => other.to_string(),
        }
    }
}

/// `; did you mean ...?` with the name nearest to a misspelt one, or nothing.
pub(super) fn suggest<'n>(wanted: &str, among: impl IntoIterator<Item = &'n str>) -> String {
    near(wanted, among).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The name that needs the fewest changes of letters to become the wanted one, if those are few; the first of several.
pub(super) fn near<'n>(wanted: &str, among: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = wanted.chars().count();
    let rated = among.into_iter().map(|name| (distance(wanted, name), name));
    rated
        .filter(|(distance, _)| *distance < length && *distance <= (length / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other (optimal string
/// alignment).
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for row in 1..=left.len() {
        let mut next = vec![row; right.len() + 1];
        for column in 1..=right.len() {
            let same = left[row - 1] == right[column - 1];
            let replaced = last[column - 1] + usize::from(!same);
            next[column] = replaced.min(last[column] + 1).min(next[column - 1] + 1);
            let swapped =
                row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1];
            if swapped {
                next[column] = next[column].min(before[column - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, next);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_changes_of_letters() {
        for (left, right, changes) in
            [("", "", 0), ("", "abc", 3), ("ab", "ba", 1), ("ballance", "balance", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(left, right), changes, "{left} {right}");
            assert_eq!(distance(right, left), changes, "{right} {left}");
        }
    }

    #[test]
    fn only_near_names_are_suggested() {
        assert_eq!(near("ballance", ["name", "balance", "blocked"]), Some("balance"));
        assert_eq!(near("weight", ["name", "balance", "blocked"]), None);
        assert_eq!(suggest("nmae", ["name"]), "; did you mean `name`?");
    }
}
