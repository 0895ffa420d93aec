//! No document does harm to the diff, and a cache says the same as the function.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/fuzz/checks.rs"]
#[allow(dead_code, reason = "each target runs one of the checks")]
mod checks;

fuzz_target!(|bytes: &[u8]| checks::diff(bytes));
