//! Tokenizers in Hugging Face's form: `tokenizer.json`, and the files beside it: special tokens, template.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};

use super::character_of;
use crate::failure::TrainerError;

/// Longest file that is read: the largest known `tokenizer.json` has 34 MB.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Most ids, holes included: tables over all of them are made.
const IDS_MAX: u32 = 4 << 20;

/// A tokenizer of the crate `tokenizers` with what the files around it say.
#[derive(Debug)]
pub(super) struct HuggingFace {
    tokenizer: tokenizers::Tokenizer,
    /// `tokenizer.json` as it was read: it is saved again byte for byte.
    source: String,
    /// `tokenizer_config.json`, with the template that came in a file of its own.
    config: Map<String, Value>,
    spelling: Spelling,
    vocab_size: usize,
    bos: Option<u32>,
    eos: Vec<u32>,
    special: HashSet<u32>,
    special_names: Vec<String>,
}

/// Spelling of bytes in a vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// One printable character per byte.
    ByteLevel,
    /// Text, `▁` for a space, `<0x0A>` for a byte alone.
    Pieces,
}

impl HuggingFace {
    /// Reads a model folder.
    pub(super) fn read(folder: &Path) -> Result<Self, TrainerError> {
        let path = folder.join("tokenizer.json");
        if !path.exists() {
            return Err(bad(format!(
                "{}: there is no tokenizer.json; save the model's tokenizer in its fast form beside the weights",
                folder.display()
            )));
        }
        let source = read_text(&path)?;
        let mut config = read_object(&folder.join("tokenizer_config.json"))?.unwrap_or_default();
        for (name, token) in read_object(&folder.join("special_tokens_map.json"))?.unwrap_or_default() {
            if config.get(&name).is_none_or(Value::is_null) {
                config.insert(name, token);
            }
        }
        let template = folder.join("chat_template.jinja");
        if template.exists() {
            config.insert("chat_template".to_owned(), read_text(&template)?.into());
        }
        let mut stops = Vec::new();
        for name in ["generation_config.json", "config.json"] {
            if let Some(listed) = read_object(&folder.join(name))?.unwrap_or_default().get("eos_token_id") {
                stops.extend(ids(listed));
            }
        }
        Self::new(source, config, &stops).map_err(|error| match error {
            TrainerError::BadCheckpoint(detail) => bad(format!("{}: {detail}", folder.display())),
            other => other,
        })
    }

    /// From the text of a `tokenizer.json`; `stops` are further ids at which a text ends.
    pub(super) fn new(source: String, config: Map<String, Value>, stops: &[u32]) -> Result<Self, TrainerError> {
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(source.as_bytes())
            .map_err(|error| bad(format!("tokenizer.json cannot be read: {error}")))?;
        // Some files keep the cutting and filling of the batches they were made with: texts would lose their ends.
        tokenizer.with_truncation(None).map_err(|error| bad(format!("tokenizer.json: {error}")))?;
        tokenizer.with_padding(None);
        let highest = tokenizer.get_vocab(true).into_values().max().ok_or_else(|| bad("the vocabulary is empty"))?;
        if highest >= IDS_MAX {
            return Err(bad(format!("the vocabulary has an id {highest}; at most {IDS_MAX} can be")));
        }
        let named = |key: &str| token_name(config.get(key)).and_then(|name| tokenizer.token_to_id(&name));
        let bos = named("bos_token");
        let mut eos: Vec<u32> = named("eos_token").into_iter().collect();
        eos.extend(stops.iter().filter(|id| **id <= highest));
        let mut seen = HashSet::new();
        eos.retain(|id| seen.insert(*id));
        let added = tokenizer.get_added_tokens_decoder();
        let special: HashSet<u32> = added.iter().filter(|(_, token)| token.special).map(|(id, _)| *id).collect();
        let mut special_names: Vec<String> =
            added.into_values().filter(|token| token.special).map(|token| token.content).collect();
        special_names.retain(|name| !name.is_empty());
        // Longest first: a name that contains another is guarded as a whole.
        special_names.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        let decoder = tokenizer.get_decoder().map(|decoder| format!("{decoder:?}")).unwrap_or_default();
        let spelling = if decoder.contains("ByteLevel") { Spelling::ByteLevel } else { Spelling::Pieces };
        let vocab_size = highest as usize + 1;
        Ok(Self { tokenizer, source, config, spelling, vocab_size, bos, eos, special, special_names })
    }

    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, TrainerError> {
        let encoding = self
            .tokenizer
            .encode_fast(text, false)
            .map_err(|error| TrainerError::Internal(format!("the tokenizer cannot encode a text: {error}")))?;
        Ok(encoding.get_ids().to_vec())
    }

