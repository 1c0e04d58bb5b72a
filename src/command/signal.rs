//! Signals that ask a command to stop.

/// Waits for SIGTERM or SIGINT (Ctrl-C), and answers which it was.
///
/// # Errors
/// When signals cannot be heard.
#[cfg(unix)]
pub(super) async fn asked_to_stop() -> std::io::Result<&'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => Ok("SIGTERM"),
        interrupted = tokio::signal::ctrl_c() => interrupted.map(|()| "SIGINT"),
    }
}

/// Waits for Ctrl-C, the one such signal here.
///
/// # Errors
/// When signals cannot be heard.
#[cfg(not(unix))]
pub(super) async fn asked_to_stop() -> std::io::Result<&'static str> {
    tokio::signal::ctrl_c().await.map(|()| "SIGINT")
}
