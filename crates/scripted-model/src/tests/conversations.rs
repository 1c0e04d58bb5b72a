//! Conversations played through every dialect: their tokens are the same, and each prompt goes on where the last completion ended.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::clients::{Client, assemble};
use super::{answer, dialects, events, read};
use crate::conversation::{Call, Message, Piece, Role};
use crate::script::{Finish, Reply};
use crate::token;

/// A turn of the assistant, and what follows: results of its tools, or the user.
#[derive(Debug, Clone)]
struct Turn {
    reasoning: String,
    text: String,
    calls: Vec<(String, Value)>,
    result: String,
    user: String,
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1000.0..1000.0).prop_map(Value::from),
        (-9..9).prop_map(|whole| json!(f64::from(whole))),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(".{0,4}", inner, 0..3).prop_map(|members| json!(members)),
        ]
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    let arguments = btree_map("[a-z]{1,4}", json_value(), 0..3).prop_map(|members| json!(members));
    let calls = vec(("[a-z]{1,6}", arguments), 0..3);
    let reasoning = option::of(".{1,12}").prop_map(Option::unwrap_or_default);
    (reasoning, ".{0,24}", calls, ".{0,12}", ".{1,12}").prop_map(|(reasoning, text, calls, result, user)| Turn {
        reasoning,
        text,
        calls,
        result,
        user,
    })
}

impl Turn {
    fn reply(&self) -> Reply {
        let content = if self.text.is_empty() { Vec::new() } else { vec![Piece::text(&self.text)] };
        let calls = self.calls.iter().map(|(tool, arguments)| Call::of_json(tool, arguments)).collect();
        let message = Message { role: Role::Assistant, reasoning: self.reasoning.clone(), content, calls };
        Reply { message, finish: if self.calls.is_empty() { Finish::Stop } else { Finish::ToolCalls } }
    }
}

proptest! {
    #[test]
    fn a_conversation_has_the_same_tokens_in_every_dialect_and_goes_on_where_it_ended(
        system in ".{1,12}",
        turns in vec(turn(), 1..4),
        size in 1_usize..9,
    ) {
        let rule = format!("- {{text: x, tokens_per_chunk: {size}}}");
        let mut prompts: Vec<Vec<Vec<u32>>> = Vec::new();
        for (name, dialect) in dialects() {
            let mut client = Client::new(name, &system);
            client.say("go");
            let mut seen: Vec<Vec<u32>> = Vec::new();
            let mut so_far: Vec<u32> = Vec::new();
            for turn in &turns {
                let request = read(&*dialect, &client.body());
                let answer = answer(&request, &rule, &turn.reply());
                prop_assert!(answer.prompt.starts_with(&so_far), "{name}: {} / {}",
                    token::decode(&answer.prompt), token::decode(&so_far));
                so_far = [answer.prompt.clone(), answer.completion.clone()].concat();
                seen.push(answer.prompt.clone());

                let whole = dialect.whole(&answer);
                let streamed = assemble(name, &events(&dialect.parts(&answer)));
                prop_assert_eq!(&streamed.text, &turn.text);
                prop_assert_eq!(&streamed.reasoning, &turn.reasoning);
                prop_assert_eq!(streamed.prompt, json!(answer.prompt));
                prop_assert_eq!(json!(streamed.completion), json!(answer.completion));
                prop_assert_eq!(json!(streamed.logprobs), json!(answer.logprobs));
                let calls: Vec<(String, String)> =
                    answer.reply.message.calls.iter().map(|call| (call.tool.clone(), call.arguments.clone())).collect();
                prop_assert_eq!(streamed.calls, calls);

                let awaited = client.take(&whole);
                prop_assert_eq!(awaited, turn.calls.len(), "{}", name);
                if awaited > 0 {
                    client.answer(&vec![turn.result.clone(); awaited]);
                }
                client.say(&turn.user);
            }
            prompts.push(seen);
        }
        for other in &prompts[1..] {
            prop_assert_eq!(other, &prompts[0]);
        }
    }
}

#[test]
fn a_conversation_is_rendered_with_roles_calls_and_the_opening_of_the_next_message() {
    let request = read(
        &*dialects()[0].1,
        &json!({"model": "m", "messages": [
            {"role": "developer", "content": "S"},
            {"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}},
            ]},
            {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{\"b\": 1, \"a\": [2.0]}"}},
            ]},
            {"role": "tool", "tool_call_id": "1", "content": "3"},
        ]}),
    );
    let prompt = token::prompt(&request.messages, false);
    assert_eq!(
        token::decode(&prompt),
        "<|system|>S<|end|><|user|>look<|medium|>2cf24dba5fb0a30e<|end|>\
         <|assistant|><|reasoning|>hm<|answer|><|call|>add<|arguments|>{\"a\":[2],\"b\":1}<|end|><|tool|>3<|end|><|assistant|>"
    );
    let again = token::prompt(&request.messages, true);
    assert_eq!(token::decode(&again), token::decode(&prompt), "the same text");
    assert_ne!(again, prompt, "in other tokens");
}

