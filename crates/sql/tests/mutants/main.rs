//! Wrong queries are told from right ones, and right ones are taken however they are written.

mod databases;
mod lite;
mod numbers;
mod others;
mod random;
mod slips;
mod wordings;
