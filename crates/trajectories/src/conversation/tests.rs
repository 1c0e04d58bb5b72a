//! Tests of conversations: the same talk in four protocols, and which messages a call adds.

use palestra_protocol::model_call::{CallKind, ModelCall};
use serde_json::{Value, json};

use super::{Message, Role, answer, request, turns};
use crate::fixture::{call, rollout};

fn spoken(kind: CallKind, request: Value, response: Value) -> ModelCall {
    ModelCall { kind, request, response, ..call(1, &[1], &[2]) }
}

fn talk() -> [ModelCall; 4] {
    [
        spoken(
            CallKind::ChatCompletions,
            json!({"messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "List."}, {"type": "image_url", "image_url": {"url": "data:"}}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "run", "type": "function", "function": {"name": "run", "arguments": "{\"line\":\"ls\"}"}}]},
                {"role": "tool", "tool_call_id": "run", "content": "a b"},
            ]}),
            json!({"choices": [{"message": {"role": "assistant", "content": "Two.", "reasoning_content": "a, b"}}]}),
        ),
        spoken(
            CallKind::Responses,
            json!({"instructions": "Be brief.", "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "List."}, {"type": "image_url"}]},
                {"type": "function_call", "call_id": "run", "name": "run", "arguments": "{\"line\":\"ls\"}"},
                {"type": "function_call_output", "call_id": "run", "output": "a b"},
            ]}),
            json!({"output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a, b"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Two."}]},
            ]}),
        ),
        spoken(
            CallKind::Messages,
            json!({"system": [{"type": "text", "text": "Be brief."}], "messages": [
                {"role": "user", "content": [{"type": "text", "text": "List."}, {"type": "image_url"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "run", "name": "run", "input": {"line": "ls"}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "run", "content": [{"type": "text", "text": "a b"}]}]},
            ]}),
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "a, b"}, {"type": "text", "text": "Two."}]}),
        ),
        spoken(
            CallKind::GenerateContent,
            json!({"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
                {"role": "user", "parts": [{"text": "List."}, {"type": "image_url"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {"line": "ls"}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "run", "response": {"text": "a b"}}}]},
            ]}),
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "a, b", "thought": true}, {"text": "Two."}]}}]}),
        ),
    ]
}

#[test]
fn every_protocol_reads_as_the_same_talk() {
    let [chat, others @ ..] = talk();
    let expected = request(&chat);
    let roles: Vec<Role> = expected.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool]);
    assert_eq!((expected[1].text.as_str(), expected[3].text.as_str()), ("List.[image_url]", "a b"));
    for other in others {
        let mut read = request(&other);
        if other.kind == CallKind::GenerateContent {
            assert_eq!(read[3].text, r#"{"text":"a b"}"#);
            read[3].text.clone_from(&expected[3].text);
        }
        assert_eq!(read, expected, "{:?}", other.kind);
        assert_eq!(answer(&other), answer(&chat), "{:?}", other.kind);
    }
}

#[test]
fn a_plain_input_is_a_message_and_nothing_is_none() {
    let plain = spoken(CallKind::Responses, json!({"input": "List."}), Value::Null);
    assert_eq!(request(&plain).len(), 1);
    assert_eq!(answer(&plain), None);
}

#[test]
fn a_call_adds_what_the_longest_earlier_one_does_not_hold() {
    let said = |contents: &[(&str, &str)]| {
        let messages: Vec<Value> =
            contents.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
        json!({"messages": messages})
    };
    let mut calls = vec![call(1, &[1], &[2]), call(2, &[1], &[2]), call(3, &[1], &[2]), call(4, &[1], &[2])];
    calls[0].request = said(&[("user", "a")]);
    calls[1].request = said(&[("user", "other")]);
    calls[2].request = said(&[("user", "a"), ("assistant", "b"), ("user", "c")]);
    calls[3].request = said(&[("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("tool", "e")]);
    let rollout = rollout(calls);
    let turns = turns(&rollout);
    let parents: Vec<Option<usize>> = turns.iter().map(|turn| turn.parent).collect();
    assert_eq!(parents, [None, None, Some(0), Some(2)]);
    let added: Vec<Vec<&str>> =
        turns.iter().map(|turn| turn.added.iter().map(|message: &Message| message.text.as_str()).collect()).collect();
    assert_eq!(added, [vec!["a"], vec!["other"], vec!["c"], vec!["e"]]);
}
