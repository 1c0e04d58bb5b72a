//! Media types of files by the ending of their name.

/// Endings and their types; those of text are in UTF-8.
const TYPES: [(&str, &str); 34] = [
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("eot", "application/vnd.ms-fontobject"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("md", "text/plain"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ogg", "audio/ogg"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("vtt", "text/vtt"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webmanifest", "application/manifest+json"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
];

/// The media type of a file; bytes without a meaning where its ending is unknown.
pub(super) fn media_type(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    match TYPES.iter().find(|(known, _)| *known == ending) {
        Some((_, media)) if media.starts_with("text/") => format!("{media}; charset=utf-8"),
        Some((_, media)) => (*media).to_owned(),
        None => "application/octet-stream".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ending_decides_whatever_its_case() {
        for (path, media) in [
            ("index.html", "text/html; charset=utf-8"),
            ("a/b.min.JS", "text/javascript; charset=utf-8"),
            ("logo.svg", "image/svg+xml"),
            ("x.woff2", "font/woff2"),
            ("a.html/b", "application/octet-stream"),
            ("README", "application/octet-stream"),
        ] {
            assert_eq!(media_type(path), media, "{path}");
        }
    }
}
