//! Web pages that somebody published: folders of files, recordings, and pages in the layout of MiniWoB++.

mod address;
mod content;
mod live;
mod manifest;
mod media;
mod miniwob;
mod packed;
mod prove;
mod publication;
mod recording;
mod site;
mod site_pages;
mod task;
#[cfg(test)]
mod tests;

pub use publication::{FAMILY, Submission, kind, parse};
