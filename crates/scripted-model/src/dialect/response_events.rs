//! The events in which a response is sent: each item is added, filled and done.

use serde_json::{Value, json};

use super::named;
use super::response_objects::{COMPLETED, function_call, output_text, reasoning, said};
use crate::answer::Answer;
use crate::chunk::Delta;

/// The status of an item that is not whole yet.
const IN_PROGRESS: &str = "in_progress";

/// All events of an answer, from the response that has begun to the one that is whole.
pub(super) fn parts(answer: &Answer<'_>, begun: &Value, whole: &Value) -> Vec<String> {
    let mut events = Events { answer, parts: Vec::new(), output: 0, open: None };
    events.send("response.created", json!({"response": begun}));
    events.send("response.in_progress", json!({"response": begun}));
    for delta in answer.chunks().into_iter().flat_map(|chunk| chunk.deltas) {
        events.add(delta);
    }
    if answer.reply.message.is_empty() {
        events.say();
    }
    events.close();
    let kind = if whole["status"] == COMPLETED { "response.completed" } else { "response.incomplete" };
    events.send(kind, json!({"response": whole}));
    events.parts
}

/// An item that is being filled.
enum Item {
    Reasoning(String),
    Said(String),
    Call(usize, String),
}

struct Events<'a> {
    answer: &'a Answer<'a>,
    parts: Vec<String>,
    /// The place of the item in the output.
    output: usize,
    open: Option<Item>,
}

impl Events<'_> {
    /// Sends an event with its type and number.
    fn send(&mut self, kind: &str, mut event: Value) {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(self.parts.len());
        self.parts.push(named(&event));
    }

    fn item(&mut self, kind: &str, item: &Value) {
        self.send(kind, json!({"output_index": self.output, "item": item}));
    }

    /// Sends an event of a part of the open item.
    fn part(&mut self, kind: &str, item: &str, index: &str, mut event: Value) {
        event["item_id"] = json!(item);
        event["output_index"] = json!(self.output);
        event[index] = json!(0);
        self.send(kind, event);
    }

    fn add(&mut self, delta: Delta) {
        let answer = self.answer;
        match delta {
            Delta::Reasoning(text) => {
                let id = format!("rs_{}", answer.id);
                if !matches!(self.open, Some(Item::Reasoning(_))) {
                    self.begin(Item::Reasoning(String::new()), &reasoning(answer, &json!([]), IN_PROGRESS));
                    let part = json!({"part": {"type": "summary_text", "text": ""}});
                    self.part("response.reasoning_summary_part.added", &id, "summary_index", part);
                }
                self.grow(&text);
                self.part("response.reasoning_summary_text.delta", &id, "summary_index", json!({"delta": text}));
            }
            Delta::Text(text) => {
                if !matches!(self.open, Some(Item::Said(_))) {
                    self.say();
                }
                self.grow(&text);
                let event = json!({"delta": text, "logprobs": []});
                let id = format!("msg_{}", answer.id);
                self.part("response.output_text.delta", &id, "content_index", event);
            }
            Delta::Call(number) => {
                self.begin(Item::Call(number, String::new()), &function_call(answer, number, "", IN_PROGRESS));
            }
            Delta::Arguments(text) => {
                self.grow(&text);
                if let Some(Item::Call(number, _)) = self.open {
                    let id = format!("fc_{}_{number}", answer.id);
                    let event = json!({"item_id": id, "output_index": self.output, "delta": text});
                    self.send("response.function_call_arguments.delta", event);
                }
            }
        }
    }

    /// Begins a message.
    fn say(&mut self) {
        let id = format!("msg_{}", self.answer.id);
        self.begin(Item::Said(String::new()), &said(self.answer, &json!([]), IN_PROGRESS));
        self.part("response.content_part.added", &id, "content_index", json!({"part": output_text("")}));
    }

    fn begin(&mut self, item: Item, object: &Value) {
        self.close();
        self.open = Some(item);
        self.item("response.output_item.added", object);
    }

    fn grow(&mut self, more: &str) {
        if let Some(Item::Reasoning(text) | Item::Said(text) | Item::Call(_, text)) = &mut self.open {
            text.push_str(more);
        }
    }

    fn close(&mut self) {
        let answer = self.answer;
        let whole = match self.open.take() {
            None => return,
            Some(Item::Reasoning(text)) => {
                let id = format!("rs_{}", answer.id);
                self.part("response.reasoning_summary_text.done", &id, "summary_index", json!({"text": text}));
                let summary = json!({"type": "summary_text", "text": text});
                self.part("response.reasoning_summary_part.done", &id, "summary_index", json!({"part": summary}));
                reasoning(answer, &json!([summary]), COMPLETED)
            }
            Some(Item::Said(text)) => {
                let id = format!("msg_{}", answer.id);
                let event = json!({"text": text, "logprobs": []});
                self.part("response.output_text.done", &id, "content_index", event);
                let part = output_text(&text);
                self.part("response.content_part.done", &id, "content_index", json!({"part": part}));
                said(answer, &json!([part]), COMPLETED)
            }
            Some(Item::Call(number, arguments)) => {
                let call = function_call(answer, number, &arguments, COMPLETED);
                let event = json!({
                    "item_id": call["id"], "output_index": self.output, "name": call["name"], "arguments": arguments,
                });
                self.send("response.function_call_arguments.done", event);
                call
            }
        };
        self.item("response.output_item.done", &whole);
        self.output += 1;
    }
}
