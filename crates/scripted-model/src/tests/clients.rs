//! Clients of each dialect, which send the history back as real ones do: arguments are written anew, ids and status are left out.

use serde_json::{Value, json};

/// A conversation on the side of the client.
#[derive(Debug)]
pub(super) struct Client {
    dialect: &'static str,
    system: String,
    history: Vec<Value>,
}

impl Client {
    pub(super) fn new(dialect: &'static str, system: &str) -> Self {
        Self { dialect, system: system.to_owned(), history: Vec::new() }
    }

    /// The next request.
    pub(super) fn body(&self) -> Value {
        let history = json!(self.history);
        match self.dialect {
            "chat" => {
                let mut messages = vec![json!({"role": "system", "content": self.system})];
                messages.extend(self.history.iter().cloned());
                json!({"model": "m", "messages": messages, "logprobs": true, "return_token_ids": true, "stream": true})
            }
            "responses" => json!({
                "model": "m", "instructions": self.system, "input": history, "return_token_ids": true, "stream": true,
            }),
            "messages" => json!({
                "model": "m", "max_tokens": 9, "system": [{"type": "text", "text": self.system}], "messages": history,
                "return_token_ids": true, "stream": true,
            }),
            _ => json!({
                "systemInstruction": {"parts": [{"text": self.system}]}, "contents": history, "return_token_ids": true,
            }),
        }
    }

    pub(super) fn say(&mut self, text: &str) {
        self.history.push(match self.dialect {
            "chat" => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
            "responses" => json!({"role": "user", "content": [{"type": "input_text", "text": text}]}),
            "messages" => json!({"role": "user", "content": text}),
            _ => json!({"role": "user", "parts": [{"text": text}]}),
        });
    }

    /// Takes an answer into the history; answers how many results of tools it waits for.
    pub(super) fn take(&mut self, whole: &Value) -> usize {
        let before = self.history.len();
        match self.dialect {
            "chat" => {
                let mut message = whole["choices"][0]["message"].clone();
                for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
                    let arguments = call["function"]["arguments"].as_str().expect("arguments");
                    let arguments: Value = serde_json::from_str(arguments).expect("JSON");
                    call["function"]["arguments"] = json!(serde_json::to_string_pretty(&arguments).expect("JSON"));
                }
                self.history.push(message);
            }
            "responses" => {
                let mut items = whole["output"].as_array().expect("items").clone();
                for item in &mut items {
                    let item = item.as_object_mut().expect("an item");
                    item.remove("id");
                    item.remove("status");
                }
                self.history.extend(items);
            }
            "messages" => self.history.push(json!({"role": "assistant", "content": whole["content"]})),
            _ => self.history.push(whole["candidates"][0]["content"].clone()),
        }
        self.calls(before).len()
    }

    /// Ids and names of the calls since a place in the history.
    fn calls(&self, since: usize) -> Vec<(Value, Value)> {
        let turn = self.history[since..].iter();
        let parts =
            |name: &'static str| turn.clone().flat_map(move |item| item[name].as_array().cloned().unwrap_or_default());
        match self.dialect {
            "chat" => parts("tool_calls").map(|call| (call["id"].clone(), call["function"]["name"].clone())).collect(),
            "responses" => turn
                .filter(|item| item["type"] == "function_call")
                .map(|item| (item["call_id"].clone(), item["name"].clone()))
                .collect(),
            "messages" => parts("content")
                .filter(|block| block["type"] == "tool_use")
                .map(|block| (block["id"].clone(), block["name"].clone()))
                .collect(),
            _ => parts("parts")
                .filter(|part| part["functionCall"].is_object())
                .map(|part| (Value::Null, part["functionCall"]["name"].clone()))
                .collect(),
        }
    }

    /// Answers every call of the last turn.
    pub(super) fn answer(&mut self, results: &[String]) {
        let start = self.history.iter().rposition(|item| item["role"] == "user").map_or(0, |last| last + 1);
        let calls = self.calls(start);
        let calls = &calls[calls.len() - results.len()..];
        let all = calls.iter().zip(results);
        match self.dialect {
            "chat" => self
                .history
                .extend(all.map(|((id, _), result)| json!({"role": "tool", "tool_call_id": id, "content": result}))),
            "responses" => self.history.extend(
                all.map(|((id, _), result)| json!({"type": "function_call_output", "call_id": id, "output": result})),
            ),
            "messages" => {
                let block = |((id, _), result): (&(Value, Value), &String)| {
                    let content = json!([{"type": "text", "text": result}]);
                    json!({"type": "tool_result", "tool_use_id": id, "content": content})
                };
                self.history.push(json!({"role": "user", "content": all.map(block).collect::<Vec<_>>()}));
            }
            _ => {
                let part = |((_, name), result): (&(Value, Value), &String)| json!({"functionResponse": {"name": name, "response": {"result": result}}});
                self.history.push(json!({"role": "user", "parts": all.map(part).collect::<Vec<_>>()}));
            }
        }
    }
}

