//! Reads GGUF files, which may be hostile: everything is checked against the length of the file before it is believed.
//!
//! The layout is the published one, <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>, versions 2 and 3,
//! little endian.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::gguf_blocks::{BlockKind, dequantise};
pub use super::gguf_metadata::{Metadata, MetadataArray, MetadataValue};
use crate::failure::TrainerError;

/// First bytes of a file.
const MAGIC: [u8; 4] = *b"GGUF";
/// Most metadata entries of a file.
const ENTRIES_MAX: u64 = 65_536;
/// Most tensors of a file.
const TENSORS_MAX: u64 = 65_536;
/// Most bytes of a metadata key or tensor name.
const NAME_BYTES_MAX: u64 = 65_535;
/// Most bytes of everything before the tensors: a vocabulary of 256 thousand tokens with merges takes about 20 MiB.
const HEADER_BYTES_MAX: u64 = 256 * 1_024 * 1_024;
/// Most dimensions of a tensor.
const DIMENSIONS_MAX: u32 = 4;
/// Tensor data lie at multiples of this many bytes, unless the file says otherwise.
const ALIGNMENT_BYTES_DEFAULT: u64 = 32;
/// The widest alignment believed.
const ALIGNMENT_BYTES_MAX: u64 = 1_048_576;
/// Bytes of an array read at a time, so that memory grows with what the file truly holds.
const ARRAY_READ_BYTES: usize = 65_536;

/// Where one tensor lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgufTensor {
    /// Row-major: the last dimension varies fastest (the file lists them the other way round).
    pub shape: Vec<usize>,
    /// Packing of the values.
    pub kind: BlockKind,
    /// First byte, counted from the start of the file.
    start: u64,
    /// Bytes of the packed values.
    bytes: usize,
}

/// An opened GGUF file: what it says about itself, and where its tensors lie. Values are read on demand.
#[derive(Debug)]
pub struct GgufFile<R = BufReader<File>> {
    source: R,
    metadata: Metadata,
    tensors: BTreeMap<String, GgufTensor>,
}

impl GgufFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// `Io`, or `BadCheckpoint` where the file is no readable GGUF.
    pub fn open(path: &Path) -> Result<Self, TrainerError> {
        let file = File::open(path).map_err(TrainerError::io(format!("opening {}", path.display())))?;
        Self::read(BufReader::new(file)).map_err(|error| match error {
            TrainerError::BadCheckpoint(detail) => TrainerError::BadCheckpoint(format!("{}: {detail}", path.display())),
            other => other,
        })
    }
}

impl<R: Read + Seek> GgufFile<R> {
    /// Reads the header of `source`.
    ///
    /// # Errors
    /// `BadCheckpoint` where it is no readable GGUF.
    pub fn read(mut source: R) -> Result<Self, TrainerError> {
        let length = source.seek(SeekFrom::End(0)).map_err(unreadable)?;
        source.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let mut header = Header { source: &mut source, left: length.min(HEADER_BYTES_MAX), position: 0 };
        if header.bytes::<4>()? != MAGIC {
            return Err(bad("does not begin with `GGUF`"));
        }
        let version = header.u32()?;
        if !(2..=3).contains(&version) {
            return Err(bad(format!("GGUF version {version}; versions 2 and 3, little endian, can be read")));
        }
        let tensor_count = header.count("tensors", TENSORS_MAX)?;
        let entry_count = header.count("metadata entries", ENTRIES_MAX)?;
        let mut entries = BTreeMap::new();
        for _ in 0..entry_count {
            let key = header.name()?;
            let kind = header.u32()?;
            let value = header.value(kind)?;
            if entries.insert(key.clone(), value).is_some() {
                return Err(bad(format!("metadata {key:?} stands twice")));
            }
        }
        let metadata = Metadata::new(entries);
        let mut tensors = BTreeMap::new();
        for _ in 0..tensor_count {
            let (name, tensor) = header.tensor()?;
            if tensors.insert(name.clone(), tensor).is_some() {
                return Err(bad(format!("tensor {name:?} stands twice")));
            }
        }
        let start = data_start(&metadata, header.position)?;
        place(&mut tensors, start, length)?;
        Ok(Self { source, metadata, tensors })
    }

    /// The file's own metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Tensors by name.
    pub fn tensors(&self) -> &BTreeMap<String, GgufTensor> {
        &self.tensors
    }

