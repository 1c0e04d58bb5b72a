//! Refusals as clients of OpenAI read them. They stay problem documents, with a member `error` beside the others.

use palestra_protocol::problem::{Fault, Problem};
use serde_json::json;

use crate::http::problem::Failure;

/// Where clients of OpenAI call.
const ROOTS: [&str; 2] = ["/v1/files", "/v1/fine_tuning"];
/// The status with which those clients expect what does not fit; ours is 422.
const BAD_REQUEST: u16 = 400;
const UNPROCESSABLE: u16 = 422;

/// Tells whether those who call this path are clients of OpenAI.
pub(in crate::http) fn is_mounted_at(path: &str) -> bool {
    let below = |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    ROOTS.iter().any(|root| below(root))
}

/// The same problem, also for clients of OpenAI.
pub(in crate::http) fn with_error(mut problem: Problem) -> Problem {
    if problem.status == UNPROCESSABLE {
        problem.status = BAD_REQUEST;
    }
    let message = match problem.errors.as_slice() {
        [] | [_] => problem.detail.clone(),
        several => several.iter().map(in_words).collect::<Vec<_>>().join("; "),
    };
    let kind = match problem.status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let parameter = problem.errors.first().and_then(|fault| fault.field.clone());
    let error = json!({"message": message, "type": kind, "param": parameter, "code": problem.code.as_str()});
    problem.with("error", error)
}

fn in_words(fault: &Fault) -> String {
    let place = fault.field.clone().or_else(|| fault.line.map(|line| format!("line {line}")));
    place.map_or_else(|| fault.detail.clone(), |place| format!("{place}: {}", fault.detail))
}

/// A refusal of several faults, of which each names a parameter; none where there are none.
pub(super) fn unless_none(faults: Vec<Fault>) -> Result<(), Failure> {
    if faults.is_empty() { Ok(()) } else { Err(palestra_jobs::JobsError::Invalid(faults).into()) }
}

/// A fault of a parameter.
pub(super) fn fault(parameter: impl Into<String>, detail: impl Into<String>) -> Fault {
    Fault { field: Some(parameter.into()), detail: detail.into(), ..Fault::default() }
}

#[cfg(test)]
mod tests {
    use palestra_protocol::problem::Code;

    use super::*;

    #[test]
    fn routes_of_others_keep_their_form() {
        for path in
            ["/v1/files", "/v1/files/", "/v1/files/file-1/content", "/v1/fine_tuning/jobs", "/v1/fine_tuning/no"]
        {
            assert!(is_mounted_at(path), "{path}");
        }
        for path in ["/v1/filesystem", "/v1/jobs", "/v1/fine_tuning2", "/v1/sessions/v1/files", "/"] {
            assert!(!is_mounted_at(path), "{path}");
        }
    }

    #[test]
    fn a_problem_names_the_parameter_and_keeps_its_own_members() {
        let found = with_error(Problem::new(Code::Invalid, "2 faults were found").with_errors(vec![
            fault("model", "there is none"),
            Fault { line: Some(3), detail: "no JSON".to_owned(), ..Fault::default() },
        ]));
        assert_eq!((found.status, found.code), (400, Code::Invalid));
        let expected = json!({"message": "model: there is none; line 3: no JSON", "type": "invalid_request_error",
            "param": "model", "code": "invalid"});
        assert_eq!(found.extra["error"], expected);
        for (code, kind) in [
            (Code::Unauthorized, "authentication_error"),
            (Code::Forbidden, "permission_error"),
            (Code::NotFound, "invalid_request_error"),
            (Code::TooManyRequests, "rate_limit_error"),
            (Code::StoreUnavailable, "server_error"),
        ] {
            let found = with_error(Problem::new(code, "x"));
            assert_eq!((&found.extra["error"]["type"], found.status), (&json!(kind), code.status()));
        }
    }
}
