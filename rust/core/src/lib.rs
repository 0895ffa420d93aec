//! The hot path of openclaw, in plain Rust.
