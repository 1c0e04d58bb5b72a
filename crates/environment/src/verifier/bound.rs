//! The bound on what a verdict says: what is judged has a part in it, and every verdict is stored, sent and shown.

use palestra_protocol::verdict::Check;

/// Most bytes of the evidence of all checks of a verdict together, beside a sentence for each that was cut.
pub const EVIDENCE_BYTES_MAX: usize = 256 * 1024;
/// Most bytes of why an episode was not scored, beside such a sentence.
pub const DETAIL_BYTES_MAX: usize = 64 * 1024;

/// Cuts the longest evidence until all of it fits into [`EVIDENCE_BYTES_MAX`]; shorter evidence stays whole.
#[must_use]
pub fn checks(mut checks: Vec<Check>) -> Vec<Check> {
    let lengths = checks.iter().map(|check| check.evidence.len()).collect();
    let longest = longest_kept(lengths, EVIDENCE_BYTES_MAX);
    for check in &mut checks {
        cut(&mut check.evidence, longest);
    }
    checks
}

/// Cuts why an episode was not scored.
#[must_use]
pub fn detail(mut detail: String) -> String {
    cut(&mut detail, DETAIL_BYTES_MAX);
    detail
}

/// The length to which texts are cut so that they take up `bytes_max` together: what short ones leave is shared by the longer ones.
fn longest_kept(mut lengths: Vec<usize>, bytes_max: usize) -> usize {
    lengths.sort_unstable();
    let (mut left, count) = (bytes_max, lengths.len());
    for (index, length) in lengths.into_iter().enumerate() {
        let share = left / (count - index);
        if length > share {
            return share;
        }
        left -= length;
    }
    bytes_max
}

/// Keeps whole characters within `bytes_max`, and says how much went.
fn cut(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        let kept = text.floor_char_boundary(bytes_max);
        let gone = text.len() - kept;
        text.truncate(kept);
        text.push_str(&format!("\n[{gone} more bytes were cut: a verdict holds no more]"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(evidence: String) -> Check {
        Check { name: "check".to_owned(), weight: 1.0, score: 0.0, passed: false, evidence }
    }

    /// Bytes of the sentence that tells of a cut.
    const SENTENCE_BYTES_MAX: usize = 80;

    #[test]
    fn evidence_that_fits_stays_as_it_is() {
        let all = vec![check("x".repeat(EVIDENCE_BYTES_MAX - 5)), check("short".to_owned())];
        assert_eq!(checks(all.clone()), all);
        assert_eq!(detail("why".to_owned()), "why");
        assert!(checks(Vec::new()).is_empty());
    }

    #[test]
    fn the_longest_is_cut_and_says_how_much_is_gone() {
        let told = checks(vec![check("short".to_owned()), check("ü".repeat(EVIDENCE_BYTES_MAX))]);
        assert_eq!(told[0].evidence, "short");
        let kept = EVIDENCE_BYTES_MAX - 6;
        let words = format!("\n[{} more bytes were cut: a verdict holds no more]", 2 * EVIDENCE_BYTES_MAX - kept);
        assert!(told[1].evidence.ends_with(&words), "{}", &told[1].evidence[kept..]);
        assert_eq!(told[1].evidence.len(), kept + words.len());
        assert!(detail("x".repeat(1 << 20)).len() <= DETAIL_BYTES_MAX + SENTENCE_BYTES_MAX);
    }

    #[test]
    fn many_long_ones_share_what_there_is() {
        let told = checks((0..1_000).map(|_| check("x".repeat(64 * 1024))).collect());
        let together: usize = told.iter().map(|check| check.evidence.len()).sum();
        assert!(together <= EVIDENCE_BYTES_MAX + 1_000 * SENTENCE_BYTES_MAX, "{together}");
        assert!(told.iter().all(|check| check.evidence.len() > 200));
    }
}
