//! Parquet: a row for each path with trained tokens, scored or not.
//!
//! Rows are kept until a row group is full, so that readers find few large groups and memory stays bounded.

use std::sync::Arc;

use palestra_protocol::verdict::Status;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::buffer::Buffer;
use super::view::View;
use super::{Form, FormError, Tally};
use crate::graph::Path;

/// Tokens after which a row group is written: about 10 MB in memory.
const GROUP_TOKENS: usize = 1 << 20;

const SCHEMA: &str = "
message paths {
  required binary episode (STRING);
  required binary session (STRING);
  optional binary run (STRING);
  optional binary group (STRING);
  required binary environment (STRING);
  required binary task (STRING);
  required int32 attempt (INTEGER(32, false));
  required int32 path (INTEGER(32, false));
  optional binary status (STRING);
  optional double score;
  optional double reward;
  optional binary stop_reason (STRING);
  required group calls (LIST) { repeated group list { required binary element (STRING); } }
  required group policy_versions (LIST) { repeated group list { required binary element (STRING); } }
  required int32 prompt_length (INTEGER(32, false));
  required group token_ids (LIST) { repeated group list { required int32 element (INTEGER(32, false)); } }
  required group mask (LIST) { repeated group list { required int32 element (INTEGER(8, false)); } }
  optional group logprobs (LIST) { repeated group list { required float element; } }
}";

/// The cells of one column: values, with the levels by which Parquet tells nulls and lists.
struct Column<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T: DataType> Default for Column<T> {
    fn default() -> Self {
        Self { values: Vec::new(), definitions: Vec::new(), repetitions: Vec::new() }
    }
}

impl<T: DataType> Column<T> {
    fn required(&mut self, value: T::T) {
        self.values.push(value);
    }

    fn optional(&mut self, value: Option<T::T>) {
        self.definitions.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    /// Adds a list that may be empty; `null` is 1 where the list itself may be null, else 0.
    fn list(&mut self, values: impl IntoIterator<Item = T::T>, null: i16) {
        let before = self.values.len();
        self.values.extend(values);
        let length = self.values.len() - before;
        self.definitions.resize(self.definitions.len() + length.max(1), null + i16::from(length > 0));
        self.repetitions.push(0);
        self.repetitions.resize(self.definitions.len(), 1);
    }

    fn optional_list(&mut self, values: Option<impl IntoIterator<Item = T::T>>) {
        match values {
            Some(values) => self.list(values, 1),
            None => {
                self.definitions.push(0);
                self.repetitions.push(0);
            }
        }
    }

    /// Writes the next column of a row group, and forgets its cells.
    fn write(&mut self, group: &mut SerializedRowGroupWriter<'_, Buffer>) -> Result<(), FormError> {
        let cells = std::mem::take(self);
        let levels = |levels: &Vec<i16>| !levels.is_empty();
        if let Some(mut column) = group.next_column()? {
            column.typed::<T>().write_batch(
                &cells.values,
                Some(cells.definitions.as_slice()).filter(|_| levels(&cells.definitions)),
                Some(cells.repetitions.as_slice()).filter(|_| levels(&cells.repetitions)),
            )?;
            column.close()?;
        }
        Ok(())
    }
}

/// The rows of the group that is being filled.
#[derive(Default)]
struct Rows {
    episode: Column<ByteArrayType>,
    session: Column<ByteArrayType>,
    run: Column<ByteArrayType>,
    group: Column<ByteArrayType>,
    environment: Column<ByteArrayType>,
    task: Column<ByteArrayType>,
    attempt: Column<Int32Type>,
    path: Column<Int32Type>,
    status: Column<ByteArrayType>,
    score: Column<DoubleType>,
    reward: Column<DoubleType>,
    stop_reason: Column<ByteArrayType>,
    calls: Column<ByteArrayType>,
    policy_versions: Column<ByteArrayType>,
    prompt_length: Column<Int32Type>,
    token_ids: Column<Int32Type>,
    mask: Column<Int32Type>,
    logprobs: Column<FloatType>,
}

/// The bits of a number as Parquet stores unsigned integers; numbers over 2^32 stop there.
fn unsigned(number: u64) -> i32 {
    u32::try_from(number).unwrap_or(u32::MAX).cast_signed()
}

fn text(value: &(impl ToString + ?Sized)) -> ByteArray {
    ByteArray::from(value.to_string().into_bytes())
}

impl Rows {
    fn push(&mut self, view: &View<'_>, place: usize, path: &Path) {
        let labels = view.path_labels(place, path);
        self.logprobs.optional_list(path.logprobs.as_ref().map(|logprobs| logprobs.iter().copied()));
        self.token_ids.list(path.token_ids.iter().map(|token| token.cast_signed()), 0);
        self.mask.list(path.mask.iter().copied().map(i32::from), 0);
        self.calls.list(path.calls.iter().map(text), 0);
        self.policy_versions.list(labels.policy_versions.iter().copied().map(text), 0);
        self.prompt_length.required(unsigned(path.prompt_len() as u64));
        self.stop_reason.optional(Some(text(view.stop_reason(path))));
        self.path.required(unsigned(place as u64));
        let labels = labels.labels;
        self.episode.required(text(&labels.episode));
        self.session.required(text(&labels.session));
        self.run.optional(labels.run.as_ref().map(text));
        self.group.optional(labels.group.as_ref().map(text));
        self.environment.required(text(labels.environment));
        self.task.required(text(labels.task));
        self.attempt.required(unsigned(view.rollout.trajectory.episode.attempt));
        self.status.optional(labels.status.map(Status::as_str).map(text));
        self.score.optional(labels.score);
        self.reward.optional(labels.reward);
    }

