//! The plain part of a JSON string: where does it end?

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The position of the first quote, backslash or control character from `pos` on, or the end.
///
/// Eight bytes at a time: most strings of an object are so short that calling a vector search costs more than it saves.
#[inline]
pub(crate) fn string_end(bytes: &[u8], mut pos: usize) -> usize {
    loop {
        let Some(word) = bytes.get(pos..).and_then(<[u8]>::first_chunk::<8>) else {
            return tail_end(bytes, pos);
        };
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * 0x22);
        let slash = word ^ (ONES * 0x5C);
        let hit = (quote.wrapping_sub(ONES) & !quote)
            | (slash.wrapping_sub(ONES) & !slash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let hit = hit & HIGHS;
        if hit != 0 {
            // A false hit of these tests only ever lies above a true one.
            return pos + (hit.trailing_zeros() / 8) as usize;
        }
        pos += 8;
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
