//! The write-only half of a Secret: the server keeps `stringData` as base64 in `data` and shows only that.

use bumpalo::Bump;

use crate::node::{Members, Node, member};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FIELD: &str = "stringData";

/// The live object with the `stringData` of the intent, as far as its `data` says the same.
pub(crate) fn show_string_data<'a>(intent: Members<'a>, live: Members<'a>, arena: &'a Bump) -> Members<'a> {
    let wanted = member(intent, FIELD).and_then(Node::members);
    let data = member(live, "data").and_then(Node::members);
    let (Some(wanted), Some(data), false) = (wanted, data, live.iter().any(|(key, _)| *key == FIELD)) else {
        return live;
    };
    let says =
        |key: &str, text: &str| member(data, key).and_then(Node::text) == Some(&encode(text.as_bytes()));
    let shown: Vec<_> = wanted
        .iter()
        .filter(|(key, value)| value.text().is_some_and(|text| says(key, text)))
        .copied()
        .collect();
    let mut all = live.to_vec();
    all.push((FIELD, Node::Map(arena.alloc_slice_copy(&shown))));
    all.sort_by_key(|(key, _)| *key);
    arena.alloc_slice_copy(&all)
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0u32, |bits, byte| (bits << 8) | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place)) & 0x3F;
            let symbol = ALPHABET.get(digit as usize).copied().unwrap_or(b'=');
            text.push(if place <= group.len() {
                char::from(symbol)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_as_the_standard_says() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("é?>", "w6k/Pg=="),
        ];
        for (text, encoded) in cases {
            assert_eq!(encode(text.as_bytes()), encoded);
        }
    }
}
