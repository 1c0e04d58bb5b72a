//! Actions that take something away: their buttons look so, and ask first.

/// First words of the names of actions that take something away.
const DANGERS: [&str; 17] = [
    "delete",
    "remove",
    "cancel",
    "purge",
    "trash",
    "discard",
    "end",
    "drop",
    "block",
    "close",
    "leave",
    "archive",
    "revoke",
    "unshare",
    "withdraw",
    "uninstall",
    "forget",
];

/// True if an action takes something away, by the first word of its name.
pub(super) fn is_danger(name: &str) -> bool {
    DANGERS.iter().any(|danger| name.split('_').next() == Some(danger))
}
