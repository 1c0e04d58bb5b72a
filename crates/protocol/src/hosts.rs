//! Lists of hosts that may be reached.

/// True if `allowed` names this host, as `host` or `host:port`.
///
/// ```
/// use palestra_protocol::hosts::names;
///
/// let allowed = ["models.example".to_owned(), "10.0.0.1:8000".to_owned()];
/// assert!(names(&allowed, "MODELS.example", 9_000));
/// assert!(names(&allowed, "10.0.0.1", 8_000) && !names(&allowed, "10.0.0.1", 80));
/// ```
#[must_use]
pub fn names(allowed: &[String], host: &str, port: u16) -> bool {
    let with_port = format!("{host}:{port}");
    allowed.iter().any(|one| one.eq_ignore_ascii_case(host) || one.eq_ignore_ascii_case(&with_port))
}
