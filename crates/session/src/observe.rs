//! Cuts observations to the size and the blocks that a caller asked for. The record keeps the whole.

use palestra_protocol::observation::{Keep, Observation, Observe};

use super::{SessionError, TakenStep};

/// A step with its answer as the caller asked for it: the observation is cut, and so are the messages that repeat it.
pub(super) fn cut_step(taken: TakenStep, session: &Observe, step: Option<&Observe>) -> Result<TakenStep, SessionError> {
    let limit = text_limit(session, step);
    if limit.is_none() && blocks(session, step).is_none() {
        return Ok(taken);
    }
    taken.changed(|answer| {
        answer.observation = cut(std::mem::take(&mut answer.observation), session, step);
        if let Some((limit, keep)) = limit {
            for message in &mut answer.messages {
                message.content = cut_text(&message.content, limit, keep).0;
            }
        }
    })
}

/// Which types of blocks are wanted; all where nobody says.
fn blocks<'a>(session: &'a Observe, step: Option<&'a Observe>) -> Option<&'a Vec<String>> {
    step.and_then(|observe| observe.blocks.as_ref()).or(session.blocks.as_ref())
}

fn text_limit(session: &Observe, step: Option<&Observe>) -> Option<(usize, Keep)> {
    let text_bytes = step.and_then(|observe| observe.text_bytes).or(session.text_bytes)?;
    let keep = step.and_then(|observe| observe.keep).or(session.keep).unwrap_or_default();
    Some((usize::try_from(text_bytes).unwrap_or(usize::MAX), keep))
}

/// Cuts `observation` as `step` says where it says something, else as `session` does.
pub(super) fn cut(mut observation: Observation, session: &Observe, step: Option<&Observe>) -> Observation {
    if let Some(blocks) = blocks(session, step) {
        observation
            .content
            .retain(|block| block["type"].as_str().is_some_and(|kind| blocks.iter().any(|wanted| wanted == kind)));
    }
    if let Some((limit, keep)) = text_limit(session, step) {
        let (text, omitted) = cut_text(&observation.text, limit, keep);
        if omitted > 0 {
            observation.text = text;
            observation.omitted_bytes = u64::try_from(omitted).unwrap_or(u64::MAX);
        }
    }
    observation
}

/// At most `limit` bytes of `text`, never splitting a character, and how many bytes were left out.
fn cut_text(text: &str, limit: usize, keep: Keep) -> (String, usize) {
    if text.len() <= limit {
        return (text.to_owned(), 0);
    }
    let (head, tail) = match keep {
        Keep::Head => (limit, 0),
        Keep::Tail => (0, limit),
        Keep::Both => (limit.div_ceil(2), limit / 2),
    };
    let head_end = text.floor_char_boundary(head);
    let tail_start = text.ceil_char_boundary(text.len() - tail);
    let kept = format!("{}{}", &text[..head_end], &text[tail_start..]);
    let omitted = text.len() - kept.len();
    (kept, omitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_the_asked_part_and_whole_characters() {
        assert_eq!(cut_text("abcdef", 6, Keep::Head), ("abcdef".to_owned(), 0));
        assert_eq!(cut_text("abcdef", 4, Keep::Head), ("abcd".to_owned(), 2));
        assert_eq!(cut_text("abcdef", 4, Keep::Tail), ("cdef".to_owned(), 2));
        assert_eq!(cut_text("abcdef", 3, Keep::Both), ("abf".to_owned(), 3));
        assert_eq!(cut_text("äöü", 3, Keep::Head), ("ä".to_owned(), 4));
        assert_eq!(cut_text("äöü", 3, Keep::Tail), ("ü".to_owned(), 4));
        assert_eq!(cut_text("äöü", 0, Keep::Both), (String::new(), 6));
    }

    #[test]
    fn a_step_overrides_the_session() {
        let observation = Observation {
            text: "abcdef".to_owned(),
            content: vec![serde_json::json!({"type": "table"}), serde_json::json!({"type": "tree"})],
            ..Observation::default()
        };
        let session = Observe { text_bytes: Some(1), blocks: Some(vec!["tree".to_owned()]), ..Observe::default() };
        let step = Observe { text_bytes: Some(2), ..Observe::default() };
        let cut = cut(observation, &session, Some(&step));
        assert_eq!((cut.text.as_str(), cut.omitted_bytes, cut.content.len()), ("ab", 4, 1));
    }
}
