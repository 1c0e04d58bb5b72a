//! Reads safetensors files, single or in shards, one tensor at a time: a model is larger than what should be in memory twice.
//!
//! The layout is the published one, <https://github.com/huggingface/safetensors#format>: eight bytes of header length, the
//! header as JSON, then the values.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use burn::tensor::TensorData;
use half::{bf16, f16};
use serde::Deserialize;
use serde_json::Value;

use crate::failure::TrainerError;

/// Longest header, as the reference implementation bounds it.
const HEADER_BYTES_MAX: u64 = 100_000_000;
/// Bytes of the length before the header.
const LENGTH_BYTES: u64 = 8;
/// Longest index of shards.
const INDEX_BYTES_MAX: u64 = 100_000_000;

/// One opened file.
#[derive(Debug)]
pub struct Safetensors {
    path: PathBuf,
    file: BufReader<File>,
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    kind: Kind,
    shape: Vec<usize>,
    start: u64,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    F32,
    F16,
    Bf16,
}

#[derive(Deserialize)]
struct Described {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

impl Safetensors {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// `BadCheckpoint` where it is missing, truncated or not of the format.
    pub fn open(path: &Path) -> Result<Self, TrainerError> {
        let broken = |detail: String| TrainerError::BadCheckpoint(format!("{}: {detail}", path.display()));
        let file = File::open(path).map_err(|error| broken(error.to_string()))?;
        let length = file.metadata().map_err(|error| broken(error.to_string()))?.len();
        let mut file = BufReader::new(file);
        let mut prefix = [0; LENGTH_BYTES as usize];
        file.read_exact(&mut prefix).map_err(|_| broken("the file is truncated: it has no header".to_owned()))?;
        let header_bytes = u64::from_le_bytes(prefix);
        if header_bytes > HEADER_BYTES_MAX {
            return Err(broken(format!("no safetensors file: its header would take {header_bytes} bytes")));
        }
        let data_start = LENGTH_BYTES + header_bytes;
        if data_start > length {
            return Err(broken(format!("the file is truncated: {length} bytes, but the header ends at {data_start}")));
        }
        // At most the length of the file, as was just checked.
        let mut header = vec![0; header_bytes as usize];
        file.read_exact(&mut header).map_err(|error| broken(error.to_string()))?;
        let header: BTreeMap<String, Value> = serde_json::from_slice(&header)
            .map_err(|error| broken(format!("its header is no JSON object: {error}")))?;
        let mut entries = BTreeMap::new();
        for (name, described) in header {
            if name == "__metadata__" {
                continue;
            }
            let described: Described =
                serde_json::from_value(described).map_err(|error| broken(format!("{name}: {error}")))?;
            let entry = entry(&described, data_start, length).map_err(|detail| broken(format!("{name}: {detail}")))?;
            entries.insert(name, entry);
        }
        Ok(Self { path: path.to_owned(), file, entries })
    }

    /// Names and shapes of all tensors, sorted by name.
    pub fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        self.entries.iter().map(|(name, entry)| (name.clone(), entry.shape.clone())).collect()
    }

    /// Reads one tensor as f32.
    ///
    /// # Errors
    /// `BadCheckpoint` where there is no such tensor or it cannot be read.
    pub fn tensor(&mut self, name: &str) -> Result<TensorData, TrainerError> {
        let broken = |detail: String| TrainerError::BadCheckpoint(format!("{}: {name}: {detail}", self.path.display()));
        let entry = self.entries.get(name).ok_or_else(|| broken("there is no such tensor".to_owned()))?;
        self.file.seek(SeekFrom::Start(entry.start)).map_err(|error| broken(error.to_string()))?;
        let mut bytes = vec![0; entry.bytes];
        self.file.read_exact(&mut bytes).map_err(|error| broken(error.to_string()))?;
        let values: Vec<f32> = match entry.kind {
            Kind::F32 => bytes.as_chunks().0.iter().map(|at| f32::from_le_bytes(*at)).collect(),
            Kind::F16 => bytes.as_chunks().0.iter().map(|at| f16::from_le_bytes(*at).to_f32()).collect(),
            Kind::Bf16 => bytes.as_chunks().0.iter().map(|at| bf16::from_le_bytes(*at).to_f32()).collect(),
        };
        Ok(TensorData::new(values, entry.shape.clone()))
    }

    /// Reads every tensor as f32.
    ///
    /// # Errors
    /// As `tensor`.
    pub fn all(&mut self) -> Result<HashMap<String, TensorData>, TrainerError> {
        let names: Vec<String> = self.entries.keys().cloned().collect();
        names.into_iter().map(|name| self.tensor(&name).map(|data| (name, data))).collect()
    }
}

fn entry(described: &Described, data_start: u64, length: u64) -> Result<Entry, String> {
    let (kind, width) = match described.dtype.as_str() {
        "F32" => (Kind::F32, 4),
        "F16" => (Kind::F16, 2),
        "BF16" => (Kind::Bf16, 2),
        other => return Err(format!("values of the type {other}; F32, F16 and BF16 can be read")),
    };
    let bytes = described.shape.iter().try_fold(width, |bytes: usize, size| bytes.checked_mul(*size));
    let [from, to] = described.data_offsets;
    let bytes = bytes.filter(|bytes| to.checked_sub(from) == Some(*bytes as u64));
    let Some(bytes) = bytes else {
        return Err(format!("its offsets {from} to {to} do not fit its shape {:?}", described.shape));
    };
    match data_start.checked_add(to) {
        Some(end) if end <= length => {}
        _ => return Err("the file is truncated: the tensor lies beyond its end".to_owned()),
    }
    Ok(Entry { kind, shape: described.shape.clone(), start: data_start + from, bytes })
}

/// Opens the weights of a folder: `model.safetensors`, or the shards that `model.safetensors.index.json` names.
///
/// # Errors
/// `BadCheckpoint` where neither is there, or the index is broken or names what is no file of the folder.
pub(super) fn open_folder(folder: &Path) -> Result<Vec<Safetensors>, TrainerError> {
    let single = folder.join("model.safetensors");
    if single.is_file() {
        return Ok(vec![Safetensors::open(&single)?]);
    }
    let index = folder.join("model.safetensors.index.json");
    let broken = |detail: String| TrainerError::BadCheckpoint(format!("{}: {detail}", index.display()));
    let length = index.metadata().map_err(|_| {
        let folder = folder.display();
        TrainerError::BadCheckpoint(format!(
            "{folder} holds neither model.safetensors nor model.safetensors.index.json"
        ))
    })?;
    if length.len() > INDEX_BYTES_MAX {
        return Err(broken("longer than any index of shards".to_owned()));
    }
    let text = std::fs::read(&index).map_err(|error| broken(error.to_string()))?;
    let read: Index = serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
    let mut names: Vec<&String> = read.weight_map.values().collect();
    names.sort_unstable();
    names.dedup();
    let mut shards = Vec::with_capacity(names.len());
    for name in names {
        // A plain file name: an index must not lead out of its folder.
        if Path::new(name).file_name().is_none_or(|plain| plain != name.as_str()) {
            return Err(broken(format!("{name:?} is no file name")));
        }
        shards.push(Safetensors::open(&folder.join(name))?);
    }
    Ok(shards)
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}
