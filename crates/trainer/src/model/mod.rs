//! Models: a decoder transformer, a pair of small networks, and their files.

mod actor_critic;
mod adapter;
mod attention;
mod backward;
mod cache;
mod config;
mod feed_forward;
mod linear;
pub mod load;
mod log_probs;
mod lora;
mod mlp;
mod named;
mod norm;
mod rope_scaling;
mod rotary;
mod save;
mod transformer;
mod value_head;
mod weights;

pub use actor_critic::ActorCritic;
pub use adapter::save_adapter;
pub use backward::{Predictions, Scores};
pub use cache::Cache;
pub use config::{Family, TransformerConfig};
pub use load::{TokenizerSource, load_folder, load_gguf};
pub use lora::{adapt, merged};
pub use mlp::{Mlp, MlpConfig};
pub use named::Named;
pub use rope_scaling::RopeScaling;
pub use save::save_folder;
pub use transformer::Transformer;
pub use value_head::ValueHead;
