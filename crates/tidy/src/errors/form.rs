//! The form of an error text: it says what is wrong with what, and what to do about it.
//!
//! The first clause names its subject: it begins neither by a pronoun nor by what is to be done. One of the clauses says what to do: it
//! begins by a verb in the imperative, or says what is allowed ("must", "expected", "at most"). Clauses end at `:`, `;`, `,`, `.` and `(`.

/// What a text without a subject begins with.
const NO_SUBJECT: &[&str] = &[
    "it",
    "its",
    "that",
    "what",
    "which",
    "who",
    "whose",
    "none",
    "nothing",
    "something",
    "is",
    "are",
    "was",
    "has",
    "have",
    "not",
    "so",
    "such",
    "they",
    "these",
    "those",
    "either",
    "neither",
    "also",
    "cannot",
    "can",
    "must",
    "lacks",
    "needs",
    "does",
    "they",
    "ours",
];
/// The second words by which "this" is no pronoun's beginning.
const VERBS_AFTER_THIS: &[&str] = &["is", "are", "was", "has", "needs", "shows", "cannot", "must", "does", "can"];
/// Verbs that say what to do.
const REMEDIES: &[&str] = &[
    "accept", "add", "allow", "announce", "answer", "ask", "begin", "build", "call", "cancel", "change", "check",
    "choose", "clean", "close", "compare", "connect", "correct", "create", "cut", "declare", "define", "delete",
    "describe", "download", "drop", "end", "export", "fetch", "fill", "finish", "fix", "fork", "free", "give", "go",
    "install", "judge", "keep", "lease", "leave", "let", "list", "load", "look", "lower", "make", "mark", "mend",
    "merge", "mount", "move", "name", "open", "pack", "pass", "pick", "play", "point", "poll", "prove", "publish",
    "put", "queue", "quote", "raise", "read", "register", "release", "reload", "remove", "rename", "repeat", "replace",
    "report", "reset", "record", "restart", "restore", "resume", "retry", "round", "run", "save", "say", "see", "send",
    "serve", "set", "shorten", "show", "simplify", "sort", "split", "start", "state", "step", "stop", "supply", "take",
    "train", "try", "turn", "update", "upgrade", "upload", "use", "verify", "wait", "write",
];
/// Words by which a text says what is allowed.
const RULES: &[&str] = &[
    " must ",
    " expected",
    " at most",
    " at least ",
    " usage: ",
    " did you mean ",
    " takes ",
    " such as ",
    " is written ",
];

/// What a text lacks: `subject`, `remedy`, both or nothing.
pub(super) fn lacks(text: &str, placed: bool, remedied: bool) -> Vec<&'static str> {
    let mut lacks = Vec::new();
    if !placed && !has_subject(text) {
        lacks.push("subject");
    }
    if !remedied && !has_remedy(text) {
        lacks.push("remedy");
    }
    lacks
}

fn words(clause: &str) -> Vec<String> {
    clause.split_whitespace().map(|word| word.trim_matches(['`', '"', '(', ')']).to_lowercase()).collect()
}

fn has_subject(text: &str) -> bool {
    let words = words(text);
    let Some(first) = words.first() else { return false };
    if first == "this" {
        return words.get(1).is_some_and(|second| !VERBS_AFTER_THIS.contains(&second.as_str()));
    }
    // "try" is what to do; "tries" and "a try" are subjects.
    !NO_SUBJECT.contains(&first.as_str()) && !REMEDIES.contains(&first.as_str())
}

pub(super) fn has_remedy(text: &str) -> bool {
    let text = format!(" {}", text.to_lowercase());
    if RULES.iter().any(|rule| text.contains(rule)) {
        return true;
    }
    let begins = |clause: &str| {
        let words = words(clause);
        let mut words = words
            .iter()
            .map(String::as_str)
            .skip_while(|word| matches!(*word, "and" | "or" | "then" | "please" | "to" | "either"));
        let first = words.next().unwrap_or_default();
        let second = words.next();
        // A verb that stands alone or before its object; "a run: over" has none.
        REMEDIES.contains(&first) && second != Some("is") && second != Some("are") && second != Some("was")
    };
    text.split([':', ';', ',', '.', '(']).any(begins)
}

#[test]
fn a_text_has_a_subject_and_says_what_to_do() {
    for good in [
        "unknown cursor: pass `next_cursor` of a previous page",
        "this idempotency key was used with another request: send another key, or the same request",
        "`limit` must be 1 to {ROWS_MAX}",
        "an archive has at most {ENTRIES_MAX} entries",
        "{name:?} is no built-in policy; use one of {POLICIES}",
        "the server is shutting down: try again, or ask another one",
    ] {
        assert_eq!(lacks(good, false, false), [""; 0], "{good}");
    }
    for (bad, what) in [
        ("cursor is none that a list answered", &["remedy"][..]),
        ("none that this list answered", &["subject", "remedy"]),
        ("send a form", &["subject"]),
        ("it is too large", &["subject", "remedy"]),
        ("this shows the whole server, and needs a key of its operator", &["subject", "remedy"]),
        ("the run is over", &["remedy"]),
    ] {
        assert_eq!(lacks(bad, false, false), what, "{bad}");
    }
    assert_eq!(lacks("is in the past", true, false), ["remedy"]);
    assert_eq!(lacks("choose a time to come", true, false), [""; 0]);
    assert_eq!(lacks("setting {name}: {detail}", false, true), [""; 0]);
}