/// The whole that a client makes of the parts of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Streamed {
    pub(super) text: String,
    pub(super) reasoning: String,
    /// Names and arguments of calls.
    pub(super) calls: Vec<(String, String)>,
    pub(super) prompt: Value,
    pub(super) completion: Vec<Value>,
    pub(super) logprobs: Vec<Value>,
}

/// Puts the events of a stream together.
pub(super) fn assemble(dialect: &str, events: &[Value]) -> Streamed {
    let mut found = Streamed::default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let tokens = |found: &mut Streamed, object: &Value| {
        found.prompt = object["prompt_token_ids"].clone();
        found.completion = list(&object["token_ids"]);
        found.logprobs = list(&object["logprobs"]);
    };
    for event in events {
        match dialect {
            "chat" => {
                if event["prompt_token_ids"].is_array() {
                    found.prompt = event["prompt_token_ids"].clone();
                }
                let choice = &event["choices"][0];
                found.completion.extend(list(&choice["token_ids"]));
                let entries = list(&choice["logprobs"]["content"]);
                found.logprobs.extend(entries.iter().map(|entry| entry["logprob"].clone()));
                let delta = &choice["delta"];
                found.text += &text(&delta["content"]);
                found.reasoning += &text(&delta["reasoning_content"]);
                for call in list(&delta["tool_calls"]) {
                    if call["id"].is_string() {
                        assert_eq!(call["index"], found.calls.len());
                        found.calls.push((text(&call["function"]["name"]), String::new()));
                    }
                    found.calls.last_mut().expect("a call").1 += &text(&call["function"]["arguments"]);
                }
            }
            "responses" => match event["type"].as_str().expect("a type") {
                "response.output_text.delta" => found.text += &text(&event["delta"]),
                "response.reasoning_summary_text.delta" => found.reasoning += &text(&event["delta"]),
                "response.function_call_arguments.delta" => {
                    found.calls.last_mut().expect("a call").1 += &text(&event["delta"]);
                }
                "response.output_item.added" if event["item"]["type"] == "function_call" => {
                    found.calls.push((text(&event["item"]["name"]), String::new()));
                }
                "response.completed" => tokens(&mut found, &event["response"]),
                _ => {}
            },
            "messages" => match event["type"].as_str().expect("a type") {
                "content_block_start" if event["content_block"]["type"] == "tool_use" => {
                    found.calls.push((text(&event["content_block"]["name"]), String::new()));
                }
                "content_block_delta" => {
                    let delta = &event["delta"];
                    found.text += &text(&delta["text"]);
                    found.reasoning += &text(&delta["thinking"]);
                    if delta["type"] == "input_json_delta" {
                        found.calls.last_mut().expect("a call").1 += &text(&delta["partial_json"]);
                    }
                }
                "message_delta" => tokens(&mut found, event),
                _ => {}
            },
            _ => {
                for part in list(&event["candidates"][0]["content"]["parts"]) {
                    if let Some(call) = part.get("functionCall") {
                        found.calls.push((text(&call["name"]), call["args"].to_string()));
                    } else if part["thought"] == true {
                        found.reasoning += &text(&part["text"]);
                    } else {
                        found.text += &text(&part["text"]);
                    }
                }
                if event["token_ids"].is_array() {
                    tokens(&mut found, event);
                }
            }
        }
    }
    found
}
