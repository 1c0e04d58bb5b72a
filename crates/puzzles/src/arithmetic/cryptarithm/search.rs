//! Search for the digits of a cryptarithm, column by column from the right.

/// A count of nodes with an end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nodes {
    visited: u64,
    most: u64,
}

impl Nodes {
    pub(super) const fn up_to(most: u64) -> Self {
        Self { visited: 0, most }
    }

    pub(super) const fn visited(&self) -> u64 {
        self.visited
    }

    /// True if a search was cut off, so that there may be more solutions than it found.
    pub(super) const fn exhausted(&self) -> bool {
        self.visited >= self.most
    }
}

/// A sum as columns from the right; letters are numbers from 0.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    /// Each column's letters of the addends, and its letter of the sum.
    columns: Vec<(Vec<usize>, Option<usize>)>,
    /// By letter, whether a number begins with it.
    leads: Vec<bool>,
}

/// Digits decided so far.
struct Digits {
    of: Vec<Option<u8>>,
    /// By digit.
    used: [bool; 10],
}

impl Columns {
    /// A sum of words, of which the last is the sum of the others.
    pub(super) fn of(words: &[&str]) -> Self {
        let mut letters: Vec<char> = words.concat().chars().collect();
        letters.sort_unstable();
        letters.dedup();
        let number = |letter: char| letters.binary_search(&letter).ok();
        let mut leads = vec![false; letters.len()];
        for letter in words.iter().filter_map(|word| word.chars().next()).filter_map(number) {
            leads[letter] = true;
        }
        let at = |word: &&str, column: usize| word.chars().rev().nth(column).and_then(number);
        let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
        let columns = (0..longest).map(|column| match words.split_last() {
            Some((sum, addends)) => (addends.iter().filter_map(|word| at(word, column)).collect(), at(sum, column)),
            None => (Vec::new(), None),
        });
        Self { columns: columns.collect(), leads }
    }

    /// Number of solutions, counted up to `most`; also fewer where the nodes are exhausted.
    pub(super) fn solutions(&self, most: usize, nodes: &mut Nodes) -> usize {
        let mut digits = Digits { of: vec![None; self.leads.len()], used: [false; 10] };
        self.count(0, 0, 0, &mut digits, most, nodes)
    }

    /// Solutions from an addend's place in a column on, where what stands above it and the carry make `total`.
    fn count(
        &self,
        column: usize,
        row: usize,
        total: usize,
        digits: &mut Digits,
        most: usize,
        nodes: &mut Nodes,
    ) -> usize {
        let Some((addends, sum)) = self.columns.get(column) else { return usize::from(total == 0) };
        let (letter, below) = match addends.get(row) {
            Some(letter) => (*letter, None),
            // The digit of the sum is no choice.
            None => match sum {
                Some(letter) => (*letter, Some(total % 10)),
                None => return 0,
            },
        };
        let choices = match (digits.of[letter], below) {
            (Some(digit), Some(needed)) if usize::from(digit) != needed => return 0,
            (Some(digit), _) => digit..=digit,
            (None, Some(needed)) => u8::try_from(needed).map_or(0..=9, |needed| needed..=needed),
            (None, None) => 0..=9,
        };
        let known = digits.of[letter].is_some();
        let mut found = 0;
        for digit in choices {
            let place = usize::from(digit);
            if !known && (digits.used[place] || (digit == 0 && self.leads[letter])) {
                continue;
            }
            if !known {
                if nodes.exhausted() {
                    break;
                }
                nodes.visited += 1;
                digits.of[letter] = Some(digit);
                digits.used[place] = true;
            }
            found += match below {
                None => self.count(column, row + 1, total + place, digits, most - found, nodes),
                Some(_) => self.count(column + 1, 0, total / 10, digits, most - found, nodes),
            };
            if !known {
                digits.of[letter] = None;
                digits.used[place] = false;
            }
            if found >= most {
                break;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(words: &[&str]) -> usize {
        Columns::of(words).solutions(1000, &mut Nodes::up_to(10_000_000))
    }

    /// By trying every assignment of digits to the letters.
    fn brute_force(words: &[&str]) -> usize {
        fn place(letters: &[char], words: &[&str], digits: &mut Vec<u64>) -> usize {
            if digits.len() == letters.len() {
                let digit = |letter: char| digits[letters.binary_search(&letter).expect("a letter")];
                let values: Vec<u64> =
                    words.iter().map(|word| word.chars().fold(0, |value, letter| value * 10 + digit(letter))).collect();
                let leads = words.iter().all(|word| digit(word.chars().next().expect("a letter")) > 0);
                let (sum, addends) = values.split_last().expect("words");
                return usize::from(leads && addends.iter().sum::<u64>() == *sum);
            }
            let mut found = 0;
            for digit in 0..10 {
                if !digits.contains(&digit) {
                    digits.push(digit);
                    found += place(letters, words, digits);
                    digits.pop();
                }
            }
            found
        }
        let mut letters: Vec<char> = words.concat().chars().collect();
        letters.sort_unstable();
        letters.dedup();
        place(&letters, words, &mut Vec::new())
    }

    #[test]
    fn as_many_solutions_are_found_as_there_are() {
        assert_eq!(count(&["SEND", "MORE", "MONEY"]), 1);
        for words in [
            &["A", "B", "C"][..],
            &["AB", "BA", "CAC"],
            &["AA", "BB", "CDA"],
            &["ABC", "CB", "AAA"],
            &["AB", "AB", "AB", "BCD"],
            &["A", "A", "A"],
        ] {
            assert_eq!(count(words), brute_force(words), "{words:?}");
        }
    }

    #[test]
    fn a_search_ends_where_it_is_told_to() {
        let words = ["ABCDE", "FGHIJ", "AFBGC"];
        let mut nodes = Nodes::up_to(100);
        Columns::of(&words).solutions(1000, &mut nodes);
        assert!(nodes.exhausted() && nodes.visited() <= 100);
        assert_eq!(Columns::of(&["A", "B", "C"]).solutions(2, &mut Nodes::up_to(1000)), 2);
    }
}
