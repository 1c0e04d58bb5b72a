//! The trainer of Palestra: the only package that names burn. It leases jobs over HTTP, plays sessions, changes policies, and
//! leaves checkpoints, curves and policies behind.

pub mod algorithm;
pub mod chat;
pub mod checkpoint;
pub mod curves;
pub mod data;
pub mod device;
pub mod failure;
pub mod files;
pub mod generate;
pub mod model;
pub mod optimizer;
pub mod passes;
pub mod policy_manifest;
pub mod reporter;
pub mod rollout;
pub mod sampling;
pub mod tokenizer;
pub mod train;
pub mod worker;
