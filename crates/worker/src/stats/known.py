"""Numbers that the tests of crates/worker/src/stats hold its functions to, worked out with NumPy and SciPy.

Run: python3 crates/worker/src/stats/known.py
"""

from itertools import combinations

import numpy as np
from scipy.stats import t

for freedom in (1, 2, 4, 30, 199, 200, 1_000, 100_000):
    print("t", freedom, repr(float(t.ppf(0.975, freedom))))


def clustered(values, groups):
    """The sandwich form for a regression on a constant: (X'X)^-1 (sum of X_g' e_g e_g' X_g) (X'X)^-1 G/(G-1)."""
    values, groups = np.asarray(values, float), np.asarray(groups)
    design = np.ones((len(values), 1))
    bread = np.linalg.inv(design.T @ design)
    beta = bread @ design.T @ values
    residuals = values - design @ beta
    names = np.unique(groups)
    meat = np.zeros((1, 1))
    for name in names:
        score = design[groups == name].T @ residuals[groups == name]
        meat += np.outer(score, score)
    count = len(names)
    error = float(np.sqrt((count / (count - 1) * bread @ meat @ bread)[0, 0]))
    half = float(t.ppf(0.975, count - 1)) * error
    mean = float(beta[0])
    return mean, error, mean - half, mean + half


print("clustered", clustered([1, 1, 0, 0.5, 0.25, 0, 1], [0, 0, 0, 1, 1, 2, 3]))
plain = np.array([0.1, 0.9, 0.4, 0.4, 0.7])
print("plain", float(plain.mean()), float(plain.std(ddof=1) / np.sqrt(len(plain))))
policy = np.array([1.0, 0.5, 0.0, 1.0, 1.0, 0.25])
baseline = np.array([0.0, 0.5, 0.5, 1.0, 0.0, 0.75])
print("paired", clustered(policy - baseline, [0, 0, 1, 1, 2, 2]))


def pass_at(samples, correct, k):
    """Counts every choice of k samples."""
    marks = [1] * correct + [0] * (samples - correct)
    chosen = list(combinations(marks, k))
    return sum(any(choice) for choice in chosen) / len(chosen), sum(all(choice) for choice in chosen) / len(chosen)


tasks = [(5, 2), (5, 0), (5, 5), (3, 1)]
for k in range(1, 6):
    found = [pass_at(samples, correct, k) for samples, correct in tasks if samples >= k]
    print("pass_at", k, [float(value) for value in np.mean(found, axis=0)], len(found))
