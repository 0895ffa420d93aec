//! One stored object. Its digests, uid, name and stored form lie behind each other in one block of the store's heap.

use crate::heap::Block;
use crate::scan::View;
use crate::version::{Uid, Version};

/// The bytes of one digest.
const DIGEST: usize = size_of::<u64>();
/// The bytes of a uid that is a UUID.
const UUID: usize = 16;
/// The bytes of the length of a text that is not in its compact form.
const LENGTH: usize = size_of::<u16>();

/// The longest name, uid or resourceVersion that an entry can hold, in bytes.
pub(crate) const LONGEST: usize = u16::MAX as usize;

/// What is true of an entry, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flag(u8);

impl Flag {
    /// Put by ourselves, not yet told by the stream.
    pub(crate) const UNCONFIRMED: Self = Self(1);
    /// The relist being committed told of it.
    pub(crate) const SEEN: Self = Self(2);
    /// Waits in the store's queue to be packed.
    pub(crate) const QUEUED: Self = Self(4);
    /// Changed since the queue looked at it.
    pub(crate) const TOUCHED: Self = Self(8);
    const TEXT_UID: Self = Self(16);
    const TEXT_VERSION: Self = Self(32);
    const PACKED: Self = Self(64);
    const SECOND: Self = Self(128);
    const FORM: u8 = Self::PACKED.0 | Self::SECOND.0;
}

/// How the stored form is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    Raw,
    /// Packed with the dictionary in this place, 0 or 1.
    Packed(usize),
}

/// A stored form to be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body<'a> {
    /// In the form in which it is.
    Kept(Form, &'a [u8]),
    /// Raw, of this object, which is still to be pruned.
    Fresh(View<'a>),
}

impl Body<'_> {
    fn form(self) -> Form {
        match self {
            Self::Kept(form, _) => form,
            Self::Fresh(_) => Form::Raw,
        }
    }

    fn len(self) -> usize {
        match self {
            Self::Kept(_, payload) => payload.len(),
            Self::Fresh(view) => view.pruned_len(),
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Kept(_, payload) => out.extend_from_slice(payload),
            Self::Fresh(view) => view.prune(out),
        }
    }
}

/// One object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) block: Block,
    /// The resourceVersion, when it is the usual number.
    version: u64,
    pub(crate) namespace: u32,
    name_len: u16,
    flags: u8,
    /// Of the object's root; 0 where slots do not matter.
    pub(crate) slot: u8,
}

/// What an entry is made of, besides its stored form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a Version,
    pub(crate) uid: &'a Uid,
    pub(crate) slot: u8,
    pub(crate) digests: &'a [u64],
}

impl Entry {
    /// An entry without anything.
    pub(crate) fn blank() -> Self {
        Self {
            block: Block::NONE,
            version: 0,
            namespace: 0,
            name_len: 0,
            flags: 0,
            slot: 0,
        }
    }

    /// Becomes an entry of these parts, whose block `blob` is to hold. `None`, and no change, when a part is too long.
    pub(crate) fn write(&mut self, parts: Parts<'_>, body: Body<'_>, blob: &mut Vec<u8>) -> Option<()> {
        let fits = |text: &str| u16::try_from(text.len()).is_ok();
        let sound = match (parts.uid, parts.version) {
            (Uid::Text(uid), _) if !fits(uid) => false,
            (_, Version::Text(version)) => fits(version),
            _ => true,
        };
        let name_len = u16::try_from(parts.name.len()).ok().filter(|_| sound)?;
        blob.clear();
        blob.reserve(parts.digests.len() * DIGEST + UUID + parts.name.len() + body.len());
        for digest in parts.digests {
            blob.extend_from_slice(&digest.to_le_bytes());
        }
        match parts.uid {
            Uid::Uuid(bytes) => blob.extend_from_slice(bytes),
            Uid::Text(text) => append(text, blob),
        }
        self.set(Flag::TEXT_UID, matches!(parts.uid, Uid::Text(_)));
        self.version = match parts.version {
            Version::Small(number) => *number,
            Version::Text(text) => {
                append(text, blob);
                0
            }
        };
        self.set(Flag::TEXT_VERSION, matches!(parts.version, Version::Text(_)));
        blob.extend_from_slice(parts.name.as_bytes());
        body.write(blob);
        self.name_len = name_len;
        self.slot = parts.slot;
        self.set_form(body.form());
        Some(())
    }

    /// Becomes as another entry, but for block, namespace and marks.
    pub(crate) fn take(&mut self, other: &Self) {
        let own = Flag::UNCONFIRMED.0 | Flag::SEEN.0 | Flag::QUEUED.0 | Flag::TOUCHED.0;
        self.flags = (self.flags & own) | (other.flags & !own);
        self.version = other.version;
        self.name_len = other.name_len;
        self.slot = other.slot;
    }

    /// Keeps the stored form in another way; `old` is the block, and `new` what it is to hold.
    pub(crate) fn repack(
        &mut self,
        probes: usize,
        old: &[u8],
        form: Form,
        payload: &[u8],
        new: &mut Vec<u8>,
    ) {
        let head = self.name_range(old, probes).1;
        new.clear();
        new.extend_from_slice(old.get(..head).unwrap_or_default());
        new.extend_from_slice(payload);
        self.set_form(form);
    }

    pub(crate) fn has(&self, flag: Flag) -> bool {
        self.flags & flag.0 != 0
    }

    pub(crate) fn set(&mut self, flag: Flag, on: bool) {
        if on {
            self.flags |= flag.0;
        } else {
            self.flags &= !flag.0;
        }
    }

