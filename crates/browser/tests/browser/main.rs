//! A real Chromium in a real sandbox, with pages from memory.

#![expect(clippy::print_stdout, reason = "tests say what they measured")]

mod fixture;
mod pages;

