//! One stored object, in one block of memory: digests, uid, name and stored form behind each other.

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
pub(crate) struct Flag(u16);

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
    const FORM: u16 = Self::PACKED.0 | Self::SECOND.0;
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
#[derive(Debug)]
pub(crate) struct Entry {
    blob: Box<[u8]>,
    /// The resourceVersion, when it is the usual number.
    version: u64,
    pub(crate) namespace: u32,
    name_len: u16,
    flags: u16,
}

/// What an entry is made of, besides its stored form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a Version,
    pub(crate) uid: &'a Uid,
    pub(crate) digests: &'a [u64],
}

impl Entry {
    /// A new entry. `None` when a part is too long.
    pub(crate) fn new(parts: Parts<'_>, body: Body<'_>) -> Option<Self> {
        let mut entry = Self {
            blob: Box::default(),
            version: 0,
            namespace: 0,
            name_len: 0,
            flags: 0,
        };
        entry.write(parts, body)?;
        Some(entry)
    }

    /// Replaces everything but namespace and marks; the block is used again. `None`, and no change, when a part is too long.
    pub(crate) fn write(&mut self, parts: Parts<'_>, body: Body<'_>) -> Option<()> {
        let name_len = u16::try_from(parts.name.len()).ok()?;
        let uid_len = match parts.uid {
            Uid::Uuid(_) => UUID,
            Uid::Text(text) => LENGTH + usize::from(u16::try_from(text.len()).ok()?),
        };
        let version_len = match parts.version {
            Version::Small(_) => 0,
            Version::Text(text) => LENGTH + usize::from(u16::try_from(text.len()).ok()?),
        };
        let mut blob = std::mem::take(&mut self.blob).into_vec();
        blob.clear();
        blob.reserve_exact(
            parts.digests.len() * DIGEST + uid_len + version_len + parts.name.len() + body.len(),
        );
        for digest in parts.digests {
            blob.extend_from_slice(&digest.to_le_bytes());
        }
        match parts.uid {
            Uid::Uuid(bytes) => blob.extend_from_slice(bytes),
            Uid::Text(text) => append(text, &mut blob),
        }
        self.set(Flag::TEXT_UID, matches!(parts.uid, Uid::Text(_)));
        self.version = match parts.version {
            Version::Small(number) => *number,
            Version::Text(text) => {
                append(text, &mut blob);
                0
            }
        };
        self.set(Flag::TEXT_VERSION, matches!(parts.version, Version::Text(_)));
        blob.extend_from_slice(parts.name.as_bytes());
        body.write(&mut blob);
        self.blob = blob.into_boxed_slice();
        self.name_len = name_len;
        self.set_form(body.form());
        Some(())
    }

    /// Takes the place of what is stored, not of the marks.
    pub(crate) fn take(&mut self, other: Self) {
        let own = Flag::UNCONFIRMED.0 | Flag::SEEN.0 | Flag::QUEUED.0 | Flag::TOUCHED.0;
        self.flags = (self.flags & own) | (other.flags & !own);
        self.blob = other.blob;
        self.version = other.version;
        self.name_len = other.name_len;
    }

    /// Keeps the stored form in another way.
    pub(crate) fn repack(&mut self, probes: usize, form: Form, payload: &[u8]) {
        let head = self.name_range(probes).1;
        let mut blob = Vec::with_capacity(head + payload.len());
        blob.extend_from_slice(self.blob.get(..head).unwrap_or_default());
        blob.extend_from_slice(payload);
        self.blob = blob.into_boxed_slice();
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

    /// Bytes on the heap.
    pub(crate) fn heap(&self) -> usize {
        self.blob.len()
    }

    fn text_at(&self, at: usize) -> &str {
        let length = self.blob.get(at..).and_then(<[u8]>::first_chunk::<LENGTH>);
        let length = length.map_or(0, |bytes| usize::from(u16::from_le_bytes(*bytes)));
        let text = self.blob.get(at + LENGTH..at + LENGTH + length);
        std::str::from_utf8(text.unwrap_or_default()).unwrap_or_default()
    }

    /// Where the uid ends, and the resourceVersion begins if it is a text.
    fn uid_end(&self, probes: usize) -> usize {
        let start = probes * DIGEST;
        if self.has(Flag::TEXT_UID) {
            start + LENGTH + self.text_at(start).len()
        } else {
            start + UUID
        }
    }

    fn name_range(&self, probes: usize) -> (usize, usize) {
        let mut start = self.uid_end(probes);
        if self.has(Flag::TEXT_VERSION) {
            start += LENGTH + self.text_at(start).len();
        }
        (start, start + usize::from(self.name_len))
    }

    pub(crate) fn name(&self, probes: usize) -> &str {
        let (start, end) = self.name_range(probes);
        std::str::from_utf8(self.blob.get(start..end).unwrap_or_default()).unwrap_or_default()
    }

    pub(crate) fn uid(&self, probes: usize) -> Uid {
        let start = probes * DIGEST;
        if self.has(Flag::TEXT_UID) {
            return Uid::parse(self.text_at(start));
        }
        let bytes = self.blob.get(start..).and_then(<[u8]>::first_chunk::<UUID>);
        bytes.map_or_else(|| Uid::parse(""), |bytes| Uid::Uuid(*bytes))
    }

    pub(crate) fn version(&self, probes: usize) -> Version {
        if self.has(Flag::TEXT_VERSION) {
            Version::parse(self.text_at(self.uid_end(probes)))
        } else {
            Version::Small(self.version)
        }
    }

    /// The stored form, as it is kept.
    pub(crate) fn payload(&self, probes: usize) -> &[u8] {
        self.blob.get(self.name_range(probes).1..).unwrap_or_default()
    }

    /// Writes the digests of the entry's probes.
    pub(crate) fn digests(&self, probes: usize, out: &mut Vec<u64>) {
        out.clear();
        let chunks = self.blob.chunks_exact(DIGEST).take(probes);
        out.extend(chunks.filter_map(|chunk| chunk.first_chunk().copied().map(u64::from_le_bytes)));
    }
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
            let parts = Parts { name: &name, version: &version, uid: &uid, digests: &digests };
            let mut entry = Entry::new(parts, Body::Kept(Form::Raw, &payload)).unwrap();
            entry.set(Flag::SEEN, true);
            let probes = digests.len();
            for (form, payload) in [(Form::Raw, &payload), (Form::Packed(1), &repacked)] {
                if form != Form::Raw {
                    entry.repack(probes, form, payload);
                }
                prop_assert_eq!(entry.form(), form);
                prop_assert_eq!(entry.name(probes), &name);
                prop_assert_eq!(entry.version(probes), version.clone());
                prop_assert_eq!(entry.uid(probes), uid.clone());
                prop_assert_eq!(entry.payload(probes), payload.as_slice());
                let mut read = Vec::new();
                entry.digests(probes, &mut read);
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
            digests: &[],
        };
        assert!(Entry::new(parts, Body::Kept(Form::Raw, b"")).is_none());
    }
}
