//! Faults in the words of JSON: the reader tells of its own types, which mean nothing to callers.

use std::borrow::Cow;

const EXPECTED: &str = ", expected ";
const PLACE: &str = " at line ";

/// The same fault without the names of our types.
pub(super) fn plain(detail: &str) -> Cow<'_, str> {
    if let Some((found, rest)) = detail.rsplit_once(EXPECTED) {
        let (wanted, place) = split_place(rest);
        let (said, meant) = (found_in_json(found), wanted_in_json(wanted));
        if said == found && meant == wanted {
            return Cow::Borrowed(detail);
        }
        return Cow::Owned(format!("{said}{EXPECTED}{meant}{place}"));
    }
    if detail.starts_with("data did not match any variant of") {
        let (_, place) = split_place(detail);
        return Cow::Owned(format!("it has none of the documented forms{place}"));
    }
    Cow::Borrowed(detail)
}

fn split_place(text: &str) -> (&str, &str) {
    text.rfind(PLACE).map_or((text, ""), |at| text.split_at(at))
}

fn found_in_json(found: &str) -> Cow<'_, str> {
    for (ours, theirs) in [
        ("invalid type: sequence", "invalid type: array"),
        ("invalid type: map", "invalid type: object"),
        ("invalid type: floating point", "invalid type: number"),
        ("invalid value: floating point", "invalid value: number"),
    ] {
        if let Some(rest) = found.strip_prefix(ours) {
            return Cow::Owned(format!("{theirs}{rest}"));
        }
    }
    Cow::Borrowed(found)
}

fn wanted_in_json(wanted: &str) -> &str {
    let kind = wanted.split_whitespace().next().unwrap_or_default();
    match kind {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative and not too large",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "struct" | "map" => "an object",
        "tuple" => "an array",
        "enum" | "variant" => "one of the documented values",
        "internally" | "adjacently" | "untagged" if wanted.contains("enum") => "one of the documented forms",
        _ => match wanted {
            "a map" => "an object",
            "a sequence" => "an array",
            "string or map" => "one of the documented values",
            _ => wanted,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_ours_are_said_in_json() {
        for (ours, plainly) in [
            ("invalid type: sequence, expected struct Limits", "invalid type: array, expected an object"),
            (
                "invalid length 0, expected struct Step with 5 elements at line 1 column 2",
                "invalid length 0, expected an object at line 1 column 2",
            ),
            (
                "invalid value: integer `-1`, expected u64 at line 1 column 9",
                "invalid value: integer `-1`, expected a whole number that is not negative and not too large at line 1 column 9",
            ),
            (
                "invalid type: map, expected enum RecordMode",
                "invalid type: object, expected one of the documented values",
            ),
            ("data did not match any variant of untagged enum Form", "it has none of the documented forms"),
            ("unknown field `colour`, expected `text` or `tool`", "unknown field `colour`, expected `text` or `tool`"),
            ("missing field `action`", "missing field `action`"),
        ] {
            assert_eq!(plain(ours), plainly);
        }
    }
}
