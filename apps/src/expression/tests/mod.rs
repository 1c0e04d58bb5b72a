//! Tests of expressions as their callers use them.

mod examples;
mod messages;
mod properties;
mod values;
mod world;
