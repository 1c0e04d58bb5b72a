//! User ids of sandboxes on the host, where the server is root.

/// User id 0 inside is this one on the host. Files of images belong to ids from here on.
pub(crate) const FIRST_ID: u32 = 100_000;
/// User ids inside.
pub(crate) const IDS: u32 = 65_536;
