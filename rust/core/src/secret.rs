//! The write-only half of a Secret: the server keeps `stringData` as base64 in `data` and shows only that.

use serde_json::{Map, Value};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Gives the live object the `stringData` of the intent back, as far as its `data` says the same.
pub(crate) fn show_string_data(intent: &Value, live: &mut Value) {
    let (Some(wanted), None) = (
        intent.get("stringData").and_then(Value::as_object),
        live.get("stringData"),
    ) else {
        return;
    };
    let Some(data) = live.get("data").and_then(Value::as_object) else {
        return;
    };
    let mut shown = Map::new();
    for (key, value) in wanted {
        let encoded = value.as_str().map(|text| encode(text.as_bytes()));
        if encoded.is_some() && data.get(key).and_then(Value::as_str) == encoded.as_deref() {
            shown.insert(key.clone(), value.clone());
        }
    }
    if let Some(live) = live.as_object_mut() {
        live.insert("stringData".to_owned(), Value::Object(shown));
    }
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
