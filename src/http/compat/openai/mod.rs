//! Files and fine-tuning jobs as clients of OpenAI know them, at `/v1/files` and `/v1/fine_tuning`. Behind them are the files and
//! the queue of everybody else: no second queue, and ids are the same. docs/openai.md says what holds.

mod checkpoint;
mod event;
pub(in crate::http) mod files;
pub(in crate::http) mod fine_tuning;
mod job;
mod list;
mod plan;
mod refusal;
mod request;
mod setting;
mod spec;
mod training_file;

pub(in crate::http) use refusal::{is_mounted_at, with_error};
