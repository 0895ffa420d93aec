//! The scan of one object: where its parts are, what its metadata says, and what pruning leaves out. One pass.

use std::borrow::Cow;

use crate::entry::LONGEST;
use crate::prune::{Cutter, splice, spliced_len};
use crate::skim::{Cursor, Malformed, Skim, Span, Text};

/// kubectl's copy of the whole object inside itself.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// One member of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) key: Text,
    pub(crate) value: Span,
}

/// The result of a scan, as ranges of the bytes scanned. Made to be used again, so that scanning allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) object: Span,
    pub(crate) sections: Vec<Member>,
    pub(crate) metadata: Vec<Member>,
    pub(crate) cuts: Vec<Span>,
    /// The entries of managedFields that stay.
    pub(crate) managed: Vec<Span>,
    pub(crate) namespace: Option<Text>,
    pub(crate) name: Option<Text>,
    pub(crate) uid: Option<Text>,
    pub(crate) resource_version: Option<Text>,
    pub(crate) generation: Option<Span>,
    pub(crate) labels: Option<Span>,
    pub(crate) annotations: Option<Span>,
    pub(crate) finalizers: Option<Span>,
    pub(crate) owners: Option<Span>,
    pub(crate) deleting: bool,
    /// Nothing after the metadata was looked at.
    pub(crate) abandoned: bool,
    nested: Vec<Span>,
}

impl Scan {
    fn clear(&mut self) {
        let Self {
            sections,
            metadata,
            cuts,
            managed,
            nested,
            ..
        } = std::mem::take(self);
        *self = Self {
            sections: cleared(sections),
            metadata: cleared(metadata),
            cuts: cleared(cuts),
            managed: cleared(managed),
            nested: cleared(nested),
            ..Self::default()
        };
    }

    /// Scans a whole document that is one object.
    pub(crate) fn document(&mut self, bytes: &[u8], manager: Option<&str>) -> Skim<()> {
        let mut cursor = Cursor::check(bytes)?;
        self.object(&mut cursor, manager)?;
        cursor.end()
    }

    /// Scans a stored form, which was checked before it was stored.
    pub(crate) fn stored(&mut self, bytes: &[u8]) {
        // It cannot fail then; if it did, the scan would be of an object without parts.
        if self.object(&mut Cursor::at(bytes, 0), None).is_err() {
            self.clear();
        }
    }

    /// Scans the object at the cursor and steps over it.
    pub(crate) fn object(&mut self, cursor: &mut Cursor<'_>, manager: Option<&str>) -> Skim<()> {
        self.object_unless(cursor, manager, |_| false)
    }

