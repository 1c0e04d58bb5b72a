"""`puzzle/rail_fence`: every fence is drawn letter by letter, and the text that has the told word stays."""

import functools
import string

AGREES_WITH = "brute force"
ALPHABET = string.ascii_lowercase


def rails_of(length, rails, start):
    """The rail of each letter, walking up and down."""
    rail, direction, found = 0, 1, []
    for _ in range(start + length):
        found.append(rail)
        if rail + direction not in range(rails):
            direction = -direction
        rail += direction
    return found[start:]


def decipher(cipher, rails, start):
    walk = rails_of(len(cipher), rails, start)
    letters = iter(cipher)
    rows = [[next(letters) for other in walk if other == rail] for rail in range(rails)]
    return "".join(rows[rail].pop(0) for rail in walk)


def plain_text(puzzle):
    counts = (puzzle["rails"],) if puzzle["rails"] else tuple(range(2, puzzle["rails_max"] + 1))
    return find(puzzle["cipher_text"], counts, puzzle["starts_on_top"], puzzle["told_word"] or "")


@functools.cache
def find(cipher, counts, starts_on_top, told):
    texts = {
        decipher(cipher, rails, start)
        for rails in counts
        for start in ([0] if starts_on_top else range(2 * (rails - 1)))
    }
    texts = {text for text in texts if told in text}
    if len(texts) != 1:
        raise ValueError(f"{cipher!r} has {len(texts)} solutions")
    return texts.pop()


def letters(text):
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation + string.whitespace)
    return kept if kept.isascii() and not set(kept) - set(ALPHABET) else None


def check(puzzle, answer):
    return float(letters(answer) == plain_text(puzzle))


def solve(puzzle, rng):
    text = plain_text(puzzle)
    return [text, text.upper() + "!"]


def wrong(puzzle, right, rng):
    place = rng.randrange(1, len(right))
    rails = rng.randint(2, puzzle["rails_max"])
    return [
        puzzle["cipher_text"],
        right[:-1],
        right[: place - 1] + right[place] + right[place - 1] + right[place + 1 :],
        decipher(puzzle["cipher_text"], rails, rng.randrange(2 * (rails - 1))),
        right[::-1],
        "",
    ]
