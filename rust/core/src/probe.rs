//! Probes: the parts of an object whose change matters to some predicate or index, each reduced to one digest.
//!
//! An entry keeps its probes' digests, so an event is compared with the past without decoding anything old.

use crate::digest::{self, ABSENT};
use crate::path::{Found, Path};
use crate::scan::{LAST_APPLIED, View};
use crate::skim::{Cursor, Span};

/// A part of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Probe {
    Generation,
    ResourceVersion,
    Content,
    Labels,
    Label(Box<str>),
    Annotations,
    Annotation(Box<str>),
    Finalizers,
    Deletion,
    Owners,
    /// A top-level member.
    Section(Box<str>),
    Field(Path),
    /// The scalars at a path: what an index holds of the object.
    Scalars(Path),
}

/// The probes of a cache, each once however many predicates ask for it.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    probes: Vec<Probe>,
    /// Of each probe, that of the section it looks into: where that did not change, the probe did not.
    guards: Vec<Option<usize>>,
}

impl Probes {
    /// The number of this probe, which is new or known.
    pub(crate) fn intern(&mut self, probe: Probe) -> usize {
        if let Some(at) = self.probes.iter().position(|known| *known == probe) {
            return at;
        }
        let guard = match &probe {
            Probe::Field(path) | Probe::Scalars(path) => path.section().map(Into::into),
            _ => None,
        };
        let guard = guard.map(|section| self.intern(Probe::Section(section)));
        self.probes.push(probe);
        self.guards.push(guard);
        self.probes.len() - 1
    }

    pub(crate) fn len(&self) -> usize {
        self.probes.len()
    }

    /// Writes the digest of each probe of the object; `old` are those of an earlier state of it, or nothing.
    pub(crate) fn take(&self, view: View<'_>, old: &[u64], digests: &mut Vec<u64>) {
        digests.clear();
        for (at, (probe, guard)) in self.probes.iter().zip(&self.guards).enumerate() {
            // A guard comes before what it guards.
            let unchanged = guard.is_some_and(|guard| {
                let known = old.get(guard);
                known.is_some() && known == digests.get(guard)
            });
            let known = old.get(at).filter(|_| unchanged);
            digests.push(known.copied().unwrap_or_else(|| probe.digest(view)));
        }
    }
}

impl Probe {
    fn digest(&self, view: View<'_>) -> u64 {
        let scan = view.scan;
        match self {
            Self::Generation => raw(view, scan.generation),
            Self::ResourceVersion => digest::of(view.resource_version().as_bytes()),
            Self::Content => content(view),
            Self::Labels => members(view, scan.labels, None),
            Self::Label(key) => member(view, scan.labels, key),
            Self::Annotations => members(view, scan.annotations, Some(LAST_APPLIED)),
            Self::Annotation(key) => member(view, scan.annotations, key),
            Self::Finalizers => list(view, scan.finalizers),
            Self::Deletion => u64::from(scan.deleting),
            Self::Owners => list(view, scan.owners),
            Self::Section(name) => raw(view, view.section(name)),
            Self::Field(path) => field(view, path),
            Self::Scalars(path) => {
                let mut digest = ABSENT;
                path.scalars(view, |text| digest = digest::chain(digest, text.as_bytes()));
                digest
            }
        }
    }
}

fn raw(view: View<'_>, span: Option<Span>) -> u64 {
    span.map_or(ABSENT, |span| digest::of(span.of(view.bytes)))
}

/// An empty list is as good as none.
fn list(view: View<'_>, span: Option<Span>) -> u64 {
    raw(view, span.filter(|span| span.of(view.bytes) != b"[]"))
}

fn field(view: View<'_>, path: &Path) -> u64 {
    let mut digest = ABSENT;
    path.walk(view, |found| match found {
        Found::Key(key) => digest = digest::chain(digest, key.decode(view.bytes).as_bytes()),
        Found::Value(span) => {
            let value = span.of(view.bytes);
            if value != b"null" {
                digest = digest::chain(digest, value);
            }
        }
    });
    digest
}

/// The digest of all members but one, whatever their order.
fn members(view: View<'_>, span: Option<Span>, except: Option<&str>) -> u64 {
    let mut sum = ABSENT;
    each_member(view, span, |key, value| {
        if except != Some(key) {
            sum = sum.wrapping_add(digest::pair(key.as_bytes(), value));
        }
    });
    sum
}

/// The digest of one member's value.
fn member(view: View<'_>, span: Option<Span>, wanted: &str) -> u64 {
    let mut digest = ABSENT;
    each_member(view, span, |key, value| {
        if key == wanted && value != b"null" {
            digest = digest::of(value);
        }
    });
    digest
}

pub(crate) fn each_member(view: View<'_>, span: Option<Span>, mut visit: impl FnMut(&str, &[u8])) {
    let Some(span) = span else { return };
    if view.bytes.get(span.start) != Some(&b'{') {
        return;
    }
    // The bytes were checked when they were scanned.
    let _ = Cursor::at(view.bytes, span.start).object(|cursor, key| {
        let value = cursor.skip()?;
        visit(&key.decode(view.bytes), value.of(view.bytes));
        Ok(())
    });
}

/// The stored form without resourceVersion and generation, whatever the order of its members.
fn content(view: View<'_>) -> u64 {
    let bytes = view.bytes;
    let mut sum = members(view, view.scan.annotations, Some(LAST_APPLIED));
    for member in &view.scan.sections {
        match &*member.key.decode(bytes) {
            "apiVersion" | "kind" | "metadata" => {}
            key => {
                sum = sum.wrapping_add(digest::pair(key.as_bytes(), member.value.of(bytes)));
            }
        }
    }
    for member in &view.scan.metadata {
        match &*member.key.decode(bytes) {
            "resourceVersion" | "generation" | "managedFields" | "annotations" => {}
            key => {
                sum = sum.wrapping_add(digest::pair(key.as_bytes(), member.value.of(bytes)));
            }
        }
    }
    for entry in &view.scan.managed {
        sum = sum.wrapping_add(digest::pair(b"managedFields", entry.of(bytes)));
    }
    sum
}
