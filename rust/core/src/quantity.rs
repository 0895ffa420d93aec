//! Kubernetes quantities: `80m`, `1.5Gi`, `2e3`, compared exactly.

/// A quantity in normal form: `digits` times ten to the power of `exponent`, where `digits` does not end in zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quantity {
    digits: i128,
    exponent: i32,
}

impl Quantity {
    /// Reads a quantity. `None` when the text is none, or when it has more digits than can be held exactly.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number_end = text
            .find(|symbol: char| !matches!(symbol, '0'..='9' | '.' | '+' | '-'))
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at(number_end);
        let (binary, ten) = scale(suffix)?;
        let (digits, exponent) = decimal(number)?;
        let mut digits = digits.checked_mul(1i128.checked_shl(binary)?)?;
        let mut exponent = exponent.checked_add(ten)?;
        if digits == 0 {
            exponent = 0;
        }
        while digits != 0 && digits % 10 == 0 {
            digits /= 10;
            exponent += 1;
        }
        Some(Self { digits, exponent })
    }
}

/// The power of two and the power of ten that a suffix stands for.
fn scale(suffix: &str) -> Option<(u32, i32)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        _ => (0, exponent(suffix.strip_prefix(['e', 'E'])?)?),
    })
}

/// A signed exponent of at most a few digits.
fn exponent(text: &str) -> Option<i32> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = (1..=4).contains(&unsigned.len()) && unsigned.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// The digits of a decimal number and the power of ten they are to be taken by.
fn decimal(text: &str) -> Option<(i128, i32)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let mut digits: i128 = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        let digit = char::from(byte).to_digit(10)?;
        digits = digits.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    if text.starts_with('-') {
        digits = -digits;
    }
    Some((digits, -i32::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(left: &str, right: &str) -> bool {
        let (left, right) = (Quantity::parse(left), Quantity::parse(right));
        left.is_some() && left == right
    }

    #[test]
    fn equal_whatever_the_writing() {
        for (left, right) in [
            ("1", "1000m"),
            ("0.5", "500m"),
            (".5", "0.50"),
            ("1.", "1"),
            ("+1", "1"),
            ("-1", "-1000m"),
            ("1Gi", "1024Mi"),
            ("1Gi", "1073741824"),
            ("1.5Gi", "1536Mi"),
            ("1G", "1000M"),
            ("1k", "1000"),
            ("1e3", "1k"),
            ("1E3", "1000"),
            ("1E", "1000P"),
            ("12e-1", "1200m"),
            ("1e+2", "100"),
            ("1000000n", "1m"),
            ("0", "0Gi"),
            ("-0", "0m"),
            ("8Ei", "8192Pi"),
        ] {
            assert!(same(left, right), "{left} {right}");
        }
    }

    #[test]
    fn different_when_the_amount_is() {
        for (left, right) in [
            ("1", "1m"),
            ("1G", "1Gi"),
            ("1M", "1m"),
            ("1", "-1"),
            ("1E", "1e1"),
        ] {
            assert!(!same(left, right), "{left} {right}");
        }
    }

    #[test]
    fn no_quantity() {
        for text in [
            "",
            ".",
            "+",
            "1K",
            "1KI",
            "1 Gi",
            " 1",
            "1Gi ",
            "1e",
            "1e+",
            "1ee3",
            "1.2.3",
            "1-2",
            "--1",
            "Gi",
            "abc",
            "1e99999",
            "99999999999999999999999999999999999999999",
            "１",
            "1é",
        ] {
            assert_eq!(Quantity::parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_integers(left in 0u32..5000, right in 0u32..5000, up in 0u32..3) {
            let scaled = format!("{}", u64::from(left) * 1000u64.pow(up));
            let suffix = ["", "k", "M"][up as usize];
            let written = format!("{left}{suffix}");
            prop_assert!(same(&scaled, &written));
            let other = format!("{right}{suffix}");
            prop_assert_eq!(same(&scaled, &other), left == right);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,12}") {
            let _ = Quantity::parse(&text);
        }
    }
}
