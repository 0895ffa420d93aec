//! Slots: the 256 fixed parts of the hash space that objects are sharded by.

/// FNV-1a, 64 bits: the hash of the API server's own sharded list and watch.
pub fn fnv1a64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The slot of a root object's uid: the top 8 bits of its hash.
pub fn slot(uid: &str) -> u8 {
    fnv1a64(uid.as_bytes()).to_be_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_vectors() {
        assert_eq!(fnv1a64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a64(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(slot("foobar"), 0x85);
    }
}
