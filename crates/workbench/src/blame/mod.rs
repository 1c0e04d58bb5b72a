//! Blame: where a place is lost or a judge fails, a control decides whose doing it was. The same is done over an untouched beginning
//! of the same task: where that works, what the acting side did to its own place broke it, and it scores 0 with both as evidence;
//! where that fails too, the infrastructure did, and there is no score.
//!
//! Nothing the acting side says takes part. A sandbox that ended is asked of its back end, whose facts nothing inside can write, and
//! what the machine or an engine did is never the acting side's. What the server itself lacks (evidence, back ends, images, room) is
//! nobody's doing inside a sandbox, and asks for no control.

mod broken;
mod control;
mod judging;
mod workspace;

#[cfg(test)]
mod tests;

pub use judging::judge;
pub use workspace::open;
