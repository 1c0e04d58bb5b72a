//! The documents of the project inside the program: the API document, and the guides of docs/ as pages. These are rendered from Markdown at
//! the first request, linked with one another, and searched without a script in the browser.

mod layout;
mod markdown;
mod search;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use search::Section;

const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/documents.json.lzma"));

/// Where the pages are.
pub const PATH: &str = "/docs/guide";
/// The page at [`PATH`] itself.
const FIRST: &str = "README.md";

/// The pages of the contents, in their order. Pages of single puzzles and of draws are reached from their guides.
const CONTENTS: &[(&str, &[&str])] = &[
    (
        "First steps",
        &["README", "getting-started", "sessions", "streaming", "recipes", "examples", "clients", "errors"],
    ),
    (
        "Environments",
        &[
            "data-sets",
            "puzzles",
            "control",
            "apps",
            "browser",
            "web",
            "terminals",
            "code",
            "repositories",
            "sql",
            "writing-an-environment",
        ],
    ),
    ("Evaluate and train", &["jobs", "training", "model-calls", "scripted-model"]),
    ("Other protocols", &["openenv", "mcp", "openai"]),
    ("Run a server", &["operating", "security", "PERFORMANCE"]),
    ("Reference", &["formats", "app-language", "app-expressions", "app-exploration", "ARCHITECTURE"]),
];

/// One page.
struct Page {
    title: String,
    html: String,
    sections: Vec<Section>,
}

/// Every document by its path in the project; pictures of pixels are in base64.
static FILES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let documents = palestra_pack::unpack(PACKED).expect("the build packed it");
    serde_json::from_slice(&documents).expect("the build packed it")
});

/// Every page by its path in the project.
static PAGES: LazyLock<BTreeMap<&str, Page>> = LazyLock::new(|| {
    let markdown = FILES.iter().filter(|(path, _)| path.ends_with(".md"));
    markdown.map(|(path, text)| (path.as_str(), markdown::page(path, text))).collect()
});

/// The API document (OpenAPI, JSON), as it is committed.
#[must_use]
pub fn api_document() -> &'static str {
    &FILES["openapi/openapi.json"]
}

/// An answer to a request for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A page, as HTML.
    Page(String),
    /// A picture, with its media type.
    Picture(&'static str, Vec<u8>),
}

/// The page or picture at a path below [`PATH`]; `None` where there is none.
#[must_use]
pub fn answer(path: &str) -> Option<Answer> {
    let file = file_of(path);
    if let Some(text) = FILES.get(&file) {
        return match file.rsplit_once('.')?.1 {
            "svg" => Some(Answer::Picture("image/svg+xml", text.clone().into_bytes())),
            "webp" => Some(Answer::Picture("image/webp", STANDARD.decode(text).expect("the build encoded it"))),
            _ => None,
        };
    }
    let (known, page) = PAGES.get_key_value(format!("{file}.md").as_str())?;
    Some(Answer::Page(layout::page(&page.title, known, &page.html, "")))
}

/// The page with the sections in which all words of a query stand, the best first.
#[must_use]
pub fn search(query: &str) -> String {
    layout::page("Search", "", &search::html(query), query)
}

/// The path of a page or picture in the project, without `.md`.
fn file_of(path: &str) -> String {
    match path.trim_matches('/') {
        "" => "README".to_owned(),
        path => format!("docs/{path}"),
    }
}

/// The address of a file of the project, where it is a page or picture.
fn address_of(file: &str) -> Option<String> {
    if file == FIRST {
        return Some(PATH.to_owned());
    }
    let (known, _) = FILES.get_key_value(file)?;
    let path = known.strip_prefix("docs/")?;
    Some(format!("{PATH}/{}", path.strip_suffix(".md").unwrap_or(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str) -> String {
        match answer(path) {
            Some(Answer::Page(html)) => html,
            other => panic!("{path:?} is {other:?}"),
        }
    }

    #[test]
    fn every_guide_is_in_the_contents_once() {
        let mut listed: Vec<String> = CONTENTS
            .iter()
            .flat_map(|(_, pages)| pages.iter().map(|page| file_of(if *page == "README" { "" } else { page }) + ".md"))
            .collect();
        let guides = PAGES.keys().filter(|path| path.matches('/').count() < 2);
        listed.sort_unstable();
        assert_eq!(listed, guides.map(ToString::to_string).collect::<Vec<_>>());
    }

    #[test]
    fn every_link_within_the_guides_leads_to_a_heading_that_is_there() {
        let mut links = 0;
        for path in PAGES.keys() {
            let html = &PAGES[path].html;
            for target in html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default()) {
                let (to, heading) = target.split_once('#').unwrap_or((target, ""));
                let found = match to.strip_prefix(PATH) {
                    Some(inner) => page(inner),
                    None if to.is_empty() => html.clone(),
                    None => continue,
                };
                assert!(heading.is_empty() || found.contains(&format!("id=\"{heading}\"")), "{path}: {target}");
                links += 1;
            }
            for picture in html.split("src=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default()) {
                let path = picture.strip_prefix(PATH).expect("a picture of the guides");
                assert!(matches!(answer(path), Some(Answer::Picture(_, bytes)) if !bytes.is_empty()), "{picture}");
            }
        }
        assert!(links > 100, "{links}");
    }

    #[test]
    fn pages_have_their_title_contents_and_text() {
        let html = page("/sessions");
        for part in
            ["<title>Sessions", "Opening</h2>", "id=\"stepping\"", "<code class=\"language-sh\">", "Run a server"]
        {
            assert!(html.contains(part), "{part}");
        }
        assert!(page("").contains("<title>Palestra"));
        assert!(page("/browser").contains("src=\"/docs/guide/pictures/shop.webp\""));
        let Some(Answer::Picture("image/webp", bytes)) = answer("/pictures/shop.webp") else { panic!("no picture") };
        assert!(bytes.starts_with(b"RIFF"));
        assert!(page("/puzzles/countdown").contains("src=\"/docs/guide/puzzles/countdown.svg\""));
        for missing in ["/nothing", "/../README", "/sessions.md", "//", "/puzzles"] {
            assert_eq!(answer(missing).is_some(), missing == "//" || missing == "/puzzles", "{missing}");
        }
    }

    #[test]
    fn the_guides_are_searched_by_all_words_and_show_no_markup_of_the_query() {
        let html = search("Idempotency key");
        assert!(html.contains("href=\"/docs/guide/sessions#opening\""), "{html}");
        assert!(html.contains("<mark>"), "{html}");
        let nothing = search("<script>zzzz");
        assert!(nothing.contains("Nothing") && !nothing.contains("<script>"), "{nothing}");
        assert!(search("").contains("Nothing"), "no words");
    }
}
