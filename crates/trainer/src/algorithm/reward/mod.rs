//! Terms added to the reward of an episode before advantages are computed.

pub mod overlong;