    /// Reads one tensor as f32, row-major.
    ///
    /// # Errors
    /// `BadCheckpoint` where there is no such tensor or it cannot be read.
    pub fn values(&mut self, name: &str) -> Result<Vec<f32>, TrainerError> {
        let tensor = self.tensors.get(name).ok_or_else(|| bad(format!("there is no tensor {name:?}")))?;
        self.source.seek(SeekFrom::Start(tensor.start)).map_err(unreadable)?;
        // Bounded by the length of the file: `place` has checked it.
        let mut packed = vec![0; tensor.bytes];
        self.source.read_exact(&mut packed).map_err(unreadable)?;
        Ok(dequantise(tensor.kind, &packed))
    }
}

fn bad(detail: impl Into<String>) -> TrainerError {
    TrainerError::BadCheckpoint(detail.into())
}

fn unreadable(error: std::io::Error) -> TrainerError {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        return bad("the file is truncated");
    }
    TrainerError::Io { what: "reading a GGUF file".to_owned(), source: error }
}

/// Where tensor data begin: the end of the header, rounded up.
fn data_start(metadata: &Metadata, header_end: u64) -> Result<u64, TrainerError> {
    let alignment = match metadata.get("general.alignment") {
        None => ALIGNMENT_BYTES_DEFAULT,
        Some(value) => value
            .as_u64()
            .filter(|alignment| alignment.is_power_of_two() && *alignment <= ALIGNMENT_BYTES_MAX)
            .ok_or_else(|| bad("general.alignment is no power of two up to 1 MiB"))?,
    };
    Ok(header_end.next_multiple_of(alignment))
}

/// Turns offsets into positions in the file, once all are known to lie within it and not to share bytes.
fn place(tensors: &mut BTreeMap<String, GgufTensor>, data_start: u64, length: u64) -> Result<(), TrainerError> {
    let mut spans = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors.iter_mut() {
        let start = tensor.start.checked_add(data_start);
        let end = start.and_then(|start| start.checked_add(tensor.bytes as u64));
        match (start, end) {
            (Some(start), Some(end)) if end <= length => {
                tensor.start = start;
                spans.push((start, end, name));
            }
            _ => return Err(bad(format!("the file is truncated: tensor {name:?} lies beyond its end"))),
        }
    }
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if let [(_, end, first), (start, _, second)] = pair
            && start < end
        {
            return Err(bad(format!("tensors {first:?} and {second:?} share bytes")));
        }
    }
    Ok(())
}

/// Reads the header with a count of what may still come.
struct Header<'a, R> {
    source: &'a mut R,
    left: u64,
    position: u64,
}

