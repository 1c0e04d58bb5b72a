//! The graph of states in the language of Graphviz.

use std::fmt::Write as _;

use super::report::Exploration;
use crate::task::call::Call;

/// Characters of an argument that are shown.
const ARGUMENT_CHARACTERS_MAX: usize = 24;

/// The states and moves of an exploration, to be drawn by Graphviz: `dot -Tsvg`. The beginning is a box, a goal has two
/// circles, a state in which an invariant is broken first is red, and one whose moves were left out in part is dashed.
#[must_use]
pub fn dot(exploration: &Exploration) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&exploration.app));
    text.push_str("  node [shape=circle];\n");
    for (place, state) in exploration.graph.states.iter().enumerate() {
        let shape = match (place, state.goal) {
            (0, _) => "box",
            (_, true) => "doublecircle",
            _ => "circle",
        };
        let style = if state.open { ", style=dashed" } else { "" };
        let color = if state.breach { ", color=red" } else { "" };
        let _infallible = writeln!(text, "  {place} [shape={shape}{style}{color}];");
    }
    for way in &exploration.graph.moves {
        let _infallible = writeln!(text, "  {} -> {} [label={}];", way.from, way.to, quoted(&label(&way.call)));
    }
    text.push_str("}\n");
    text
}

/// A call as people read it: `lend(days: 14, tool: T0412)`.
fn label(call: &Call) -> String {
    let arguments = call.arguments.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let mut shown: String = value.chars().take(ARGUMENT_CHARACTERS_MAX).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        format!("{name}: {shown}")
    });
    format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", "))
}

/// A text in quotes, as Graphviz reads it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}
