//! Sources with error texts on every way that they are known to go.

use std::fs;

use super::collect;

const SOURCE: &str = r##"
#[derive(thiserror::Error)]
pub enum Refusal {
    #[error("the disk is full: free some space")]
    Full,
    #[error("{0}")]
    Other(String),
    #[error("setting {name}: {detail}")]
    Setting { name: String, detail: String },
    #[error("the store failed, check it: {0}")]
    Store(String),
}

const FIXED: &str = "of a constant";

fn give(detail: &str) -> Refusal {
    Refusal::Other(detail.to_owned())
}

fn all(many: bool, error: std::io::Error) -> Result<(), Refusal> {
    let wrong = |detail: String| Fault { field: Some("a".to_owned()), detail };
    let bound = if many { "of many" } else { "of one" };
    let (_, second) = match many { true => (1, "of a tuple"), false => { (2, "of a block") } };
    give("of a function");
    give(bound);
    give(second);
    give(FIXED);
    vec![wrong(format!("of a closure {many}"))];
    Refusal::Setting { name: String::new(), detail: "of a field".into() };
    Refusal::Store("below a remedy".to_owned());
    text().ok_or_else(|| "of no value".to_owned())?;
    text().map_err(|error| format!("of a foreign error: {error}"))?;
    Failure::new(Code::StepAhead, "of a code");
    not_an_error("never");
    Ok(())
}

#[cfg(test)]
mod tests {
    fn told() -> Result<(), String> { Err("of a test".to_owned()) }
}
"##;

#[test]
fn texts_are_found_on_every_way() {
    let root = tempfile::tempdir().unwrap();
    let sources = root.path().join("src");
    fs::create_dir(&sources).unwrap();
    fs::write(sources.join("lib.rs"), SOURCE).unwrap();
    let found = collect::texts(&collect::parse(root.path(), "planted", &sources));
    let found: Vec<_> = found.iter().map(|text| (&*text.raised_as, &*text.text, text.placed, text.remedied)).collect();
    let mut expected = vec![
        ("Refusal::Full", "the disk is full: free some space", false, false),
        ("Refusal::Setting", "setting {name}: {detail}", false, true),
        ("Refusal::Store", "the store failed, check it: {0}", false, true),
        ("Refusal::Other", "of a function", false, false),
        ("Refusal::Other", "of many", false, false),
        ("Refusal::Other", "of one", false, false),
        ("Refusal::Other", "of a tuple", false, false),
        ("Refusal::Other", "of a block", false, false),
        ("Refusal::Other", "of a constant", false, false),
        ("invalid", "of a closure {many}", true, false),
        ("Refusal::Setting", "of a field", true, false),
        ("Refusal::Store", "below a remedy", true, true),
        ("", "of no value", false, false),
        ("", "of a foreign error: {error}", false, false),
        ("step_ahead", "of a code", false, false),
    ];
    expected.sort_unstable();
    assert_eq!(found, expected);
}
