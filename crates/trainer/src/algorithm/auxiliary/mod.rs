//! Terms that are added to the loss of the policy.

pub mod echo;
