//! The policy of a page that lets it run its own scripts and no others: text that is put into the page never runs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The one handler that may stand in an attribute, and does nothing: libraries of pages try out by it which events a browser has.
const TRIED_HANDLER: &str = "t";

/// The value of `content-security-policy` for a page: its scripts by their digests, and files of its own host.
pub(super) fn policy(page: &str) -> String {
    let allowed = |script: &str| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(script.as_bytes())));
    let own: String = inline_scripts(page).iter().map(|script| allowed(script)).collect();
    let tried = allowed(TRIED_HANDLER);
    format!(
        "default-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-hashes'{tried}{own}; \
         object-src 'none'; frame-src 'none'; frame-ancestors 'none'; worker-src 'none'; base-uri 'none'; form-action 'none'"
    )
}

/// The text of each script within a page, with the line ends that a browser gives it.
fn inline_scripts(page: &str) -> Vec<String> {
    let page = page.replace("\r\n", "\n").replace('\r', "\n");
    let lower = page.to_ascii_lowercase();
    let mut scripts = Vec::new();
    let mut at = 0;
    while let Some(start) = lower[at..].find("<script").map(|found| at + found) {
        let Some(body) = lower[start..].find('>').map(|found| start + found + 1) else { break };
        let end = lower[body..].find("</script").map_or(page.len(), |found| body + found);
        if !lower[start..body].contains(" src") {
            scripts.push(page[body..end].to_owned());
        }
        at = end;
    }
    scripts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_the_page_are_allowed_by_their_text() {
        let page = "<SCRIPT src='a.js'></SCRIPT><script>\r\nlet a;\r</script><p><script type=\"x\">b</script>";
        assert_eq!(inline_scripts(page), ["\nlet a;\n", "b"]);
        let policy = policy(page);
        assert!(policy.contains("'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='"), "{policy}");
        assert!(!policy.contains("'unsafe-eval'"), "{policy}");
        let scripts = policy.split("script-src").nth(1).and_then(|rest| rest.split(';').next()).unwrap();
        assert!(!scripts.contains("'unsafe-inline'"), "{policy}");
        assert_eq!(inline_scripts("<script>open"), ["open"]);
        assert!(inline_scripts("<script").is_empty());
    }
}
