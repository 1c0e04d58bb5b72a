//! Verdicts: the checks of a goal on how an episode stands.

/// One part of a verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Its name: `created loan`, `updated t.who`, `nothing else`, `answer`, `answer.total`.
    pub name: String,
    /// Its share of the score; what held at the beginning has none.
    pub weight: f64,
    /// In [0, 1].
    pub score: f64,
    /// True if it holds.
    pub passed: bool,
    /// Evidence, with before and after.
    pub evidence: String,
}

/// True if every check passed.
#[must_use]
pub fn strict(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.passed)
}

/// The weighted mean of the checks.
#[must_use]
pub fn score(checks: &[Check]) -> f64 {
    let weight: f64 = checks.iter().map(|check| check.weight).sum();
    let total: f64 = checks.iter().map(|check| check.weight * check.score).sum();
    if weight > 0.0 { total / weight } else { 0.0 }
}
