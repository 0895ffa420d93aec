//! What the skimmer takes for an object, `serde_json` does too; and what is stored is what was sent, pruned.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../core/tests/fuzz/checks.rs"]
#[allow(dead_code, reason = "each target runs one of the checks")]
mod checks;

fuzz_target!(|bytes: &[u8]| checks::scan(bytes));
