//! Tokenizers: text to the numbers that a model reads, and back; one of bytes, and those that come with weights.

mod byte;
mod gguf;
mod hugging_face;
mod stream;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use byte::{
    ASSISTANT as BYTE_ASSISTANT, BOS as BYTE_BOS, END as BYTE_END, PAD as BYTE_PAD, SYSTEM as BYTE_SYSTEM,
    TOOL as BYTE_TOOL, USER as BYTE_USER, VOCABULARY as BYTE_VOCABULARY,
};
use hugging_face::HuggingFace;
pub use stream::TextStream;

use crate::failure::TrainerError;
use crate::model::load::gguf::Metadata;

/// Name of the file that says that a folder's tokenizer is that of bytes.
const BYTE_FILE: &str = "palestra_tokenizer.json";
/// Contents of that file.
const BYTE_FILE_TEXT: &str = "{\"kind\":\"bytes\",\"version\":1}\n";

/// A tokenizer. Clones share everything.
#[derive(Debug, Clone)]
pub struct Tokenizer(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Byte,
    HuggingFace(Box<HuggingFace>),
}

impl Tokenizer {
    /// The built-in tokenizer: token 0 to 255 is that byte, then `<|bos|>` 256, `<|end|>` 257, `<|system|>` 258,
    /// `<|user|>` 259, `<|assistant|>` 260, `<|tool|>` 261, `<|pad|>` 262, and one unused that makes 264.
    #[must_use]
    pub fn bytes() -> Self {
        Self(Arc::new(Kind::Byte))
    }

    /// Reads the tokenizer of a model folder: ours of bytes where [`Tokenizer::save`] has left a note of it, else
    /// `tokenizer.json` with `tokenizer_config.json`, `chat_template.jinja`, `special_tokens_map.json` and
    /// `generation_config.json` where they are.
    ///
    /// # Errors
    /// `BadCheckpoint` where there is none, or one that cannot be used; `Io`.
    pub fn from_folder(folder: &Path) -> Result<Self, TrainerError> {
        let note = folder.join(BYTE_FILE);
        if note.exists() {
            let text = hugging_face::read_bounded(&note)?;
            let stored: Value = serde_json::from_slice(&text).unwrap_or_default();
            if stored["kind"] != "bytes" || stored["version"] != 1 {
                return Err(TrainerError::BadCheckpoint(format!("{}: an unknown kind of tokenizer", note.display())));
            }
            return Ok(Self::bytes());
        }
        Ok(Self::hugging_face(HuggingFace::read(folder)?))
    }

    /// Builds the tokenizer that a GGUF file describes: byte-level pair encoding (`tokenizer.ggml.model` = `gpt2`) with
    /// the pre-tokenizers `gpt-2`, `smollm`, `qwen2` and `llama-bpe`.
    ///
    /// # Errors
    /// `BadCheckpoint` where metadata are missing, contradict each other or describe another kind.
    pub fn from_gguf(metadata: &Metadata) -> Result<Self, TrainerError> {
        Ok(Self::hugging_face(gguf::build(metadata)?))
    }

    /// From the texts of a `tokenizer.json` and, where there is one, a `tokenizer_config.json`.
    ///
    /// # Errors
    /// `BadCheckpoint` where they cannot be used.
    pub fn from_json(tokenizer: &str, config: Option<&str>) -> Result<Self, TrainerError> {
        let config: Map<String, Value> = match config {
            Some(text) => serde_json::from_str(text)
                .map_err(|error| TrainerError::BadCheckpoint(format!("tokenizer_config.json: {error}")))?,
            None => Map::new(),
        };
        Ok(Self::hugging_face(HuggingFace::new(tokenizer.to_owned(), config, &[])?))
    }

    fn hugging_face(tokenizer: HuggingFace) -> Self {
        Self(Arc::new(Kind::HuggingFace(Box::new(tokenizer))))
    }

