//! No bytes of a stream do harm, wherever they are cut, and all caches agree on them.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/fuzz/checks.rs"]
#[allow(dead_code, reason = "each target runs one of the checks")]
mod checks;

fuzz_target!(|bytes: &[u8]| checks::feed(bytes));
