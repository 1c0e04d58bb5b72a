//! The built-in format for bytes: a special token for who speaks, the text, a special token for its end. Nothing that a
//! text contains can become one of these.

use serde_json::Value;

use super::call_text::{CallStyle, answer};
use super::json_text::{JsonStyle, write};
use super::message::{ChatMessage, Role};
use crate::tokenizer::{BYTE_ASSISTANT, BYTE_BOS, BYTE_END, BYTE_SYSTEM, BYTE_TOOL, BYTE_USER};

/// A conversation up to the next answer. Tools stand in the first message of the system, one line of JSON each.
pub(super) fn prompt(messages: &[ChatMessage], tools: &[Value]) -> Vec<u32> {
    let mut tokens = vec![BYTE_BOS];
    let lines: Vec<String> = tools.iter().map(|tool| write(&tool["function"], JsonStyle::COMPACT)).collect();
    let mut rest = messages;
    if !lines.is_empty() {
        let mut system = lines.join("\n");
        if let Some((first, behind)) = messages.split_first()
            && first.role == Role::System
        {
            rest = behind;
            if !first.content.is_empty() {
                system = format!("{}\n{system}", first.content);
            }
        }
        add(&mut tokens, Role::System, &system);
    }
    for message in rest {
        add(&mut tokens, message.role, &answer(CallStyle::Compact, &message.content, &message.calls));
    }
    tokens.push(BYTE_ASSISTANT);
    tokens
}

/// Messages that follow an answer: its end, the messages, the beginning of the next.
pub(super) fn continuation(messages: &[ChatMessage]) -> Vec<u32> {
    let mut tokens = vec![BYTE_END];
    for message in messages {
        add(&mut tokens, message.role, &answer(CallStyle::Compact, &message.content, &message.calls));
    }
    tokens.push(BYTE_ASSISTANT);
    tokens
}

fn add(tokens: &mut Vec<u32>, role: Role, text: &str) {
    tokens.push(match role {
        Role::System => BYTE_SYSTEM,
        Role::User => BYTE_USER,
        Role::Assistant => BYTE_ASSISTANT,
        Role::Tool => BYTE_TOOL,
    });
    tokens.extend(text.bytes().map(u32::from));
    tokens.push(BYTE_END);
}
