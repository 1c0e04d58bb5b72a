//! Sequences side by side: rows of similar length, so that little is padding, and no more tokens than one pass may take.

/// Sequences that go through the model together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// Places of the sequences.
    pub rows: Vec<usize>,
    /// Tokens of the longest.
    pub time: usize,
}

/// Cuts sequences of these lengths into passes of at most `tokens_max` tokens, padding included, longest first. A sequence that is
/// longer by itself gets a pass of its own. The same lengths are always cut alike.
#[must_use]
pub fn pack(lengths: &[usize], tokens_max: u64) -> Vec<Packed> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|place| (std::cmp::Reverse(lengths[*place]), *place));
    let mut passes: Vec<Packed> = Vec::new();
    for place in order {
        match passes.last_mut() {
            Some(pass) if ((pass.rows.len() + 1) * pass.time) as u64 <= tokens_max => pass.rows.push(place),
            _ => passes.push(Packed { rows: vec![place], time: lengths[place] }),
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_of_similar_length_go_together() {
        let passes = pack(&[2, 9, 3, 8], 18);
        assert_eq!(passes, [Packed { rows: vec![1, 3], time: 9 }, Packed { rows: vec![2, 0], time: 3 }]);
    }

    proptest! {
        #[test]
        fn every_sequence_goes_through_once_and_no_pass_is_too_large(
            lengths in prop::collection::vec(1_usize..50, 0..60),
            tokens_max in 1_u64..200,
        ) {
            let passes = pack(&lengths, tokens_max);
            let mut seen: Vec<usize> = passes.iter().flat_map(|pass| pass.rows.clone()).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
            for pass in passes {
                prop_assert!(pass.rows.len() == 1 || (pass.rows.len() * pass.time) as u64 <= tokens_max);
                prop_assert!(pass.rows.iter().all(|row| lengths[*row] <= pass.time));
            }
        }
    }
}
