//! Answers leave in the order of their frames within a session, and in any order across sessions.

use std::collections::HashMap;

use palestra_protocol::id::SessionId;

/// Names a frame that waits for its answer.
pub(super) type Ticket = u64;

/// Holds answers back until those before them in the same session have left.
#[derive(Default)]
pub(super) struct Order {
    next: Ticket,
    /// The last frame that waits, of each session that has any.
    last: HashMap<SessionId, Ticket>,
    waiting: HashMap<Ticket, Waiting>,
}

/// A frame that was not answered yet.
struct Waiting {
    sessions: Vec<SessionId>,
    /// Number of sessions that have another frame right before this one.
    behind: usize,
    /// The frames right behind this one, once for each session.
    followers: Vec<Ticket>,
    /// The answer, once it is there.
    answer: Option<String>,
}

impl Order {
    /// Tells whether an answer about `session` would have to wait for another.
    pub(super) fn is_clear(&self, session: SessionId) -> bool {
        !self.last.contains_key(&session)
    }

    /// A place behind all frames of the same sessions.
    pub(super) fn queue(&mut self, sessions: Vec<SessionId>) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        let mut behind = 0;
        for session in &sessions {
            let before = self.last.insert(*session, ticket).filter(|before| *before != ticket);
            if let Some(before) = before.and_then(|before| self.waiting.get_mut(&before)) {
                before.followers.push(ticket);
                behind += 1;
            }
        }
        self.waiting.insert(ticket, Waiting { sessions, behind, followers: Vec::new(), answer: None });
        ticket
    }

    /// Takes in an answer, and gives out all that may leave now, in order.
    pub(super) fn answer(&mut self, ticket: Ticket, answer: String, leave: &mut impl FnMut(String)) {
        let Some(waiting) = self.waiting.get_mut(&ticket) else { return };
        waiting.answer = Some(answer);
        let mut candidates = vec![ticket];
        while let Some(ticket) = candidates.pop() {
            if !self.may_leave(ticket) {
                continue;
            }
            let Some(Waiting { sessions, followers, answer: Some(answer), .. }) = self.waiting.remove(&ticket) else {
                continue;
            };
            leave(answer);
            for session in sessions {
                if self.last.get(&session) == Some(&ticket) {
                    self.last.remove(&session);
                }
            }
            for follower in followers {
                if let Some(waiting) = self.waiting.get_mut(&follower) {
                    waiting.behind -= 1;
                    candidates.push(follower);
                }
            }
        }
    }

    /// Tells whether a frame has its answer and stands behind no other.
    fn may_leave(&self, ticket: Ticket) -> bool {
        self.waiting.get(&ticket).is_some_and(|waiting| waiting.answer.is_some() && waiting.behind == 0)
    }

    /// Number of frames whose answers did not leave yet.
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
            finishing.sort_by_key(|index| palestra_environment::task::permute(*index as u64, frames.len() as u64, seed));
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
