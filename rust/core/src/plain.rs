//! The plain part of a JSON string: where does it end?

use wide::u8x16;

/// The position of the first quote, backslash or control character from `pos` on, or the end.
///
/// Sixteen bytes at a time: most strings of an object are so short that calling a longer vector search costs more than it saves.
#[inline]
pub(crate) fn string_end(bytes: &[u8], mut pos: usize) -> usize {
    loop {
        let Some(chunk) = bytes.get(pos..).and_then(<[u8]>::first_chunk::<16>) else {
            return tail_end(bytes, pos);
        };
        let chunk = u8x16::new(*chunk);
        let control = chunk.min(u8x16::splat(0x1F)).cmp_eq(chunk);
        let hit = chunk.cmp_eq(u8x16::splat(b'"')) | chunk.cmp_eq(u8x16::splat(b'\\')) | control;
        let hit = hit.move_mask();
        if hit != 0 {
            return pos + hit.trailing_zeros() as usize;
        }
        pos += 16;
    }
}

#[cold]
fn tail_end(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(&byte) = bytes.get(pos) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        pos += 1;
    }
    pos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_specials_at_every_offset() {
        for offset in 0..40 {
            for special in [b'"', b'\\', 0x1F, 0x00] {
                let mut bytes = vec![b'a'; 48];
                bytes[offset] = special;
                assert_eq!(string_end(&bytes, 0), offset);
            }
            // Bytes that only look special to a careless bit trick.
            for plain in [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F, 0x80, 0xA2, 0xDC, 0xFF] {
                let mut bytes = vec![b'a'; 48];
                bytes[offset] = plain;
                assert_eq!(string_end(&bytes, 0), 48);
            }
        }
    }
}
