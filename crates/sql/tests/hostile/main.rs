//! Statements that try to get out, or to take more than their session's share.

mod sqlite;
