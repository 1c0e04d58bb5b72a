//! The `control` family: physical systems to keep or bring where they should be, for policies over vectors as much as for
//! policies over words. What they share is how they are seen: `data.vector` is the state as numbers, and `data.actions` the
//! texts of the discrete actions in a fixed order, so that a policy which only counts in indices can act by text.

pub mod cartpole;
mod motion;
