//! pilot
