//! Answers from the pages of the documentation of a library.

use super::{NOT_STATED, Read, Reader, asked, best};

/// A change of a version: the words of it.
struct Noted {
    version: String,
    words: String,
}

pub(super) fn answer(read: &Reader, question: &str) -> Option<String> {
    if let Some([option, function]) = asked("What is the present default of the option {} of {}?", question) {
        return present(read, option, function);
    }
    if let Some([version]) = asked("On which date was version {} released?", question) {
        return released(read, version);
    }
    if let Some([function]) = asked("Which version added the function {}?", question) {
        return since(read, function);
    }
    if let Some([function]) = asked("How many options does the function {} have at present?", question) {
        return options(read, function).map(|options| options.len().to_string());
    }
    if let Some([function]) = asked("On which date was the version released that added the function {}?", question) {
        return released(read, &since(read, function)?);
    }
    let fullest =
        "What is the largest value of the option {} of the function of the module {} that has the most options?";
    if let Some([option, module]) = asked(fullest, question) {
        return maximum(read, option, &most(read, module)?);
    }
    if let Some([option, function]) = asked("What is the largest value of the option {} of {}?", question) {
        return maximum(read, option, function);
    }
    if let Some([option, function, version]) =
        asked("What was the default of the option {} of {} before version {} changed it?", question)
    {
        let told =
            noted(read).into_iter().find_map(|note| change(&note, option, function, version).map(|(from, _)| from));
        return told.or_else(|| before(read, option, function, version));
    }
    if let Some([version]) = asked("How many functions did version {} add?", question) {
        let title = format!("Version {version}");
        let page = read.titled("/versions/", &title).next();
        let added = page.map(|page| page.all_texts().filter(|words| words.starts_with("Added the function ")).count());
        let each = || {
            read.pages
                .iter()
                .filter(|page| {
                    page.address.starts_with("/functions/")
                        && read.value(&page.title, "Since").as_deref() == Some(version)
                })
                .count()
        };
        let rows = || {
            read.pages
                .iter()
                .flat_map(|page| &page.rows)
                .filter(|row| row.contains_key("Function") && row.get("Since").map(String::as_str) == Some(version))
                .count()
        };
        return Some(added.unwrap_or_else(|| each().max(rows())).to_string());
    }
    if let Some([module]) = asked("Which function of the module {} has the most options at present?", question) {
        return most(read, module);
    }
    let last = "On which date was the version released that last changed the default of the option {} of {}?";
    if let Some([option, function]) = asked(last, question) {
        let changed = noted(read).into_iter().filter(|note| change(note, option, function, &note.version).is_some());
        let latest = changed.map(|note| note.version).max()?;
        return released(read, &latest);
    }
    let [option, function, version] = asked("What was the default of the option {} of {} in version {}?", question)?;
    // Forward from the change before, or back from the change after.
    let listed = versions(read)?;
    let earlier = listed.iter().filter(|listed| listed.as_str() <= version);
    let later = listed.iter().rev().filter(|listed| listed.as_str() > version);
    let forward = first_told(read, earlier, |note| set(note, option, function)).flatten();
    let from = |note: &Noted| change(note, option, function, &note.version).map(|(from, _)| from);
    let back = || first_told(read, later, from)?.or_else(|| present(read, option, function));
    forward.or_else(back)
}

fn released(read: &Reader, version: &str) -> Option<String> {
    read.value(version, "Released").or_else(|| read.value(&format!("Version {version}"), "Released"))
}

fn since(read: &Reader, function: &str) -> Option<String> {
    let added = format!("Added the function {function}.");
    let noted = || noted(read).into_iter().find(|note| note.words == added).map(|note| note.version);
    read.value(function, "Since").or_else(noted)
}

fn options(read: &Reader, function: &str) -> Option<Vec<String>> {
    read.column("/functions/", function, "Option")
}

fn present(read: &Reader, option: &str, function: &str) -> Option<String> {
    let page = read.titled("/functions/", function).next()?;
    page.rows.iter().find(|row| row["Option"] == option).map(|row| row["Default"].clone())
}

fn maximum(read: &Reader, option: &str, function: &str) -> Option<String> {
    let page = read.titled("/functions/", function).next()?;
    let words = page.texts.get(option).expect("a description").concat();
    let stated = words.split_once("The largest value is ").map(|(_, value)| value.trim_end_matches('.').to_owned());
    Some(stated.unwrap_or_else(|| NOT_STATED.to_owned()))
}

fn most(read: &Reader, module: &str) -> Option<String> {
    let functions = read.column("/modules/", &format!("Module {module}"), "Function")?;
    best(&functions, |function| options(read, function).map(|options| options.len()))
}

fn noted(read: &Reader) -> Vec<Noted> {
    read.pages.iter().filter(|page| page.address.starts_with("/versions/")).flat_map(notes).collect()
}

fn notes(page: &Read) -> impl Iterator<Item = Noted> {
    let version = page.title.trim_start_matches("Version ");
    page.all_texts().map(|words| Noted { version: version.to_owned(), words: words.clone() })
}

/// All versions, the latest first; none where their list was not read.
fn versions(read: &Reader) -> Option<Vec<String>> {
    read.column("/versions", "Versions", "Version")
}

/// The word of the first of these versions that tells something; none where a page up to it was not read, and none within where no
/// version tells anything.
fn first_told<'v>(
    read: &Reader,
    versions: impl Iterator<Item = &'v String>,
    tells: impl Fn(&Noted) -> Option<String>,
) -> Option<Option<String>> {
    for version in versions {
        let title = format!("Version {version}");
        let page = read.titled("/versions/", &title).next()?;
        let told = notes(page).find_map(|note| tells(&note));
        if told.is_some() {
            return Some(told);
        }
    }
    Some(None)
}

/// Default before and after a change of a version.
fn change(note: &Noted, option: &str, function: &str, version: &str) -> Option<(String, String)> {
    let rest = note.words.strip_prefix(&format!("Changed the default of {option} of {function} from "))?;
    let (from, to) = rest.trim_end_matches('.').split_once(" to ")?;
    (note.version == version).then(|| (from.to_owned(), to.to_owned()))
}

/// Default that a version set.
fn set(note: &Noted, option: &str, function: &str) -> Option<String> {
    let added = note.words.strip_prefix(&format!("Added the option {option} to {function}, with the default "));
    let added = added.map(|value| value.trim_end_matches('.').to_owned());
    added.or_else(|| change(note, option, function, &note.version).map(|(_, to)| to))
}

/// Default that the versions before one set.
fn before(read: &Reader, option: &str, function: &str, version: &str) -> Option<String> {
    let listed = versions(read)?;
    let earlier = listed.iter().filter(|listed| listed.as_str() < version);
    first_told(read, earlier, |note| set(note, option, function)).flatten()
}
