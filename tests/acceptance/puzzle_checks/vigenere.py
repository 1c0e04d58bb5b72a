"""`puzzle/vigenere`: the passage is tried at every place of the text, and the key that it needs there."""

import functools
import string

AGREES_WITH = "brute force"
ALPHABET = string.ascii_lowercase


def plain_text(puzzle):
    return find(puzzle["cipher_text"], puzzle["key"], (puzzle["passage"] or "").replace(" ", ""))


@functools.cache
def find(cipher, pattern, passage):
    keys = {pattern} if "?" not in pattern else set()
    for start in range(len(cipher) - len(passage) + 1 if passage else 0):
        needed = {}
        for index, letter in enumerate(passage, start):
            places = (ord(cipher[index]) - ord(letter)) % 26
            needed.setdefault(index % len(pattern), set()).add(ALPHABET[places])
        key = "".join(
            "".join(sorted(needed.get(place, set()) | set(known.replace("?", "")))) for place, known in enumerate(pattern)
        )
        # A place with two letters, or with none, makes the key longer or shorter.
        if len(key) == len(pattern) and all(len(letters) == 1 for letters in needed.values()):
            keys.add(key)
    texts = {decipher(cipher, key) for key in keys}
    texts = {text for text in texts if passage in text}
    if len(texts) != 1:
        raise ValueError(f"{cipher!r} has {len(texts)} solutions")
    return texts.pop()


def decipher(cipher, key):
    return "".join(
        ALPHABET[(ord(letter) - ord(key[index % len(key)])) % 26] for index, letter in enumerate(cipher)
    )


def letters(text):
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation + string.whitespace)
    return kept if kept.isascii() and not set(kept) - set(ALPHABET) else None


def check(puzzle, answer):
    return float(letters(answer) == plain_text(puzzle))


def solve(puzzle, rng):
    text = plain_text(puzzle)
    spaced = " ".join(text[at : at + 5] for at in range(0, len(text), 5))
    return [text, spaced.upper()]


def wrong(puzzle, right, rng):
    place = rng.randrange(len(right))
    key = "".join(rng.choice(ALPHABET) for _ in puzzle["key"])
    return [
        puzzle["cipher_text"],
        right[:-1],
        right[:place] + rng.choice(ALPHABET) + right[place + 1 :],
        decipher(puzzle["cipher_text"], key),
        right + "é",
        "",
    ]