#[test]
fn images_and_texts_in_parts_have_the_same_tokens_in_every_dialect() {
    let data = "aGVsbG8=";
    let url = format!("data:image/png;base64,{data}");
    let bodies = [
        json!({"model": "m", "messages": [{"role": "user", "content": [
            {"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image_url", "image_url": {"url": url}},
        ]}]}),
        json!({"model": "m", "input": [{"role": "user", "content": [
            {"type": "input_text", "text": "ab"}, {"type": "input_image", "image_url": url},
        ]}]}),
        json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [
            {"type": "text", "text": "ab"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        ]}]}),
        json!({"contents": [{"parts": [
            {"text": "ab"}, {"inlineData": {"mimeType": "image/png", "data": data}},
        ]}]}),
    ];
    for ((name, dialect), body) in dialects().iter().zip(&bodies) {
        let request = read(&**dialect, body);
        let text = token::decode(&token::prompt(&request.messages, false));
        assert_eq!(text, "<|user|>ab<|medium|>2cf24dba5fb0a30e<|end|><|assistant|>", "{name}");
    }
}

#[test]
fn log_probabilities_are_negative_exact_and_depend_on_prompt_and_position() {
    let (one, other) = (token::logprobs(&[1, 2], 2000), token::logprobs(&[1, 3], 2000));
    assert_eq!(one, token::logprobs(&[1, 2], 2000));
    assert_ne!(one, other);
    assert!(one.iter().all(|logprob| (-4.0..0.0).contains(logprob)), "{one:?}");
    assert!(one.iter().all(|logprob| (logprob * 1024.0).fract() == 0.0));
    let mut distinct: Vec<String> = one.iter().map(ToString::to_string).collect();
    distinct.sort();
    distinct.dedup();
    assert!(distinct.len() > 1000, "{}", distinct.len());
}

#[test]
fn an_answer_that_is_cut_off_has_no_last_token() {
    for (name, dialect) in dialects() {
        let mut client = Client::new(name, "s");
        client.say("go");
        let request = read(&*dialect, &client.body());
        let message = Message::with(Role::Assistant, vec![Piece::text("long")]);
        let cut = answer(&request, "- text: x", &Reply { message, finish: Finish::Length });
        assert_eq!(token::decode(&cut.completion), "long");
        client.take(&dialect.whole(&cut));
        client.say("go on");
        let next = token::prompt(&read(&*dialect, &client.body()).messages, false);
        assert!(next.starts_with(&[cut.prompt, cut.completion, vec![token::END]].concat()), "{name}");
    }
}

#[test]
fn tokens_are_sent_only_where_they_are_asked_for() {
    for (name, dialect) in dialects() {
        let mut body = Client::new(name, "s").body();
        let fields = body.as_object_mut().expect("an object");
        fields.remove("return_token_ids");
        fields.remove("logprobs");
        let request = read(&*dialect, &body);
        let message = Message::with(Role::Assistant, vec![Piece::text("x")]);
        let answer = answer(&request, "- text: x", &Reply { message, finish: Finish::Stop });
        let sent = format!("{} {:?}", dialect.whole(&answer), dialect.parts(&answer));
        assert!(!sent.contains("token_ids") && !sent.contains("logprob\\\""), "{name}: {sent}");
    }
}

#[test]
fn history_that_is_tokenised_again_is_no_prefix_any_more() {
    let (_, dialect) = &dialects()[0];
    for text in ["x", "xy", "xyz"] {
        let mut client = Client::new("chat", "s");
        client.say("go");
        let first = read(&**dialect, &client.body());
        let message = Message::with(Role::Assistant, vec![Piece::text(text)]);
        let reply = Reply { message, finish: Finish::Stop };
        let rule = "- {text: x, retokenise: true}";
        let first = answer(&first, rule, &reply);
        client.take(&dialect.whole(&first));
        client.say("go on");
        let request = read(&**dialect, &client.body());
        let so_far = [first.prompt.clone(), first.completion.clone()].concat();
        let (same, other) = (answer(&request, "- text: x", &reply), answer(&request, rule, &reply));
        assert!(same.prompt.starts_with(&so_far) && !other.prompt.starts_with(&so_far), "{text}");
        assert_eq!(token::decode(&same.prompt), token::decode(&other.prompt));
    }
}
