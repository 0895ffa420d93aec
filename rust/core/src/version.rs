//! Resource versions and uids in their compact forms.

use std::cmp::Ordering;
use std::fmt;

/// A resourceVersion. They are integers that grow, of any length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// The usual case: its canonical decimal form fits.
    Small(u64),
    /// Anything else, as it was written. Boxed twice so that the usual case stays small.
    Text(Box<Box<str>>),
}

impl Version {
    /// Reads a resourceVersion; every text is one.
    pub fn parse(text: &str) -> Self {
        let canonical = !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text == "0" || !text.starts_with('0'));
        match text.parse() {
            Ok(number) if canonical => Self::Small(number),
            _ => Self::Text(Box::new(text.into())),
        }
    }

    /// Whether it is a decimal number, as the API server's are: only these tell for sure which of two is older.
    pub(crate) fn is_number(&self) -> bool {
        match self {
            Self::Small(_) => true,
            Self::Text(text) => {
                !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
            }
        }
    }

    /// Bytes on the heap.
    pub(crate) fn heap(&self) -> usize {
        match self {
            Self::Small(_) => 0,
            Self::Text(text) => size_of::<Box<str>>() + text.len(),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small(number) => write!(out, "{number}"),
            Self::Text(text) => out.write_str(text),
        }
    }
}

impl Ord for Version {
    /// As decimal numbers: by length, then by digits.
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Self::Small(left), Self::Small(right)) = (self, other) {
            return left.cmp(right);
        }
        let (left, right) = (self.to_string(), other.to_string());
        left.len()
            .cmp(&right.len())
            .then_with(|| left.as_bytes().cmp(right.as_bytes()))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An object's uid: 16 bytes when it is a UUID in canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Uid {
    Uuid([u8; 16]),
    Text(Box<str>),
}

/// What is no digit.
const BAD: u8 = 0x80;

/// The lower-case hexadecimal digits by their bytes.
const HEX: [u8; 256] = {
    let mut table = [BAD; 256];
    let mut digit = 0;
    while digit < 16 {
        #[allow(clippy::indexing_slicing, reason = "checked when compiled")]
        {
            table[b"0123456789abcdef"[digit as usize] as usize] = digit;
        }
        digit += 1;
    }
    table
};

impl Uid {
    pub(crate) fn parse(text: &str) -> Self {
        Self::uuid(text).map_or_else(|| Self::Text(text.into()), Self::Uuid)
    }

    fn uuid(text: &str) -> Option<[u8; 16]> {
        let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
        let mut number: u128 = 0;
        let mut bad = 0;
        for (at, &byte) in text.iter().enumerate() {
            let digit = HEX.get(usize::from(byte)).copied().unwrap_or(BAD);
            if matches!(at, 8 | 13 | 18 | 23) {
                bad |= u8::from(byte != b'-');
            } else {
                bad |= digit & !0x0F;
                number = (number << 4) | u128::from(digit & 0x0F);
            }
        }
        (bad == 0).then(|| number.to_be_bytes())
    }

    pub(crate) fn heap(&self) -> usize {
        match self {
            Self::Uuid(_) => 0,
            Self::Text(text) => text.len(),
        }
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => out.write_str(text),
            Self::Uuid(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    if matches!(at, 4 | 6 | 8 | 10) {
                        out.write_str("-")?;
                    }
                    write!(out, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers_of_any_length() {
        let order = [
            "0",
            "9",
            "10",
            "18446744073709551615",
            "18446744073709551616",
            "99999999999999999999999",
        ];
        for pair in order.windows(2) {
            assert!(Version::parse(pair[0]) < Version::parse(pair[1]), "{pair:?}");
            assert_eq!(Version::parse(pair[0]).to_string(), pair[0]);
        }
        assert_eq!(Version::parse("+7").to_string(), "+7");
        assert_eq!(Version::parse("007").to_string(), "007");
    }

    #[test]
    fn uids_come_back_as_they_were() {
        for text in [
            "8f5ba7ac-3f5b-4b8e-9a55-0d8f3f6a1c2e",
            "8F5BA7AC-3F5B-4B8E-9A55-0D8F3F6A1C2E",
            "8f5ba7ac-3f5b-4b8e-9a55_0d8f3f6a1c2e",
            "",
            "short",
            "8f5ba7ac-3f5b-4b8e-9a55-0d8f3f6a1céé",
        ] {
            assert_eq!(Uid::parse(text).to_string(), text);
        }
        assert!(matches!(
            Uid::parse("8f5ba7ac-3f5b-4b8e-9a55-0d8f3f6a1c2e"),
            Uid::Uuid(_)
        ));
    }
}
