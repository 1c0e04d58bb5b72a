//! Our transformers beside those of `candle-transformers`: the same files, the same numbers.
#![cfg(test)]

mod gguf;
mod gradients;
mod models;
mod reference;
mod values;