impl<R: Read> Header<'_, R> {
    fn take(&mut self, bytes: u64) -> Result<(), TrainerError> {
        self.left =
            self.left.checked_sub(bytes).ok_or_else(|| bad("the header is truncated or longer than 256 MiB"))?;
        self.position += bytes;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], TrainerError> {
        self.take(N as u64)?;
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, TrainerError> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Result<u64, TrainerError> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    fn count(&mut self, what: &str, most: u64) -> Result<u64, TrainerError> {
        let count = self.u64()?;
        if count > most {
            return Err(bad(format!("{count} {what}; at most {most} are read")));
        }
        Ok(count)
    }

    fn many(&mut self, length: u64) -> Result<Vec<u8>, TrainerError> {
        self.take(length)?;
        let length = usize::try_from(length).map_err(|_| bad("a value is longer than this machine's memory"))?;
        let mut bytes = Vec::with_capacity(length.min(ARRAY_READ_BYTES));
        while bytes.len() < length {
            let had = bytes.len();
            bytes.resize(length.min(had + ARRAY_READ_BYTES), 0);
            self.source.read_exact(&mut bytes[had..]).map_err(unreadable)?;
        }
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, TrainerError> {
        let length = self.u64()?;
        // Tokens of broken vocabularies are not always UTF-8; a replaced character is refused by no one who needs it.
        Ok(String::from_utf8_lossy(&self.many(length)?).into_owned())
    }

    fn name(&mut self) -> Result<String, TrainerError> {
        let length = self.count("bytes of a name", NAME_BYTES_MAX)?;
        String::from_utf8(self.many(length)?).map_err(|_| bad("a name is not UTF-8"))
    }

    fn value(&mut self, kind: u32) -> Result<MetadataValue, TrainerError> {
        Ok(match kind {
            0 => MetadataValue::Unsigned(u64::from(self.bytes::<1>()?[0])),
            1 => MetadataValue::Signed(i64::from(i8::from_le_bytes(self.bytes()?))),
            2 => MetadataValue::Unsigned(u64::from(u16::from_le_bytes(self.bytes()?))),
            3 => MetadataValue::Signed(i64::from(i16::from_le_bytes(self.bytes()?))),
            4 => MetadataValue::Unsigned(u64::from(self.u32()?)),
            5 => MetadataValue::Signed(i64::from(i32::from_le_bytes(self.bytes()?))),
            6 => MetadataValue::Float(f64::from(f32::from_le_bytes(self.bytes()?))),
            7 => MetadataValue::Bool(self.bytes::<1>()?[0] != 0),
            8 => MetadataValue::Text(self.text()?),
            9 => MetadataValue::Array(self.array()?),
            10 => MetadataValue::Unsigned(self.u64()?),
            11 => MetadataValue::Signed(i64::from_le_bytes(self.bytes()?)),
            12 => MetadataValue::Float(f64::from_le_bytes(self.bytes()?)),
            _ => return Err(bad(format!("a metadata value has the unknown type {kind}"))),
        })
    }

    fn array(&mut self) -> Result<MetadataArray, TrainerError> {
        let kind = self.u32()?;
        let length = self.u64()?;
        if kind == 8 {
            // Each text takes 8 bytes of length at least; the vector grows as they are read.
            let mut texts = Vec::new();
            for _ in 0..length {
                texts.push(self.text()?);
            }
            return Ok(MetadataArray::Texts(texts));
        }
        let width: u64 = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            9 => return Err(bad("an array of arrays in the metadata, which no known model has")),
            _ => return Err(bad(format!("a metadata array has the unknown type {kind}"))),
        };
        let bytes = self.many(length.checked_mul(width).ok_or_else(|| bad("the length of an array overflows"))?)?;
        Ok(match kind {
            0 => MetadataArray::Bytes(bytes),
            1 => MetadataArray::Signed(numbers(&bytes, |at: [u8; 1]| i64::from(i8::from_le_bytes(at)))),
            2 => MetadataArray::Unsigned(numbers(&bytes, |at| u64::from(u16::from_le_bytes(at)))),
            3 => MetadataArray::Signed(numbers(&bytes, |at| i64::from(i16::from_le_bytes(at)))),
            4 => MetadataArray::Unsigned(numbers(&bytes, |at| u64::from(u32::from_le_bytes(at)))),
            5 => MetadataArray::Signed(numbers(&bytes, |at| i64::from(i32::from_le_bytes(at)))),
            6 => MetadataArray::Floats(numbers(&bytes, |at| f64::from(f32::from_le_bytes(at)))),
            7 => MetadataArray::Bools(bytes.iter().map(|byte| *byte != 0).collect()),
            10 => MetadataArray::Unsigned(numbers(&bytes, u64::from_le_bytes)),
            11 => MetadataArray::Signed(numbers(&bytes, i64::from_le_bytes)),
            _ => MetadataArray::Floats(numbers(&bytes, f64::from_le_bytes)),
        })
    }

    fn tensor(&mut self) -> Result<(String, GgufTensor), TrainerError> {
        let name = self.name()?;
        let dimensions = self.u32()?;
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            return Err(bad(format!("tensor {name:?} has {dimensions} dimensions; 1 to {DIMENSIONS_MAX} are read")));
        }
        let mut shape = Vec::with_capacity(DIMENSIONS_MAX as usize);
        let mut elements: usize = 1;
        for _ in 0..dimensions {
            let size = usize::try_from(self.u64()?).ok();
            let all = size.and_then(|size| elements.checked_mul(size)).filter(|all| *all > 0);
            let (Some(size), Some(all)) = (size, all) else {
                return Err(bad(format!("tensor {name:?} is empty or its size overflows")));
            };
            shape.push(size);
            elements = all;
        }
        let code = self.u32()?;
        let kind = BlockKind::of_code(code).ok_or_else(|| {
            bad(format!("tensor {name:?} has the type {code}; F32, F16, BF16, Q4_0, Q4_1 and Q8_0 can be read"))
        })?;
        // Blocks run along the fastest dimension, which the file lists first.
        let row = shape.first().copied().unwrap_or(0);
        if !row.is_multiple_of(kind.values()) {
            return Err(bad(format!("rows of tensor {name:?} hold {row} values, no multiple of {}", kind.values())));
        }
        let bytes = (elements / kind.values())
            .checked_mul(kind.bytes())
            .ok_or_else(|| bad(format!("the size of tensor {name:?} overflows")))?;
        shape.reverse();
        Ok((name, GgufTensor { shape, kind, start: self.u64()?, bytes }))
    }
}

/// Little-endian numbers of `N` bytes each.
fn numbers<const N: usize, T>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| of(*chunk)).collect()
}
