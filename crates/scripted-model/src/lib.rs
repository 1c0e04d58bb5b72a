//! A model server that answers by a script, for tests and demos. It speaks four dialects: OpenAI's `chat/completions` and `responses`,
//! Anthropic's `messages`, and Gemini's `generateContent` and `streamGenerateContent`. Answers depend on the request and the script
//! alone, so that thousands of conversations run at once and every run gives the same tokens.
//!
//! # Tokens
//! A token is a byte, or one of the special tokens of [`token`]. A prompt is each message (the token of its role, its content, the
//! token that ends it) and the opening of the assistant's next one; a completion is what follows. A conversation that a client sends back
//! unchanged goes on exactly where the last completion ended, in every dialect: arguments of tools have one form, in answers too
//! (sorted keys, no spaces), the results of tools are messages of their own, and an image is a token with a digest of its bytes. Names of
//! tools that are offered, ids of calls and parameters of sampling are not rendered.
//!
//! # Where the tokens stand
//! Only where they are asked for:
//!
//! - `chat/completions` as vLLM does with `return_token_ids: true`: `prompt_token_ids` beside `choices`, and `token_ids` in the choice; in a
//!   stream, the first chunk has `prompt_token_ids`, and each choice its own `token_ids`. With `logprobs: true`, `choices[].logprobs.content`
//!   has an entry for each token.
//! - `responses`, `messages` and `generateContent` with `return_token_ids: true` in the body: `prompt_token_ids`, `token_ids` and `logprobs`
//!   (natural logarithms) at the top of the answer. In a stream they stand in the response of `response.completed` (or
//!   `response.incomplete`), in the event `message_delta`, and in the last chunk of Gemini.
//!
//! A completion ends with the token that ends a message, unless its `finish` is `length`.

mod answer;
mod chunk;
mod conversation;
mod dialect;
mod filler;
mod log;
mod script;
mod server;
mod template;
#[cfg(test)]
mod tests;
pub mod token;

pub use script::{Script, ScriptError};
pub use server::{Options, listen, router, serve};
