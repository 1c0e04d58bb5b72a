//! Wrong queries are told from right ones, and right ones are taken however they are written.

#![expect(clippy::print_stdout, reason = "tests say what they skip and what they measured")]

mod lite;
mod numbers;
mod others;
mod random;
mod slips;
mod spider;
mod wordings;
