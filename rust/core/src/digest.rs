//! Digests of parts of an object: 64 bits, keyed per process, zero for what is absent.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The digest of something absent, null or empty.
pub(crate) const ABSENT: u64 = 0;

/// This process's key, so that nobody outside can make two values collide on purpose.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0u8))
}

/// The digest of bytes; never [`ABSENT`].
#[inline]
pub(crate) fn of(bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, seed()).max(1)
}

/// The digest of two strings of bytes in this order; never [`ABSENT`].
#[inline]
pub(crate) fn pair(left: &[u8], right: &[u8]) -> u64 {
    chain(of(left), right)
}

/// Continues a digest with more bytes.
#[inline]
pub(crate) fn chain(digest: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, seed() ^ digest).max(1)
}
