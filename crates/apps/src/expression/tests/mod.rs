//! Tests of expressions as their callers use them.

mod examples;
mod messages;
mod properties;
mod records;
mod running;
mod values;
mod world;
