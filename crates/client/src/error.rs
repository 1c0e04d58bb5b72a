//! Why a call did not bring its answer.

use palestra_protocol::problem::{Code, Problem};

/// Characters of an answer that are quoted where it is no problem document.
const EXCERPT_CHARACTERS_MAX: usize = 200;

/// Why a call did not bring its answer.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server refused, and says why.
    #[error("{} ({}): {}", .0.code.as_str(), .0.status, describe(.0))]
    Problem(Box<Problem>),
    /// The answer has a form that no Palestra server gives: something else answered.
    #[error("the answer (status {status}) is none of a Palestra server, check the address: {excerpt}")]
    Unexpected {
        /// HTTP status.
        status: u16,
        /// The beginning of the body, or what is wrong with it.
        excerpt: String,
    },
    /// The server address cannot be used.
    #[error("{0}")]
    Address(String),
    /// The server could not be reached, or the connection broke.
    #[error("the server cannot be reached, check that it runs and its address: {0}")]
    Unreachable(String),
    /// The connection broke while a frame was unanswered that must not be sent twice.
    #[error("the connection broke, and this frame is not safe to send again: give a step its `seq`")]
    Interrupted,
    /// No connection could be kept for as long as the stream was told to try.
    #[error("no connection came about within {seconds:.1} s, check that the server runs and its address: {last}")]
    GaveUp {
        /// The time that it was tried, in seconds.
        seconds: f64,
        /// The last error.
        last: String,
    },
    /// The stream was closed by its owner.
    #[error("the stream is closed: connect again")]
    Closed,
    /// The content to send is no JSON object, or larger than the stream sends.
    #[error("{0}")]
    Unsendable(String),
    /// A file on this side cannot be read or written.
    #[error("{0}")]
    File(String),
}

/// The detail and every fault of a problem in one line. Details mention single faults already.
fn describe(problem: &Problem) -> String {
    let mut text = problem.detail.clone();
    for fault in problem.errors.iter().map(ToString::to_string) {
        if !text.contains(&fault) {
            text.push_str(&format!("; {fault}"));
        }
    }
    text
}

impl ClientError {
    /// The problem's code, where the server answered with one.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Problem(problem) => Some(problem.code),
            _ => None,
        }
    }

    /// True where the same call may succeed later: the server is away, stops, or has too much to do.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Problem(problem) => matches!(problem.status, 408 | 429 | 500 | 502 | 503 | 504),
            // A proxy before a server that is away.
            Self::Unexpected { status, .. } => *status >= 500,
            Self::Unreachable(_) | Self::Interrupted | Self::GaveUp { .. } => true,
            Self::Address(_) | Self::Closed | Self::Unsendable(_) | Self::File(_) => false,
        }
    }

    /// Reads the body of an answer that is no success.
    pub(crate) fn from_answer(status: u16, body: &[u8]) -> Self {
        match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => Self::Problem(Box::new(problem)),
            Err(_) => Self::Unexpected {
                status,
                excerpt: String::from_utf8_lossy(body).chars().take(EXCERPT_CHARACTERS_MAX).collect(),
            },
        }
    }
}

impl From<Problem> for ClientError {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl From<reqwest::Error> for ClientError {
    /// Also a body that breaks off is called undecodable there; what a whole body says is read by this client itself.
    fn from(error: reqwest::Error) -> Self {
        Self::Unreachable(causes(&error))
    }
}

/// The error with what caused it: reqwest's own text leaves out the reason, such as a refused connection.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use palestra_protocol::problem::Fault;

    #[test]
    fn a_problem_shows_every_fault() {
        let problem = Problem::new(Code::Invalid, "2 faults").with_errors(vec![
            Fault { line: Some(3), detail: "no prompt".to_owned(), ..Fault::default() },
            Fault { field: Some("limits.steps".to_owned()), detail: "too small".to_owned(), ..Fault::default() },
        ]);
        let body = serde_json::to_vec(&problem).unwrap();
        let error = ClientError::from_answer(422, &body);
        assert_eq!(error.code(), Some(Code::Invalid));
        assert_eq!(error.to_string(), "invalid (422): 2 faults; line 3: no prompt; limits.steps: too small");
    }

    #[test]
    fn a_foreign_answer_is_quoted_and_cut() {
        let error = ClientError::from_answer(502, "x".repeat(10_000).as_bytes());
        assert!(matches!(&error, ClientError::Unexpected { status: 502, excerpt } if excerpt.len() == 200), "{error}");
    }
}
