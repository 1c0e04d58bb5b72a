//! The cryptography behind `https` and `wss`.

use std::sync::Once;

/// Makes ring the process's TLS provider unless its owner chose one. Without a provider the first connection would panic.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that a provider is there already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
