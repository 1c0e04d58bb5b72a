//! Tests of expressions as their callers use them.
