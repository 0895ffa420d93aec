//! Sets of slots, and the forms they take: text for people, selectors for the API server.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub, SubAssign};
use std::str::FromStr;

use crate::error::SpecError;

/// A set of slots 0 to 255.
///
/// Its text form is that of ranges, `0-84,90`; its hexadecimal form is the number in which bit *n* is slot *n*.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct SlotSet([u64; 4]);

impl SlotSet {
    /// How many slots there can be.
    pub const CAPACITY: u16 = 256;
    /// No slot.
    pub const EMPTY: Self = Self([0; 4]);
    /// All 256 slots.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// The slots 0 to `count` - 1.
    pub fn first(count: u16) -> Self {
        let mut words = [0; 4];
        let mut left = count;
        for word in &mut words {
            *word = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
            left = left.saturating_sub(64);
        }
        Self(words)
    }

    /// These slots, in any order.
    pub fn of(slots: &[u8]) -> Self {
        slots.iter().copied().collect()
    }

    /// Whether the slot is in the set.
    pub fn contains(&self, slot: u8) -> bool {
        self.0
            .get(usize::from(slot >> 6))
            .is_some_and(|word| word >> (slot & 63) & 1 == 1)
    }

    /// Puts a slot in.
    pub fn insert(&mut self, slot: u8) {
        if let Some(word) = self.0.get_mut(usize::from(slot >> 6)) {
            *word |= 1 << (slot & 63);
        }
    }

    /// How many slots there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// Whether all of these are in the other set.
    pub fn is_subset(&self, other: &Self) -> bool {
        (*self - *other).is_empty()
    }

    /// The slots, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..=u8::MAX).filter(move |slot| set.contains(*slot))
    }

    /// The runs of neighbouring slots: first and last, both in the set.
    pub fn runs(&self) -> Vec<(u8, u8)> {
        let mut runs: Vec<(u8, u8)> = Vec::new();
        for slot in self.iter() {
            match runs.last_mut() {
                Some(run) if run.1.checked_add(1) == Some(slot) => run.1 = slot,
                _ => runs.push((slot, slot)),
            }
        }
        runs
    }

    /// The set as 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        let [a, b, c, d] = self.0;
        format!("{d:016x}{c:016x}{b:016x}{a:016x}")
    }

    /// Reads 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self, SpecError> {
        let bad = || SpecError::new(format!("slot set {text:?}: not 64 hexadecimal digits"));
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut words = [0; 4];
        for (word, digits) in words.iter_mut().rev().zip(text.as_bytes().chunks(16)) {
            let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
            *word = u64::from_str_radix(digits, 16).map_err(|_| bad())?;
        }
        Ok(Self(words))
    }

    /// The API server's `shardSelector` for objects whose uid falls into these of `slots` slots (KEP-5866).
    ///
    /// None when there is no slot (no selector says "nothing") or when the selector, quoted for a URL, would exceed
    /// `longest` bytes: scattered slots need some 100 bytes a run.
    pub fn shard_selector(&self, slots: u16, longest: usize) -> Option<String> {
        let width = (1_u128 << 64) / u128::from(slots.max(1));
        let ranges: Vec<String> = (*self & Self::first(slots))
            .runs()
            .into_iter()
            .map(|(first, last)| {
                let (start, end) = (u128::from(first) * width, (u128::from(last) + 1) * width);
                format!("shardRange(object.metadata.uid, '0x{start:016x}', '0x{end:016x}')")
            })
            .collect();
        let selector = ranges.join(" || ");
        let quoted = |byte: u8| {
            if byte.is_ascii_alphanumeric() || byte == b'.' {
                1
            } else {
                3
            }
        };
        let length: usize = selector.bytes().map(quoted).sum();
        (!ranges.is_empty() && length <= longest).then_some(selector)
    }

    /// The label selector `key in (0,1,…)` for objects whose label names one of these slots; None when there is no slot.
    pub fn label_selector(&self, key: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let values: Vec<String> = self.iter().map(|slot| slot.to_string()).collect();
        Some(format!("{key} in ({})", values.join(",")))
    }
}

impl fmt::Display for SlotSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.runs().into_iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            if first == last {
                write!(out, "{comma}{first}")?;
            } else {
                write!(out, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for SlotSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{{{self}}}")
    }
}

impl FromStr for SlotSet {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let bad = |part: &str| {
            SpecError::new(format!(
                "slot set: {part:?} is no slot or range of slots 0 to 255"
            ))
        };
        let number = |part: &str, digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits
                .parse::<u8>()
                .ok()
                .filter(|_| plain)
                .ok_or_else(|| bad(part))
        };
        let mut set = Self::EMPTY;
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(part, first)?, number(part, last)?);
            if first > last {
                return Err(bad(part));
            }
            (first..=last).for_each(|slot| set.insert(slot));
        }
        Ok(set)
    }
}

impl FromIterator<u8> for SlotSet {
    fn from_iter<I: IntoIterator<Item = u8>>(slots: I) -> Self {
        let mut set = Self::EMPTY;
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

impl SlotSet {
    fn zip(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let mut words = self.0;
        for (word, other) in words.iter_mut().zip(other.0) {
            *word = join(*word, other);
        }
        Self(words)
    }
}

impl BitOr for SlotSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
}

impl BitAnd for SlotSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
}

impl Sub for SlotSet {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }
}

impl BitOrAssign for SlotSet {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl BitAndAssign for SlotSet {
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

impl SubAssign for SlotSet {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