    /// The same, but gives up behind the metadata when `abandon` says so of what is known by then.
    pub(crate) fn object_unless(
        &mut self,
        cursor: &mut Cursor<'_>,
        manager: Option<&str>,
        abandon: impl Fn(View<'_>) -> bool,
    ) -> Skim<()> {
        self.clear();
        let mut cutter = Cutter::default();
        let object = cursor.object(|cursor, key| {
            let bytes = cursor.bytes();
            let start = key.span.start - 1;
            let value = if key.is(bytes, "apiVersion") || key.is(bytes, "kind") {
                let value = cursor.skip()?;
                let end = value.end;
                cutter.cut(Span { start, end }, &mut self.cuts);
                value
            } else {
                cutter.keep(start, &mut self.cuts);
                let value = if key.is(bytes, "metadata") {
                    let value = self.metadata(cursor, manager)?;
                    if abandon(View { bytes, scan: self }) {
                        self.abandoned = true;
                        return Err(Malformed);
                    }
                    value
                } else {
                    cursor.skip()?
                };
                cutter.kept(value.end);
                value
            };
            self.sections.push(Member { key, value });
            Ok(())
        })?;
        cutter.finish(&mut self.cuts);
        self.object = object;
        Ok(())
    }

    fn metadata(&mut self, cursor: &mut Cursor<'_>, manager: Option<&str>) -> Skim<Span> {
        let mut cutter = Cutter::default();
        let span = cursor.object(|cursor, key| {
            let bytes = cursor.bytes();
            let start = key.span.start - 1;
            if key.is(bytes, "managedFields") {
                let value = self.managed_fields(cursor, manager)?;
                if self.managed.is_empty() {
                    let end = value.end;
                    cutter.cut(Span { start, end }, &mut self.cuts);
                } else {
                    cutter.keep(start, &mut self.cuts);
                    self.cuts.append(&mut self.nested);
                    cutter.kept(value.end);
                }
                self.metadata.push(Member { key, value });
                return Ok(());
            }
            cutter.keep(start, &mut self.cuts);
            let value = self.field(cursor, key)?;
            cutter.kept(value.end);
            self.metadata.push(Member { key, value });
            Ok(())
        })?;
        cutter.finish(&mut self.cuts);
        Ok(span)
    }

    fn field(&mut self, cursor: &mut Cursor<'_>, key: Text) -> Skim<Span> {
        let bytes = cursor.bytes();
        let decoded = if key.escaped {
            Cow::Owned(key.decode(bytes).into_owned().into_bytes())
        } else {
            Cow::Borrowed(key.span.of(bytes))
        };
        let place = match &*decoded {
            b"name" => &mut self.name,
            b"namespace" => &mut self.namespace,
            b"uid" => &mut self.uid,
            b"resourceVersion" => &mut self.resource_version,
            b"annotations" => return self.annotations(cursor),
            other => {
                let value = cursor.skip()?;
                let present = Some(value).filter(|value| value.of(bytes) != b"null");
                match other {
                    b"generation" => self.generation = present,
                    b"labels" => self.labels = present,
                    b"finalizers" => self.finalizers = present,
                    b"ownerReferences" => self.owners = present,
                    b"deletionTimestamp" => self.deleting = present.is_some(),
                    _ => {}
                }
                return Ok(value);
            }
        };
        if cursor.peek() != Some(b'"') {
            // Null is as good as absent; anything else is no text, and the object no object.
            let value = cursor.skip()?;
            *place = None;
            return if value.of(bytes) == b"null" {
                Ok(value)
            } else {
                Err(Malformed)
            };
        }
        let text = cursor.text()?;
        *place = Some(text);
        Ok(Span {
            start: text.span.start - 1,
            end: text.span.end + 1,
        })
    }

    fn annotations(&mut self, cursor: &mut Cursor<'_>) -> Skim<Span> {
        if cursor.peek() != Some(b'{') {
            return cursor.skip();
        }
        let mut cutter = Cutter::default();
        let span = cursor.object(|cursor, key| {
            let start = key.span.start - 1;
            if key.is(cursor.bytes(), LAST_APPLIED) {
                let end = cursor.skip()?.end;
                cutter.cut(Span { start, end }, &mut self.cuts);
            } else {
                cutter.keep(start, &mut self.cuts);
                cutter.kept(cursor.skip()?.end);
            }
            Ok(())
        })?;
        cutter.finish(&mut self.cuts);
        self.annotations = Some(span);
        Ok(span)
    }

    fn managed_fields(&mut self, cursor: &mut Cursor<'_>, manager: Option<&str>) -> Skim<Span> {
        self.managed.clear();
        self.nested.clear();
        let (Some(manager), Some(b'[')) = (manager, cursor.peek()) else {
            return cursor.skip();
        };
        let mut cutter = Cutter::default();
        cursor
            .array(|cursor| {
                if cursor.peek() != Some(b'{') {
                    return cursor.skip().map(|_| ());
                }
                let (mut ours, mut apply, mut whole) = (false, false, true);
                let entry = cursor.object(|cursor, key| {
                    let bytes = cursor.bytes();
                    let is = |cursor: &mut Cursor<'_>, wanted: &str| -> Skim<bool> {
                        if cursor.peek() == Some(b'"') {
                            Ok(cursor.text()?.is(bytes, wanted))
                        } else {
                            cursor.skip().map(|_| false)
                        }
                    };
                    if key.is(bytes, "manager") {
                        ours = is(cursor, manager)?;
                    } else if key.is(bytes, "operation") {
                        apply = is(cursor, "Apply")?;
                    } else if key.is(bytes, "subresource") {
                        // Null is as good as absent.
                        let null = cursor.peek() == Some(b'n');
                        whole = is(cursor, "")? || null;
                    } else {
                        cursor.skip()?;
                    }
                    Ok(())
                })?;
                if ours && apply && whole {
                    cutter.keep(entry.start, &mut self.nested);
                    cutter.kept(entry.end);
                    self.managed.push(entry);
                } else {
                    cutter.cut(entry, &mut self.nested);
                }
                Ok(())
            })
            .inspect(|_| cutter.finish(&mut self.nested))
    }
}

fn cleared<T>(mut list: Vec<T>) -> Vec<T> {
    list.clear();
    list
}

/// An object's bytes together with its scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) scan: &'a Scan,
}

impl<'a> View<'a> {
    fn text(self, text: Option<Text>) -> Cow<'a, str> {
        text.map_or(Cow::Borrowed(""), |text| text.decode(self.bytes))
    }

    pub(crate) fn namespace(self) -> Cow<'a, str> {
        self.text(self.scan.namespace)
    }

    pub(crate) fn name(self) -> Cow<'a, str> {
        self.text(self.scan.name)
    }

    pub(crate) fn uid(self) -> Cow<'a, str> {
        self.text(self.scan.uid)
    }

    pub(crate) fn resource_version(self) -> Cow<'a, str> {
        self.text(self.scan.resource_version)
    }

    /// Whether it has what makes an object known: a name and a resourceVersion, of lengths that a store can hold.
    pub(crate) fn is_storable(self) -> bool {
        // A decoded text is never longer than it is written.
        let length = |text: Option<Text>| text.map_or(0, |text| text.span.end - text.span.start);
        let needed = |text| (1..=LONGEST).contains(&length(text));
        needed(self.scan.name) && needed(self.scan.resource_version) && length(self.scan.uid) <= LONGEST
    }

    /// The value of a top-level member, unless it is null.
    pub(crate) fn section(self, name: &str) -> Option<Span> {
        find(self.bytes, &self.scan.sections, name)
    }

    /// Appends the stored form.
    pub(crate) fn prune(self, out: &mut Vec<u8>) {
        splice(self.bytes, self.scan.object, &self.scan.cuts, out);
    }

    pub(crate) fn pruned_len(self) -> usize {
        spliced_len(self.scan.object, &self.scan.cuts)
    }
}

fn find(bytes: &[u8], members: &[Member], name: &str) -> Option<Span> {
    members
        .iter()
        .rev()
        .find(|member| member.key.is(bytes, name))
        .map(|member| member.value)
        .filter(|value| value.of(bytes) != b"null")
}
