//! The known name that somebody probably meant.

/// Names beyond this length, in characters, are not compared: nobody mistypes them from memory.
const MAX_CHARACTERS: usize = 64;

/// The known name nearest to a wrong one by edits (a letter inserted, left out, replaced, or two neighbours swapped), the
/// first among equals; `None` when even that one takes more edits than a third of the wrong name's letters, or than one in
/// a short name.
#[must_use]
pub fn nearest<'k>(wrong: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let wrong: Vec<char> = wrong.chars().take(MAX_CHARACTERS + 1).collect();
    if wrong.len() > MAX_CHARACTERS {
        return None;
    }
    let most = (wrong.len() / 3).max(1);
    known
        .into_iter()
        .filter(|name| name.chars().count().abs_diff(wrong.len()) <= most)
        .map(|name| (edits(&wrong, &name.chars().collect::<Vec<_>>()), name))
        .filter(|(edits, _)| *edits <= most)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// The optimal string alignment distance.
fn edits(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_count_insertions_deletions_replacements_and_swaps() {
        for (left, right, count) in
            [("", "", 0), ("", "ab", 2), ("gaurds", "guards", 1), ("kitten", "sitting", 3), ("é", "e", 1)]
        {
            let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
            assert_eq!((edits(&left, &right), edits(&right, &left)), (count, count));
        }
    }

    #[test]
    fn the_nearest_name_is_close_or_none() {
        let known = ["guards", "effects", "let", "who"];
        assert_eq!(nearest("gaurds", known), Some("guards"));
        assert_eq!(nearest("lets", known), Some("let"));
        assert_eq!(nearest("effect", known), Some("effects"));
        assert_eq!(nearest("returns", known), None);
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest(&"g".repeat(1 << 16), known), None);
        assert_eq!(nearest("ab", ["aa", "ac"]), Some("aa"), "the first among equals");
    }
}