    pub(super) fn decode(&self, tokens: &[u32]) -> String {
        if self.spelling == Spelling::Pieces
            && let Ok(text) = self.tokenizer.decode(tokens, true)
        {
            return text;
        }
        let plain = tokens.iter().filter(|token| !self.is_special(**token));
        let bytes: Vec<u8> = plain.flat_map(|token| self.token_bytes(*token)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(super) fn token_bytes(&self, id: u32) -> Vec<u8> {
        let Some(token) = self.tokenizer.id_to_token(id) else { return Vec::new() };
        if self.tokenizer.get_added_vocabulary().simple_id_to_token(id).is_some() {
            return token.into_bytes();
        }
        match self.spelling {
            Spelling::ByteLevel => {
                let spelt: Option<Vec<u8>> = token.chars().map(byte_of).collect();
                spelt.unwrap_or_else(|| token.into_bytes())
            }
            Spelling::Pieces => {
                let alone = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
                match alone.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    Some(byte) => vec![byte],
                    None => token.replace('▁', " ").into_bytes(),
                }
            }
        }
    }

    pub(super) const fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    pub(super) fn eos(&self) -> &[u32] {
        &self.eos
    }

    pub(super) const fn bos(&self) -> Option<u32> {
        self.bos
    }

    pub(super) fn id_of(&self, name: &str) -> Option<u32> {
        self.tokenizer.token_to_id(name)
    }

    pub(super) fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }

    pub(super) fn special_names(&self) -> &[String] {
        &self.special_names
    }

    /// The template, or the one named `default` where there are several.
    pub(super) fn chat_template(&self) -> Option<&str> {
        match self.config.get("chat_template")? {
            Value::String(template) => Some(template),
            Value::Array(named) => {
                named.iter().find(|entry| entry["name"] == "default").and_then(|entry| entry["template"].as_str())
            }
            _ => None,
        }
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// `tokenizer_config.json`, complete enough for Python's `transformers`.
    pub(super) fn config(&self) -> Map<String, Value> {
        let mut config = new_config();
        config.extend(self.config.clone());
        config
    }
}

/// Fields of every `tokenizer_config.json`.
pub(super) fn new_config() -> Map<String, Value> {
    let mut config = Map::new();
    config.insert("tokenizer_class".to_owned(), "PreTrainedTokenizerFast".into());
    config.insert("clean_up_tokenization_spaces".to_owned(), false.into());
    config
}

fn byte_of(character: char) -> Option<u8> {
    static BYTES: std::sync::LazyLock<std::collections::HashMap<char, u8>> =
        std::sync::LazyLock::new(|| (0..=u8::MAX).map(|byte| (character_of(byte), byte)).collect());
    BYTES.get(&character).copied()
}

/// A token's name, given alone or as an object with `content`.
fn token_name(value: Option<&Value>) -> Option<String> {
    let value = value?;
    value.as_str().or_else(|| value["content"].as_str()).map(str::to_owned)
}

/// Ids, given alone or in a list.
fn ids(value: &Value) -> Vec<u32> {
    let listed = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    listed.iter().filter_map(Value::as_u64).filter_map(|id| u32::try_from(id).ok()).collect()
}

fn bad(detail: impl Into<String>) -> TrainerError {
    TrainerError::BadCheckpoint(detail.into())
}

/// Reads a file that is not absurdly long.
pub(super) fn read_bounded(path: &Path) -> Result<Vec<u8>, TrainerError> {
    let reading = || format!("reading {}", path.display());
    let file = File::open(path).map_err(TrainerError::io(reading()))?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(TrainerError::io(reading()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(bad(format!("{}: longer than 256 MiB", path.display())));
    }
    Ok(bytes)
}

fn read_text(path: &Path) -> Result<String, TrainerError> {
    String::from_utf8(read_bounded(path)?).map_err(|_| bad(format!("{}: not UTF-8", path.display())))
}

/// A JSON object, where the file is there.
fn read_object(path: &Path) -> Result<Option<Map<String, Value>>, TrainerError> {
    if !path.exists() {
        return Ok(None);
    }
    serde_json::from_slice(&read_bounded(path)?).map(Some).map_err(|error| bad(format!("{}: {error}", path.display())))
}