    /// Clears a mark and returns whether it was there.
    pub(crate) fn unset(&mut self, flag: Flag) -> bool {
        let was = self.has(flag);
        self.set(flag, false);
        was
    }

    pub(crate) fn form(&self) -> Form {
        match self.flags & Flag::FORM {
            0 => Form::Raw,
            bits => Form::Packed(usize::from(bits & Flag::SECOND.0 != 0)),
        }
    }

    fn set_form(&mut self, form: Form) {
        self.set(Flag::PACKED, form != Form::Raw);
        self.set(Flag::SECOND, form == Form::Packed(1));
    }

    /// Where the uid ends, and the resourceVersion begins if it is a text.
    fn uid_end(&self, blob: &[u8], probes: usize) -> usize {
        let start = probes * DIGEST;
        if self.has(Flag::TEXT_UID) {
            start + LENGTH + text_at(blob, start).len()
        } else {
            start + UUID
        }
    }

    fn name_range(&self, blob: &[u8], probes: usize) -> (usize, usize) {
        let mut start = self.uid_end(blob, probes);
        if self.has(Flag::TEXT_VERSION) {
            start += LENGTH + text_at(blob, start).len();
        }
        (start, start + usize::from(self.name_len))
    }

    /// The name; `blob` is the entry's block, here and below.
    pub(crate) fn name<'a>(&self, blob: &'a [u8], probes: usize) -> &'a str {
        let (start, end) = self.name_range(blob, probes);
        std::str::from_utf8(blob.get(start..end).unwrap_or_default()).unwrap_or_default()
    }

    pub(crate) fn uid(&self, blob: &[u8], probes: usize) -> Uid {
        let start = probes * DIGEST;
        if self.has(Flag::TEXT_UID) {
            return Uid::parse(text_at(blob, start));
        }
        let bytes = blob.get(start..).and_then(<[u8]>::first_chunk::<UUID>);
        bytes.map_or_else(|| Uid::parse(""), |bytes| Uid::Uuid(*bytes))
    }

    pub(crate) fn version(&self, blob: &[u8], probes: usize) -> Version {
        if self.has(Flag::TEXT_VERSION) {
            Version::parse(text_at(blob, self.uid_end(blob, probes)))
        } else {
            Version::Small(self.version)
        }
    }

    /// The stored form, as it is kept.
    pub(crate) fn payload<'a>(&self, blob: &'a [u8], probes: usize) -> &'a [u8] {
        blob.get(self.name_range(blob, probes).1..).unwrap_or_default()
    }
}

/// Writes the digests that a block begins with.
pub(crate) fn digests(blob: &[u8], probes: usize, out: &mut Vec<u64>) {
    out.clear();
    let chunks = blob.chunks_exact(DIGEST).take(probes);
    out.extend(chunks.filter_map(|chunk| chunk.first_chunk().copied().map(u64::from_le_bytes)));
}

fn text_at(blob: &[u8], at: usize) -> &str {
    let length = blob.get(at..).and_then(<[u8]>::first_chunk::<LENGTH>);
    let length = length.map_or(0, |bytes| usize::from(u16::from_le_bytes(*bytes)));
    let text = blob.get(at + LENGTH..at + LENGTH + length);
    std::str::from_utf8(text.unwrap_or_default()).unwrap_or_default()
}

/// Appends a text with its length, which was checked.
fn append(text: &str, out: &mut Vec<u8>) {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            name in "[a-z.]{0,20}",
            version in "[0-9a-z]{0,24}",
            uid in "([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})|[a-z]{0,9}",
            digests in prop::collection::vec(any::<u64>(), 0..4),
            payload in prop::collection::vec(any::<u8>(), 0..40),
            repacked in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let (version, uid) = (Version::parse(&version), Uid::parse(&uid));
            let parts = Parts { name: &name, version: &version, uid: &uid, slot: 7, digests: &digests };
            let (mut entry, mut blob, mut new) = (Entry::blank(), Vec::new(), Vec::new());
            entry.write(parts, Body::Kept(Form::Raw, &payload), &mut blob).unwrap();
            entry.set(Flag::SEEN, true);
            let probes = digests.len();
            for (form, payload) in [(Form::Raw, &payload), (Form::Packed(1), &repacked)] {
                if form != Form::Raw {
                    entry.repack(probes, &blob, form, payload, &mut new);
                    std::mem::swap(&mut blob, &mut new);
                }
                prop_assert_eq!((entry.form(), entry.slot), (form, 7));
                prop_assert_eq!(entry.name(&blob, probes), &name);
                prop_assert_eq!(entry.version(&blob, probes), version.clone());
                prop_assert_eq!(entry.uid(&blob, probes), uid.clone());
                prop_assert_eq!(entry.payload(&blob, probes), payload.as_slice());
                let mut read = Vec::new();
                super::digests(&blob, probes, &mut read);
                prop_assert_eq!(&read, &digests);
                prop_assert!(entry.has(Flag::SEEN) && !entry.has(Flag::QUEUED));
            }
        }
    }

    #[test]
    fn a_name_too_long_is_refused() {
        let long = "x".repeat(LONGEST + 1);
        let (version, uid) = (Version::parse("1"), Uid::parse("u"));
        let parts = Parts {
            name: &long,
            version: &version,
            uid: &uid,
            slot: 0,
            digests: &[],
        };
        let body = Body::Kept(Form::Raw, b"");
        assert_eq!(Entry::blank().write(parts, body, &mut Vec::new()), None);
    }
}
