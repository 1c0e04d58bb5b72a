//! Everything that is known of a rollout, a line for each.

use palestra_protocol::episode::Trajectory;
use palestra_protocol::model_call::ModelCall;
use serde::Serialize;

use super::view::View;
use super::{Form, FormError, Tally, write_line};
use crate::graph::Graph;

pub(super) struct Jsonl;

#[derive(Serialize)]
struct Whole<'a> {
    trajectory: &'a Trajectory,
    calls: &'a [ModelCall],
    graph: &'a Graph,
}

impl Form for Jsonl {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        write_line(
            &Whole { trajectory: &view.rollout.trajectory, calls: &view.rollout.calls, graph: &view.graph },
            out,
        )?;
        tally.records += 1;
        tally.tokens_trained += view.graph.counts.tokens_trained;
        Ok(())
    }
}
