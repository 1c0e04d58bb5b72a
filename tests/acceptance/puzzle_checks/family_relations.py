"""puzzle/family_relations: the facts as a graph of parents and couples, and each relation as a set made by a rule of its own."""

import functools
import re

AGREES_WITH = "brute force"

SYNONYMS = {
    "grandpa": "grandfather",
    "grandma": "grandmother",
    "granduncle": "great uncle",
    "grandaunt": "great aunt",
    "grandnephew": "great nephew",
    "grandniece": "great niece",
    "first cousin": "cousin",
    "first cousin once removed": "cousin once removed",
}


class Family:
    def __init__(self, facts):
        self.people = sorted({fact[side] for fact in facts for side in ("person", "of")})
        self.female, self.parents, self.partner = {}, {}, {}
        siblings = []
        for fact in facts:
            person, relation, of = fact["person"], fact["relation"], fact["of"]
            self.female[person] = relation in ("mother", "daughter", "sister", "wife")
            if relation in ("husband", "wife"):
                self.partner[person], self.partner[of] = of, person
                self.female[of] = relation == "husband"
            elif relation in ("son", "daughter"):
                self.parents[person] = {of}
            elif relation in ("father", "mother"):
                self.parents[of] = {person}
            else:
                siblings.append({person, of})
        for person in self.parents:
            self.parents[person] = self.both(self.parents[person])
        while siblings:
            known = next(pair for pair in siblings if pair & self.parents.keys())
            siblings.remove(known)
            parents = next(self.parents[person] for person in known if person in self.parents)
            self.parents.update(dict.fromkeys(known, parents))

    def both(self, parents):
        return parents | {self.partner[parent] for parent in parents}

    def up(self, people):
        return {parent for person in people for parent in self.parents.get(person, ())}

    def down(self, people):
        return {child for child in self.parents if self.parents[child] & people}

    def wed(self, people):
        return {self.partner[person] for person in people if person in self.partner}

    def siblings(self, people):
        return {
            other for person in people if person in self.parents for other in self.down(self.parents[person]) - {person}
        }

    def relatives(self, person):
        """Relations without regard to sex, and who has each to the person."""
        me = {person}
        up, down, wed, siblings = self.up, self.down, self.wed, self.siblings
        parents, children, partner, own = up(me), down(me), wed(me), siblings(me)
        grandparents, grandchildren = up(parents), down(children)
        uncles = siblings(parents)
        cousins = down(uncles)
        great_uncles = siblings(grandparents)
        parents_cousins = down(great_uncles)
        both_sides = own | siblings(partner)
        return {
            "parent": parents,
            "child": children,
            "sibling": own,
            "spouse": partner,
            "grandparent": grandparents,
            "grandchild": grandchildren,
            "great grandparent": up(grandparents),
            "great grandchild": down(grandchildren),
            "great great grandparent": up(up(grandparents)),
            "great great grandchild": down(down(grandchildren)),
            "uncle": uncles | wed(uncles),
            "nephew": down(both_sides),
            "great uncle": great_uncles | wed(great_uncles),
            "great nephew": down(down(both_sides)),
            "cousin": cousins,
            "second cousin": down(parents_cousins),
            "cousin once removed": parents_cousins | down(cousins),
            "parent in law": up(partner),
            "child in law": wed(children),
            "sibling in law": siblings(partner) | wed(own),
        }

    def word(self, relation, person):
        female = self.female[person]
        pairs = [("parent", "father", "mother"), ("child", "son", "daughter"), ("sibling", "brother", "sister"),
                 ("spouse", "husband", "wife"), ("uncle", "uncle", "aunt"), ("nephew", "nephew", "niece")]
        for neutral, male, feminine in pairs:
            relation = relation.replace(neutral, feminine if female else male)
        return relation

    def follow(self, of, relations):
        reached = {of}
        for wanted in relations:
            wanted = wanted.replace("-", " ")
            reached = {
                other
                for person in reached
                for relation, others in self.relatives(person).items()
                for other in others
                if self.word(relation, other) == wanted
            }
        return reached


@functools.lru_cache(maxsize=8)
def family(facts):
    return Family([dict(zip(("person", "relation", "of"), fact)) for fact in facts])


def right_answer(puzzle):
    """The set of words, or of names, that are right."""
    tree = family(tuple((fact["person"], fact["relation"], fact["of"]) for fact in puzzle["facts"]))
    question = puzzle["question"]
    if question["kind"] == "people":
        return tree.follow(question["of"], question["relations"])
    related = tree.relatives(question["of"]).items()
    return {tree.word(relation, question["person"]) for relation, others in related if question["person"] in others}


def check(puzzle: dict, answer: str) -> float:
    right = right_answer(puzzle)
    words = re.findall(r"[a-z]+", answer.lower())
    if puzzle["question"]["kind"] == "relation":
        written = " ".join(words)
        return float(SYNONYMS.get(written, written) in right)
    names = [word for word in words if word != "and"]
    return float(sorted(names) == sorted(name.lower() for name in right))


def solve(puzzle: dict, rng) -> list[str]:
    right = sorted(right_answer(puzzle))
    if puzzle["question"]["kind"] == "relation":
        assert len(right) == 1
        also = [other for other, meant in SYNONYMS.items() if meant == right[0]]
        return [*right, *also, right[0].replace(" ", "-").title()]
    rng.shuffle(right)
    return [", ".join(right), " and ".join(right).upper()]


def wrong(puzzle: dict, right: str, rng) -> list[str]:
    if puzzle["question"]["kind"] == "relation":
        return ["great-" + right, right + "-in-law", right.replace("great", "grand"), right.removeprefix("great-")]
    somebody = rng.choice(puzzle["facts"])["person"]
    return [f"{right}, {somebody}", right.rpartition(", ")[0], somebody]
