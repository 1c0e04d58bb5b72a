"""BrowserGym's own package drives sessions in a browser by its action strings, and sees the pages that it would see itself."""

import ast
import collections
import difflib
import random
import re

from browsergym_peer import Sites, chromium, gym, page_of, tree_of
from harness import Failed, Server, expect, main

SUBSETS = ["chat", "infeas", "bid", "coord", "nav", "tab"]
APPS = ["shop", "mail", "calendar", "bank", "chat", "files", "helpdesk", "phone", "retail", "sheet", "travel", "workspace"]
TASK = {"split": "train", "seed": 3}
LIMITS = {"steps": 100_000}
PAGES_EACH_LONG, PAGES_EACH_SHORT = 10, 1
PAGES_MIN_LONG, PAGES_MIN_SHORT = 50, 10
TRIES_MAX = 6
MUTATIONS_LONG, MUTATIONS_SHORT = 1_000, 30
LINE = re.compile(r"^(\t*)(?:\[([a-zA-Z0-9]+)\] )?(.*)$")
UNKNOWN = "there is no action"
# Its parser does not know these forms of Python, ours does: texts side by side, and lines in numbers.
MORE_PYTHON = ["send_msg_to_user('a' 'b')", "scroll(0, 1_0)"]
MORE_MAX = 10
# BrowserGym marks elements by attributes before it looks, and the browser then tells of elements that it passes over in the page as
# it is. These lines come of it, and are left out where ours has none: bodies of tables, and texts that say what the line around
# them says already, in an element without a meaning.
MARKED_BODY = "rowgroup ''"
MARKED_TEXT = re.compile(r"""StaticText ('.*'|".*")$""")
NAMED = re.compile(r"""\w+ ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
# Most of them in a hundred lines.
MARKED_MAX = 10


def action_set():
    """Its usual set, one action a step and nothing around it, with the two actions that it has but leaves out of its sets."""
    from browsergym.core.action.functions import check, uncheck
    from browsergym.core.action.highlevel import HighLevelActionSet

    return HighLevelActionSet([*SUBSETS, "custom"], custom_actions=[check, uncheck], multiaction=False, strict=True)


def call(name, *arguments, **named):
    """An action as its own set writes it."""
    written = [repr(argument) for argument in arguments] + [f"{name}={value!r}" for name, value in named.items()]
    return f"{name}({', '.join(written)})"


def lines(text):
    """The lines of a tree: (id, the line without it)."""
    found = (LINE.match(line).groups() for line in text.split("\n"))
    return [(bid, indent + rest) for indent, bid, rest in found]


def is_of_marks(line, above):
    """True if a line may be there for the marks alone, under a line."""
    if line == MARKED_BODY:
        return True
    text, name = MARKED_TEXT.match(line), NAMED.match(above)
    return bool(text and name and ast.literal_eval(text.group(1)) in ast.literal_eval(name.group(1)))


def without_marks(ours, theirs):
    """Their lines without those that their marks bring about and ours lack, and how many these were."""
    kept, around, waiting = [], [], collections.deque(line for _, line in ours)
    for bid, line in theirs:
        depth = len(line) - len(line.lstrip("\t"))
        while around and around[-1][0] >= depth:
            around.pop()
        moved = line[sum(gone for _, _, gone in around) :]
        gone = bool(waiting and waiting[0] != moved and is_of_marks(line.strip(), around[-1][1] if around else ""))
        around.append((depth, line.strip(), gone))
        if not gone:
            kept.append((bid, moved))
            if waiting:
                waiting.popleft()
    return kept, len(theirs) - len(kept)


def renamed(ours, theirs, where):
    """Expects the same lines, and answers which of their ids stands for which of ours."""
    ours, theirs = lines(ours), lines(theirs)
    theirs, _ = without_marks(ours, theirs)
    plain = [[line for _, line in side] for side in (ours, theirs)]
    if plain[0] != plain[1]:
        difference = difflib.unified_diff(*plain, "ours", "BrowserGym", n=2, lineterm="")
        raise Failed(f"{where}: the trees differ:\n" + "\n".join(difference))
    found = {}
    for (our, line), (their, _) in zip(ours, theirs):
        expect((our is None) == (their is None), f"{where}: {line.strip()!r} has the id {our} here and {their} there")
        expect(found.setdefault(our, their) == their, f"{where}: {our} stands for {found[our]} and {their}")
    expect(len(set(found.values())) == len(found), f"{where}: two ids stand for one")
    return found


class Ours:
    """A session in a browser of Palestra's."""

    def __init__(self, api, app):
        self.api, self.app = api, app
        asked = {"environment": f"app/{app}", "task": TASK, "config": {"surface": "browser"}, "limits": LIMITS}
        self.opened = api.post("/v1/sessions", asked)
        self.answer = self.opened

    def act(self, text):
        self.answer = self.api.post(f"/v1/sessions/{self.opened['id']}/step", {"action": {"text": text}})
        return self.answer["observation"]

    @property
    def data(self):
        return self.answer["observation"]["data"]

    @property
    def tree(self):
        """The part of the observation that is the tree."""
        text = self.answer["observation"]["text"]
        return text[text.index("RootWebArea") :]

    def close(self):
        self.api.delete(f"/v1/sessions/{self.opened['id']}")


class Pair:
    """The same task in Palestra's browser and in BrowserGym's environment, in step."""

    def __init__(self, api, sites, env, actions, app):
        self.ours, self.env, self.actions = Ours(api, app), env, actions
        sites.bases[f"{app}.test"] = page_of(api, app, TASK)
        env.task_kwargs["start"] = f"http://{app}.test/"
        self.seen, _ = env.reset()
        self.steps = collections.Counter()
        self.ids = renamed(self.ours.tree, tree_of(self.seen["axtree_object"])[0], app)

    def element(self, role, name, place=0):
        """Our id of an element."""
        found = [bid for bid, line in lines(self.ours.tree) if bid and line.strip().startswith(f"{role} {name!r}")]
        expect(len(found) > place, f"there is no {role} {name!r} in\n{self.ours.tree}")
        return found[place]

    def first(self, role, part=""):
        """Our id of the first element of a role whose line has a part."""
        found = [bid for bid, line in lines(self.ours.tree) if bid and line.strip().startswith(f"{role} ") and part in line]
        expect(found, f"there is no {role} with {part!r} in\n{self.ours.tree}")
        return found[0]

    def middle(self, bid):
        """Where an element is, as BrowserGym tells it."""
        x, y, width, height = self.seen["extra_element_properties"][self.ids[bid]]["bbox"]
        return x + width / 2, y + height / 2

    def act(self, name, *arguments, fails=False, **named):
        """One action on both sides, to the same effect. Ids are ours; BrowserGym's are put in their place for it."""
        text = call(name, *arguments, **named)
        theirs = call(name, *(self.ids.get(value, value) if isinstance(value, str) else value for value in arguments), **named)
        self.actions.to_python_code(text)
        self.ours.act(text)
        self.seen, terminated = self.step_theirs(theirs)
        self.steps[name] += 1
        where = f"after {text} in {self.ours.app}"
        ours, error = self.ours.data, self.seen["last_action_error"]
        expect(bool(ours["error"]) == bool(error) == fails, f"{where}: ours says {ours['error']!r}, BrowserGym {error!r}")
        expect(self.ours.answer["terminated"] == terminated, f"{where}: the end is {self.ours.answer['terminated']}, not {terminated}")
        urls = tuple(tab["url"] for tab in ours["tabs"])
        expect(urls == self.seen["open_pages_urls"], f"{where}: the tabs are {urls}, not {self.seen['open_pages_urls']}")
        active = int(self.seen["active_page_index"][0])
        expect(ours["active"] == active, f"{where}: tab {ours['active']} is in front, not {active}")
        self.ids = renamed(self.ours.tree, tree_of(self.seen["axtree_object"])[0], where)
        return self

    def step_theirs(self, text):
        """BrowserGym gives an element half a second of real time: on a machine with other work, it is given that again."""
        before = tree_of(self.seen["axtree_object"])[0]
        for _ in range(TRIES_MAX):
            seen, _, terminated, _, _ = self.env.step(text)
            late = "Timeout 500ms" in seen["last_action_error"]
            if late and tree_of(seen["axtree_object"])[0] != before:
                # It was done all the same, and only told late.
                seen["last_action_error"] = ""
            if not late or not seen["last_action_error"]:
                break
        return seen, terminated

    def shows(self, part):
        expect(part in self.ours.tree, f"there is no {part!r} in\n{self.ours.tree}")

    def lacks(self, part):
        expect(part not in self.ours.tree, f"there is {part!r} in\n{self.ours.tree}")

    def at(self, path):
        url = self.ours.data["tabs"][self.ours.data["active"]]["url"]
        expect(url == f"http://{self.ours.app}.test{path}", f"the page is {url}, not {path}")


def writing(pair):
    """Texts and keys, in the search of the shop."""
    search = pair.element("searchbox", "Search products")
    pair.act("fill", search, "lamp").shows("'Search products' value='lamp'")
    pair.act("fill", search, 'example with "quotes"').shows("""value='example with "quotes"'""")
    pair.act("fill", search, "Montre", True).shows("value='Montre'")
    pair.act("clear", search).lacks("value=")
    pair.act("focus", search).shows("searchbox 'Search products', focused")
    pair.act("keyboard_type", "Hello world!").shows("value='Hello world!'")
    pair.act("press", search, "Backspace").shows("value='Hello world'")
    pair.act("dblclick", search)
    pair.act("keyboard_press", "ControlOrMeta+a")
    pair.act("keyboard_insert_text", "chair").shows("value='chair'")
    pair.act("press", search, "ControlOrMeta+a")
    pair.act("keyboard_down", "b").shows("value='b'")
    pair.act("keyboard_up", "b").shows("value='b'")
    pair.act("keyboard_press", "Backspace").lacks("value=")
    pair.act("fill", search, "lamp")
    pair.act("press", search, "Enter").shows("RootWebArea 'Catalogue · Hearth & Hall'")


def going(pair):
    """Pages, history and tabs."""
    pair.act("goto", "http://shop.test/orders").at("/orders")
    pair.act("click", pair.element("link", "Wish list")).at("/wish_list")
    pair.act("go_back").at("/orders")
    pair.act("go_forward").at("/wish_list")
    pair.act("noop")
    pair.act("noop", 10)
    pair.act("click", pair.element("link", "Coupons"), button="middle").at("/coupons")
    pair.act("tab_focus", 0).at("/wish_list")
    pair.act("click", pair.element("link", "Addresses"), modifiers=["ControlOrMeta"])
    pair.act("tab_close")
    pair.act("new_tab")
    pair.act("goto", "http://shop.test/returns").at("/returns")
    pair.act("tab_close")
    pair.act("tab_focus", 7, fails=True)


def pointing(pair):
    """The mouse, at places and on elements."""
    pair.act("goto", "http://shop.test/")
    more = pair.element("DisclosureTriangle", "More")
    pair.act("hover", more)
    pair.act("click", more).shows("'More', focused, expanded=True")
    pair.act("dblclick", more).shows("'More', focused, expanded=True")
    place = pair.middle(more)
    pair.act("mouse_click", *place).shows("'More', focused, expanded=False")
    pair.act("mouse_dblclick", *place).shows("'More', focused, expanded=False")
    pair.act("mouse_move", *place)
    pair.act("mouse_down", *place)
    pair.act("mouse_up", *place).shows("'More', focused, expanded=True")
    pair.act("click", more, button="right").shows("'More', focused, expanded=True")
    pair.act("click", more, "left").shows("'More', focused, expanded=False")
    pair.act("scroll", 0, 400)
    pair.act("scroll", -50.2, -100.5)
    pair.act("scroll_at", 600, 300, 0, -400)
    x, y = pair.middle(pair.element("link", "Orders"))
    pair.act("mouse_click", x, y).at("/orders")
    pair.act("mouse_drag_and_drop", x, y, x + 40, y + 5)


def scrolled(pair):
    """What a click meets at a place follows from how far the page was scrolled, which has to be as far on both sides."""
    pair.act("goto", "http://shop.test/products")
    link = pair.element("link", "Next")
    pair.act("scroll", 0, int(max(0, pair.middle(link)[1] - 360)))
    pair.act("mouse_click", *pair.middle(link)).at("/products?page=2")


def choosing(pair):
    """Lists, check marks, texts of several lines, things that are dragged."""
    pair.act("goto", "http://mail.test/mails")
    sort = pair.element("combobox", "Sort by")
    pair.act("select_option", sort, "Subject ascending").shows("combobox 'Sort by' value='Subject ascending'")
    pair.act("select_option", sort, ["At ascending"]).shows("combobox 'Sort by' value='At ascending'")
    pair.act("select_option", sort, "No such order", fails=True)
    pair.act("goto", "http://mail.test/send_mail")
    body = pair.first("textbox", "Body")
    pair.act("fill", body, "multi-line\nexample")
    pair.act("press", body, "End")
    pair.act("clear", body)


def dragging(pair):
    """A mail that is dropped onto a folder, by its id and at its place."""
    for by_place in (False, True):
        pair.act("goto", "http://mail.test/mails")
        dragged, folder = pair.element("link", "Istanbul in June"), pair.element("link", "Archive")
        if by_place:
            pair.act("mouse_drag_and_drop", *pair.middle(dragged), *pair.middle(folder))
        else:
            pair.act("drag_and_drop", dragged, folder)


def marking(pair):
    """Check marks go on and off, and nothing else does: pages of apps show them only where a task has got to."""
    pair.act("goto", "http://shop.test/coupons")
    pair.act("click", pair.element("DisclosureTriangle", "Filters"))
    pair.act("check", pair.element("searchbox", "Search coupons"), fails=True)
    pair.act("uncheck", pair.element("searchbox", "Search coupons"), fails=True)


def speaking(pair):
    """Words for the user, files that are not there, and the end."""
    search = pair.element("searchbox", "Search products")
    pair.act("upload_file", search, "my_receipt.pdf", fails=True)
    pair.act("send_msg_to_user", "It was built in 1751.")
    expect(pair.ours.data["message"] == pair.seen["chat_messages"][-1]["message"], f"the message is {pair.ours.data['message']}")
    pair.act("report_infeasible", "There is no such field.")
    expect(pair.ours.data["infeasible"] == pair.seen["chat_messages"][-1]["message"], f"told: {pair.ours.data}")
    expect(pair.ours.answer["terminated"], "the task goes on")


def known_names(tools):
    """Every action that any of its sets has must be one of ours, with the arguments that it gives."""
    from browsergym.core.action.highlevel import ACTION_SUBSETS, HighLevelActionSet

    ours = {tool["function"]["name"]: set(tool["function"]["parameters"]["properties"]) for tool in tools}
    theirs = {}
    for subset in ACTION_SUBSETS:
        theirs.update(HighLevelActionSet([subset]).action_set)
    theirs.update(action_set().action_set)
    for name, action in theirs.items():
        expect(name in ours, f"{name} of BrowserGym is no action here: {sorted(ours)}")
        wanted = set(re.findall(r"[(,] *(\w+)(?=:)", action.signature))
        expect(ours[name] == wanted, f"{name} takes {ours[name]} here and {wanted} there")
    return sorted(theirs)


def examples(api, actions):
    """Every example that its set gives is understood: what it names may not be there."""
    ours, count = Ours(api, "shop"), 0
    for action in actions.action_set.values():
        expect(action.examples, f"{action.signature} has no example")
        for example in action.examples:
            actions.to_python_code(example)
            if example.startswith("report_infeasible"):
                ours.close()
                ours = Ours(api, "shop")
            seen = ours.act(example)
            expect(understood(seen), f"{example} was not understood: {seen['text'][:500]}")
            count += 1
            if ours.answer["terminated"]:
                ours = Ours(api, "shop")
    ours.close()
    return count


def understood(seen):
    """True if an observation shows the page: what is no action is answered with words alone."""
    return "tabs" in (seen.get("data") or {})


def is_refused(actions, text):
    """True if its parser takes no single action from a text."""
    try:
        actions.to_python_code(text)
    except Exception:  # noqa: BLE001: parsers raise many kinds
        return True
    return False


def refusals(api, actions, count):
    """What its parser refuses is refused in words, and the session goes on; what it takes is understood."""
    valid = [example for action in actions.action_set.values() for example in action.examples]
    texts = [
        "", " ", "click", "click(", "click('1'", "click('1)", "click(a)", "click('1' '2' 3)", "fly('1')", "I click on it.",
        "click('1')\nclick('2')", "click('1'); noop()", "__import__('os').system('id')", "click(open('x'))", "click(bid=)",
        "click(bid='1', '2')", "scroll(1, nan)", "noop(wait_ms)", "page.click('1')", "x = click('1')", "click['1']", "{}", "42",
        "send_msg_to_user('a' + 'b')", "send_msg_to_user(f'a')", "click(\u2018" + "1\u2019)", "```click('1')```",
    ]
    texts += MORE_PYTHON
    chance = random.Random(1)
    for _ in range(count):
        texts.append(mutated(chance, chance.choice(valid)))
    ours, refused, more = Ours(api, "shop"), 0, []
    for text in texts:
        if text.startswith(("report_infeasible", "noop")):
            continue
        answer, is_wrong = ours.act(text), is_refused(actions, text)
        is_understood = understood(answer)
        expect(is_understood or answer["text"].startswith("Error: "), f"{text!r} was answered {answer}")
        expect(not ours.answer["terminated"], f"{text!r} ended the task")
        if is_wrong and is_understood:
            more.append(text)
            print(f"read here, refused there: {text!r}")
        refused += is_wrong
        expect(is_wrong or UNKNOWN not in answer["text"][:200], f"{text!r} is unknown here: {answer['text'][:200]}")
    ours.close()
    expect(len(more) <= MORE_MAX, f"read here, refused there: {more}")
    return refused, len(more)


def mutated(chance, text):
    """A text with one sign left out, doubled, or put in."""
    place = chance.randrange(len(text))
    sign = chance.choice(["", text[place] * 2, chance.choice("'\"()[],=.\\#x1- ") + text[place]])
    return text[:place] + sign + text[place + 1 :]


def addresses(ours, count):
    """Pages of an app, by following links from its first one."""
    waiting, found = ["/"], []
    pattern = re.compile(rf"url='http://{ours.app}\.test(/[^'#]*)'")
    while waiting and len(found) < count:
        path = waiting.pop(0)
        found.append(path)
        ours.act(call("goto", f"http://{ours.app}.test{path}"))
        kinds = {each.split("/")[1] for each in [*found, *waiting]}
        for link in dict.fromkeys(pattern.findall(ours.tree)):
            # One page of each kind.
            if link.split("/")[1].split("?")[0] not in {kind.split("?")[0] for kind in kinds}:
                waiting.append(link)
                kinds.add(link.split("/")[1])
        yield path, ours.tree


def trees(api, sites, env, each):
    """Pages of all apps: BrowserGym's text of the same page, line by line."""
    from browsergym.core.observation import _post_extract, _pre_extract, extract_merged_axtree

    env.task_kwargs["start"] = "about:blank"
    env.reset()
    figures = collections.Counter()
    for app in APPS:
        ours = Ours(api, app)
        sites.bases[f"{app}.test"] = page_of(api, app, TASK)
        for path, tree in addresses(ours, each):
            env.page.goto(f"http://{app}.test{path}")
            _pre_extract(env.page)
            theirs, broken = tree_of(extract_merged_axtree(env.page))
            _post_extract(env.page)
            try:
                renamed(tree, theirs, f"{app}{path}")
            except Failed as difference:
                figures["different pages"] += 1
                print(difference, flush=True)
            marked = without_marks(lines(tree), lines(theirs))[1]
            figures.update({"pages": 1, "lines": len(lines(tree)), "parts of broken texts": broken, "lines of marks": marked})
        ours.close()
    return figures


PARTS = {"shop": [writing, going, pointing, scrolled, marking, speaking], "mail": [choosing, dragging]}


def run(short):
    """Names, examples, effects beside BrowserGym's own environment, refusals and trees."""
    actions = action_set()
    with Server("--sandbox", "local", "--chromium", chromium()) as server:
        api = server.api()
        sites = Sites(server.port)
        env = gym(sites, actions)
        try:
            names = known_names(Ours(api, "shop").opened["tools"])
            shown = examples(api, actions)
            steps = collections.Counter()
            for app, parts in PARTS.items():
                pair = Pair(api, sites, env, actions, app)
                for part in parts:
                    part(pair)
                steps += pair.steps
            missing = set(names) - set(steps) - {"mouse_upload_file"}
            expect(not missing, f"no effect was seen of {missing}")
            refused, more = refusals(api, actions, MUTATIONS_SHORT if short else MUTATIONS_LONG)
            figures = trees(api, sites, env, PAGES_EACH_SHORT if short else PAGES_EACH_LONG)
        finally:
            env.close()
            sites.close()
    expect(figures["pages"] >= (PAGES_MIN_SHORT if short else PAGES_MIN_LONG), f"only {figures['pages']} pages were compared")
    marked = figures["lines of marks"]
    expect(marked * 100 <= MARKED_MAX * figures["lines"], f"{marked} lines of BrowserGym's marks in {figures['lines']}")
    print(f"left out of BrowserGym's text: {marked} lines of its marks, {figures['parts of broken texts']} parts of broken texts")
    expect(not figures["different pages"], f"{figures['different pages']} of {figures['pages']} pages have another tree")
    return (
        f"{len(names)} actions, {shown} examples, {sum(steps.values())} steps to the same effect, {refused} refusals; "
        f"{figures['pages']} pages with {figures['lines']} equal lines"
    )


if __name__ == "__main__":
    main(run)
