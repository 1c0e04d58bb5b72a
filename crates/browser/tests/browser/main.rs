//! A real Chromium in a real sandbox, with pages from memory.

mod acts;
mod fixture;
mod keep;
mod pages;
mod pictures;
mod pool;
mod walls;
