//! Answers leave in the order of their frames within a session, and in any order across sessions.

use std::collections::{HashMap, VecDeque};

use palestra_protocol::id::SessionId;

/// Names a frame that waits for its answer.
pub(super) type Ticket = u64;

/// Holds answers back until those before them in the same session have left.
#[derive(Default)]
pub(super) struct Order {
    next: Ticket,
    /// Tickets of each session that has any, in the order of their frames.
    lanes: HashMap<SessionId, VecDeque<Ticket>>,
    waiting: HashMap<Ticket, Waiting>,
}

/// A frame that was not answered yet.
struct Waiting {
    sessions: Vec<SessionId>,
    /// The answer, once it is there.
    answer: Option<String>,
}

impl Order {
    /// Whether an answer about `session` would have to wait for another.
    pub(super) fn is_clear(&self, session: SessionId) -> bool {
        !self.lanes.contains_key(&session)
    }

    /// A place behind all frames of the same sessions.
    pub(super) fn queue(&mut self, mut sessions: Vec<SessionId>) -> Ticket {
        sessions.sort_unstable();
        sessions.dedup();
        let ticket = self.next;
        self.next += 1;
        for session in &sessions {
            self.lanes.entry(*session).or_default().push_back(ticket);
        }
        self.waiting.insert(ticket, Waiting { sessions, answer: None });
        ticket
    }

    /// Takes in an answer, and gives out all that may leave now, in order.
    pub(super) fn answer(&mut self, ticket: Ticket, answer: String, leave: &mut impl FnMut(String)) {
        let Some(waiting) = self.waiting.get_mut(&ticket) else { return };
        waiting.answer = Some(answer);
        let mut candidates = vec![ticket];
        while let Some(ticket) = candidates.pop() {
            if !self.is_first_everywhere(ticket) {
                continue;
            }
            let Some(Waiting { sessions, answer: Some(answer) }) = self.waiting.remove(&ticket) else { continue };
            leave(answer);
            for session in sessions {
                let Some(lane) = self.lanes.get_mut(&session) else { continue };
                lane.pop_front();
                match lane.front() {
                    Some(next) => candidates.push(*next),
                    None => {
                        self.lanes.remove(&session);
                    }
                }
            }
        }
    }

    /// Whether a ticket has its answer and stands first in every one of its lanes.
    fn is_first_everywhere(&self, ticket: Ticket) -> bool {
        self.waiting.get(&ticket).is_some_and(|waiting| {
            waiting.answer.is_some()
                && waiting
                    .sessions
                    .iter()
                    .all(|session| self.lanes.get(session).is_some_and(|lane| lane.front() == Some(&ticket)))
        })
    }

    /// How many frames wait for their answers to leave.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn leaving(order: &mut Order, ticket: Ticket, answer: &str) -> Vec<String> {
        let mut left = Vec::new();
        order.answer(ticket, answer.to_owned(), &mut |answer| left.push(answer));
        left
    }

    #[test]
    fn answers_of_one_session_wait_for_each_other_and_those_of_others_do_not() {
        let (a, b) = (SessionId::new(), SessionId::new());
        let mut order = Order::default();
        let (first, second, other) = (order.queue(vec![a]), order.queue(vec![a]), order.queue(vec![b]));
        assert!(leaving(&mut order, second, "second").is_empty());
        assert_eq!(leaving(&mut order, other, "other"), ["other"]);
        assert_eq!(leaving(&mut order, first, "first"), ["first", "second"]);
        assert!(order.is_clear(a) && order.is_clear(b));
        assert_eq!(order.len(), 0);
    }

    #[test]
    fn an_answer_about_many_sessions_waits_for_all_of_them() {
        let (a, b) = (SessionId::new(), SessionId::new());
        let mut order = Order::default();
        let before = order.queue(vec![a]);
        let both = order.queue(vec![a, b, a]);
        let after = order.queue(vec![b]);
        assert!(leaving(&mut order, after, "after").is_empty());
        assert!(leaving(&mut order, both, "both").is_empty());
        assert_eq!(leaving(&mut order, before, "before"), ["before", "both", "after"]);
    }

    proptest! {
        #[test]
        fn whatever_finishes_first_order_within_a_session_holds_and_nothing_stays(
            frames in prop::collection::vec(prop::collection::vec(0_usize..4, 0..3), 1..40),
            seed in any::<u64>(),
        ) {
            let sessions: Vec<SessionId> = (0..4).map(|_| SessionId::new()).collect();
            let mut order = Order::default();
            let tickets: Vec<Ticket> =
                frames.iter().map(|frame| order.queue(frame.iter().map(|index| sessions[*index]).collect())).collect();
            let mut finishing: Vec<usize> = (0..frames.len()).collect();
            finishing.sort_by_key(|index| crate::environment::task::permute(*index as u64, frames.len() as u64, seed));
            let mut left: Vec<usize> = Vec::new();
            for index in finishing {
                order.answer(tickets[index], index.to_string(), &mut |answer| left.push(answer.parse().unwrap()));
            }
            prop_assert_eq!(left.len(), frames.len());
            prop_assert_eq!(order.len(), 0);
            for session in 0..4 {
                let of_session: Vec<usize> = left.iter().copied().filter(|index| frames[*index].contains(&session)).collect();
                prop_assert!(of_session.is_sorted());
            }
        }
    }
}
