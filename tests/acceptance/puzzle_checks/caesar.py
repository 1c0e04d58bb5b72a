"""`puzzle/caesar`: every key is tried, and the one whose text has the told words stays."""

import functools
import string

AGREES_WITH = "brute force"
ALPHABET = string.ascii_lowercase


def plain_text(puzzle):
    return find(puzzle["cipher_text"], frozenset(puzzle["told_words"]), puzzle["growing"])


@functools.cache
def find(cipher, told, growing):
    words = cipher.split()
    keys = [(first, growth) for first in range(26) for growth in range(1, 26)]
    if not growing:
        keys = [(first, 0) for first in range(1, 26)]
    tables = [str.maketrans(ALPHABET, ALPHABET[-places:] + ALPHABET[:-places]) for places in range(26)]
    shifted = [[word.translate(table) for table in tables] for word in words]
    found = set()
    for first, growth in keys:
        text = [moved[(first + growth * index) % 26] for index, moved in enumerate(shifted)]
        if told <= set(text):
            found.add(" ".join(text))
    if len(found) != 1:
        raise ValueError(f"{cipher!r} has {len(found)} solutions")
    return found.pop()


def letters(text):
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation + string.whitespace)
    return kept if kept.isascii() and not set(kept) - set(ALPHABET) else None


def check(puzzle, answer):
    return float(letters(answer) == letters(plain_text(puzzle)))


def solve(puzzle, rng):
    text = plain_text(puzzle)
    return [text, text.upper() + ".", text.replace(" ", "")]


def wrong(puzzle, right, rng):
    words = right.split()
    place = rng.randrange(len(right))
    return [
        puzzle["cipher_text"],
        " ".join(words[:-1]),
        " ".join([*words[1:], words[0]]),
        right[:place] + rng.choice(ALPHABET) + right[place + 1 :],
        right + " 1",
        "",
    ]
