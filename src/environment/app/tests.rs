//! The adapter, held against an app of its own.
