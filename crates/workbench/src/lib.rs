//! Work that is done and judged in sandboxes: terminals, programs in any language, repositories. It knows sandboxes, and neither
//! the server nor its store: the server's `environment/work/` turns each [`work::Work`] into an environment.

pub mod blame;
pub mod checks;
pub mod code;
pub mod repository;
pub mod terminal;
pub mod work;