    fn write(&mut self, mut group: SerializedRowGroupWriter<'_, Buffer>) -> Result<(), FormError> {
        let group_mut = &mut group;
        self.episode.write(group_mut)?;
        self.session.write(group_mut)?;
        self.run.write(group_mut)?;
        self.group.write(group_mut)?;
        self.environment.write(group_mut)?;
        self.task.write(group_mut)?;
        self.attempt.write(group_mut)?;
        self.path.write(group_mut)?;
        self.status.write(group_mut)?;
        self.score.write(group_mut)?;
        self.reward.write(group_mut)?;
        self.stop_reason.write(group_mut)?;
        self.calls.write(group_mut)?;
        self.policy_versions.write(group_mut)?;
        self.prompt_length.write(group_mut)?;
        self.token_ids.write(group_mut)?;
        self.mask.write(group_mut)?;
        self.logprobs.write(group_mut)?;
        group.close()?;
        Ok(())
    }
}

/// A file while it is written; opened by the first rollout.
#[derive(Default)]
pub(super) struct Parquet {
    buffer: Buffer,
    writer: Option<SerializedFileWriter<Buffer>>,
    rows: Rows,
}

impl Parquet {
    fn open(&mut self) -> Result<&mut SerializedFileWriter<Buffer>, FormError> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => SerializedFileWriter::new(
                self.buffer.clone(),
                Arc::new(parse_message_type(SCHEMA)?),
                Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build()),
            )?,
        };
        Ok(self.writer.insert(writer))
    }

    fn flush(&mut self) -> Result<(), FormError> {
        if self.rows.episode.values.is_empty() {
            return Ok(());
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.write(self.open()?.next_row_group()?)
    }
}

impl Form for Parquet {
    fn push(&mut self, view: &View<'_>, tally: &mut Tally, out: &mut Vec<u8>) -> Result<(), FormError> {
        for (place, path) in view.trained_paths(tally, |_| true) {
            self.rows.push(view, place, &path);
            tally.records += 1;
        }
        if self.rows.token_ids.values.len() >= GROUP_TOKENS {
            self.flush()?;
        }
        self.buffer.drain_to(out);
        Ok(())
    }

    fn finish(mut self: Box<Self>, out: &mut Vec<u8>) -> Result<(), FormError> {
        self.flush()?;
        self.open()?.finish()?;
        self.buffer.drain_to(out);
        Ok(())
    }
}
