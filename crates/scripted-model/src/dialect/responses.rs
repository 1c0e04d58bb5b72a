//! OpenAI's `responses`, without what needs stored responses.

use serde::Deserialize;
use serde_json::{Value, json};

use super::content::{self, excerpt};
use super::response_events;
use super::response_objects::{COMPLETED, begun, function_call, output_text, reasoning, said};
use super::{Dialect, Refusal, body, openai_error};
use crate::answer::Answer;
use crate::conversation::{Call, Message, Piece, Request, Role, Wants};
use crate::script::Finish;

/// The dialect.
pub(crate) struct Responses;

#[derive(Deserialize)]
struct Body {
    model: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    return_token_ids: Option<bool>,
    #[serde(default)]
    previous_response_id: Option<String>,
    #[serde(default)]
    conversation: Value,
    #[serde(default)]
    background: Option<bool>,
}

impl Dialect for Responses {
    fn read(&self, bytes: &[u8]) -> Result<Request, Refusal> {
        let body: Body = body(bytes)?;
        if body.previous_response_id.is_some() {
            return Err(Refusal::bad(
                "`previous_response_id` is refused, since no response is stored here: send the whole conversation in `input`",
            ));
        }
        if !body.conversation.is_null() || body.background == Some(true) {
            return Err(Refusal::bad(
                "`conversation` and `background` are refused, since no response is stored here: leave them out",
            ));
        }
        let mut items = Items::default();
        if let Some(instructions) = body.instructions.filter(|text| !text.is_empty()) {
            items.messages.push(Message::with(Role::System, vec![Piece::Text(instructions)]));
        }
        match &body.input {
            Value::Array(list) => list.iter().try_for_each(|item| items.add(item))?,
            Value::String(_) => items.messages.push(Message::with(Role::User, content::read(&body.input)?)),
            _ => return Err(Refusal::bad("`input` must be a text or a list of items")),
        }
        let tools = body.tools.unwrap_or_default();
        Ok(Request {
            model: body.model,
            messages: items.messages,
            tools: tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect(),
            stream: body.stream.unwrap_or_default(),
            wants: Wants { token_ids: body.return_token_ids.unwrap_or_default(), events: true, ..Wants::default() },
        })
    }

    fn whole(&self, answer: &Answer<'_>) -> Value {
        let mut object = begun(answer);
        let reply = &answer.reply.message;
        let mut output = Vec::new();
        if !reply.reasoning.is_empty() {
            output.push(reasoning(answer, &json!([{"type": "summary_text", "text": reply.reasoning}]), COMPLETED));
        }
        // A turn of nothing is a turn all the same.
        if !reply.content.is_empty() || reply.is_empty() {
            output.push(said(answer, &json!([output_text(&reply.text())]), COMPLETED));
        }
        output.extend(
            (0..reply.calls.len())
                .map(|number| function_call(answer, number, &reply.calls[number].arguments, COMPLETED)),
        );
        object["output"] = output.into();
        object["usage"] = json!({
            "input_tokens": answer.input_tokens(),
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": answer.output_tokens(),
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.total_tokens(),
        });
        let reason = match answer.reply.finish {
            Finish::Stop | Finish::ToolCalls => None,
            Finish::Length => Some("max_output_tokens"),
            Finish::ContentFilter => Some("content_filter"),
        };
        object["status"] = json!(COMPLETED);
        if let Some(reason) = reason {
            object["status"] = json!("incomplete");
            object["incomplete_details"] = json!({"reason": reason});
        }
        answer.tell_tokens(&mut object);
        object
    }

    fn parts(&self, answer: &Answer<'_>) -> Vec<String> {
        response_events::parts(answer, &begun(answer), &self.whole(answer))
    }

    fn refuse(&self, refusal: &Refusal) -> Value {
        openai_error(refusal)
    }
}

/// Reads items, of which several make one turn of the assistant.
#[derive(Default)]
struct Items {
    messages: Vec<Message>,
    /// The last item of the assistant's turn that goes on; none where another one spoke last.
    last: Option<Order>,
}

/// The order of a turn's items; one that comes before another begins a turn of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Reasoning,
    Said,
    Call,
}

impl Items {
    fn add(&mut self, item: &Value) -> Result<(), Refusal> {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("message") | None, Some("assistant")) => {
                let content = content::read(&item["content"])?;
                self.turn(Order::Said).content.extend(content);
            }
            (Some("message") | None, Some(role)) => {
                let role = match role {
                    "user" => Role::User,
                    "system" | "developer" => Role::System,
                    other => return Err(Refusal::bad(format!("the role `{other}` is unknown: use user or assistant"))),
                };
                self.other(Message::with(role, content::read(&item["content"])?));
            }
            (Some("reasoning"), _) => {
                let texts = |name: &str| -> String {
                    let parts = item[name].as_array().into_iter().flatten();
                    parts.filter_map(|part| part["text"].as_str()).collect()
                };
                let summary = texts("summary");
                let reasoning = if summary.is_empty() { texts("content") } else { summary };
                self.turn(Order::Reasoning).reasoning.push_str(&reasoning);
            }
            (Some("function_call"), _) => {
                let call = Call::of_text(text("name"), text("arguments"));
                self.turn(Order::Call).calls.push(call);
            }
            (Some("custom_tool_call"), _) => {
                let call = Call { tool: text("name").to_owned(), arguments: text("input").to_owned() };
                self.turn(Order::Call).calls.push(call);
            }
            (Some("function_call_output" | "custom_tool_call_output"), _) => {
                self.other(Message::with(Role::Tool, content::read(&item["output"])?));
            }
            _ => {
                return Err(Refusal::bad(format!(
                    "the item {} cannot be read: send messages, reasoning, calls and their outputs",
                    excerpt(item)
                )));
            }
        }
        Ok(())
    }

    fn other(&mut self, message: Message) {
        self.messages.push(message);
        self.last = None;
    }

    /// The assistant's turn that an item belongs to.
    fn turn(&mut self, order: Order) -> &mut Message {
        let goes_on = self.last.is_some_and(|last| last < order || (last, order) == (Order::Call, Order::Call));
        self.last = Some(order);
        if !goes_on {
            self.messages.push(Message::new(Role::Assistant));
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }
}