    /// True if this is the built-in tokenizer.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        matches!(*self.0, Kind::Byte)
    }

    /// Tokens of a text, with nothing put before or behind. Names of special tokens in the text become these tokens,
    /// except for bytes, where text never becomes one; [`crate::chat::ChatFormat`] guards what others have written.
    ///
    /// # Errors
    /// `Internal` where a model's own tokenizer cannot express the text.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TrainerError> {
        match &*self.0 {
            Kind::Byte => Ok(text.bytes().map(u32::from).collect()),
            Kind::HuggingFace(tokenizer) => tokenizer.encode(text),
        }
    }

    /// The text of tokens without special ones; bytes that are no UTF-8 become U+FFFD.
    #[must_use]
    pub fn decode(&self, tokens: &[u32]) -> String {
        match &*self.0 {
            Kind::Byte => byte::decode(tokens),
            Kind::HuggingFace(tokenizer) => tokenizer.decode(tokens),
        }
    }

    /// The bytes that a token stands for, which may be part of a character; the name of a special token; nothing for an
    /// id without a token.
    #[must_use]
    pub fn token_bytes(&self, id: u32) -> Vec<u8> {
        match &*self.0 {
            Kind::Byte => byte::token_bytes(id),
            Kind::HuggingFace(tokenizer) => tokenizer.token_bytes(id),
        }
    }

    /// One more than the highest id; a model may have more rows than that.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        match &*self.0 {
            Kind::Byte => byte::VOCABULARY,
            Kind::HuggingFace(tokenizer) => tokenizer.vocab_size(),
        }
    }

    /// Tokens at which a text ends.
    #[must_use]
    pub fn eos(&self) -> &[u32] {
        match &*self.0 {
            Kind::Byte => &[byte::END],
            Kind::HuggingFace(tokenizer) => tokenizer.eos(),
        }
    }

    /// The token with which a text begins, where there is one.
    #[must_use]
    pub fn bos(&self) -> Option<u32> {
        match &*self.0 {
            Kind::Byte => Some(byte::BOS),
            Kind::HuggingFace(tokenizer) => tokenizer.bos(),
        }
    }

    /// The id of a token by its name, as the vocabulary spells it.
    #[must_use]
    pub fn id_of(&self, name: &str) -> Option<u32> {
        match &*self.0 {
            Kind::Byte => byte::id_of(name),
            Kind::HuggingFace(tokenizer) => tokenizer.id_of(name),
        }
    }

    /// True if a token is special: structure, never text.
    #[must_use]
    pub fn is_special(&self, id: u32) -> bool {
        match &*self.0 {
            Kind::Byte => id > u32::from(u8::MAX),
            Kind::HuggingFace(tokenizer) => tokenizer.is_special(id),
        }
    }

    /// The names of special tokens that [`Tokenizer::encode`] would read in a text.
    #[must_use]
    pub fn special_names(&self) -> &[String] {
        match &*self.0 {
            Kind::Byte => &[],
            Kind::HuggingFace(tokenizer) => tokenizer.special_names(),
        }
    }

    /// The chat template that came with the tokenizer.
    #[must_use]
    pub fn chat_template(&self) -> Option<&str> {
        match &*self.0 {
            Kind::Byte => None,
            Kind::HuggingFace(tokenizer) => tokenizer.chat_template(),
        }
    }

    /// Writes the tokenizer into a model folder, as [`Tokenizer::from_folder`] and Python's `transformers` read it:
    /// `tokenizer.json` and `tokenizer_config.json` with the chat template.
    ///
    /// # Errors
    /// `Io`.
    pub fn save(&self, folder: &Path) -> Result<(), TrainerError> {
        let (tokenizer, config) = match &*self.0 {
            Kind::Byte => {
                write(&folder.join(BYTE_FILE), BYTE_FILE_TEXT)?;
                (byte::tokenizer_json(), byte::config())
            }
            Kind::HuggingFace(tokenizer) => (tokenizer.source().to_owned(), tokenizer.config()),
        };
        write(&folder.join("tokenizer.json"), &tokenizer)?;
        write(&folder.join("tokenizer_config.json"), &format!("{:#}\n", Value::Object(config)))
    }

    /// Turns tokens into text as they come.
    #[must_use]
    pub fn stream(&self) -> TextStream {
        TextStream::new(self.clone())
    }
}

fn write(path: &Path, text: &str) -> Result<(), TrainerError> {
    fs::write(path, text).map_err(TrainerError::io(format!("writing {}", path.display())))
}

/// Byte-level vocabularies spell each byte as one printable character: printable Latin-1 as itself, the 68 others from
/// U+0100 on, in order (<https://github.com/openai/gpt-2/blob/master/src/encoder.py>).
fn character_of(byte: u8) -> char {
    let shown = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if shown(byte) {
        return char::from(byte);
    }
    let place = (0..byte).filter(|lower| !shown(*lower)).count();
    char::from_u32(0x100 + place as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
