//! The cache of one watched collection: bytes in, deltas out.

mod lists;
mod slots;

use crate::delta::{Batch, Deltas};
use crate::diff::diff;
use crate::digest;
use crate::error::{Error, SpecError, StateError};
use crate::event::{self, Framer, Kind, Line, MAX_LINE};
use crate::index::Index;
use crate::live::{Live, Outcome};
use crate::path::Path;
use crate::probe::Probe;
use crate::relist::Relist;
use crate::scan::{Scan, View};
use crate::share::{Scope, Share, Standing};
use crate::skim::{Cursor, Malformed};
use crate::stats::Stats;
use crate::store::Store;
use crate::version::Version;

/// The annotation of the bookmark that ends a streamed list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A key: namespace (empty when there is none) and name.
pub type Key = (String, String);

/// One watched collection of one kind.
#[derive(Debug)]
pub struct Cache {
    manager: Option<String>,
    live: Live,
    relist: Option<Relist>,
    position: Option<Version>,
    framer: Framer,
    scan: Scan,
    stats: Stats,
    started: bool,
}

impl Cache {
    /// An empty cache. Of managedFields, the entry of `manager`'s server-side apply is kept.
    pub fn new(manager: Option<String>) -> Self {
        Self::scoped(manager, Scope::Everything)
    }

    /// An empty cache that keeps no slot yet, unless its scope is everything.
    pub fn scoped(manager: Option<String>, scope: Scope) -> Self {
        Self {
            manager,
            live: Live::new(Share::new(scope)),
            relist: None,
            position: None,
            framer: Framer::new(MAX_LINE),
            scan: Scan::default(),
            stats: Stats::default(),
            started: false,
        }
    }

    /// Adds a subscription and returns its number.
    pub fn subscribe(&mut self, predicate: &[u8], mapping: &[u8]) -> Result<usize, Error> {
        self.not_started()?;
        Ok(self.live.rules.subscribe(predicate, mapping)?)
    }

    /// Adds a field index.
    pub fn add_index(&mut self, name: &str, path: &str) -> Result<(), Error> {
        self.not_started()?;
        if self.live.indexes.iter().any(|index| &*index.name == name) {
            return Err(SpecError::new(format!("an index named {name:?} exists already")).into());
        }
        let path = Path::parse(path)?;
        let probe = self.live.rules.probes.intern(Probe::Scalars(path.clone()));
        self.live.indexes.push(Index::new(name, path, probe));
        Ok(())
    }

    fn not_started(&self) -> Result<(), StateError> {
        if self.started {
            return Err(StateError(
                "subscriptions and indexes must be there before the first object",
            ));
        }
        Ok(())
    }

    /// Fixes the number of probes.
    fn start(&mut self) {
        if !self.started {
            self.started = true;
            self.live.store = Store::new(self.live.rules.probes.len());
        }
    }

    /// Takes bytes of the watch stream, cut anywhere.
    pub fn feed(&mut self, chunk: &[u8]) -> Batch {
        self.start();
        let mut batch = Batch::default();
        let mut deltas = Deltas::default();
        let mut newest = None;
        let mut framer = std::mem::replace(&mut self.framer, Framer::new(MAX_LINE));
        framer.feed(chunk, |line| match line {
            Line::TooLong => self.stats.events_malformed += 1,
            Line::Whole(line) if line.trim_ascii().is_empty() => {}
            Line::Whole(line) => self.event(line, &mut batch, &mut deltas, &mut newest),
        });
        self.framer = framer;
        self.tend(batch.events == 0);
        batch.resource_version = newest.map(|version: Version| version.to_string());
        batch.deltas = deltas.into_list();
        self.stats.deltas += batch.deltas.len() as u64;
        batch
    }

    fn event(&mut self, line: &[u8], batch: &mut Batch, deltas: &mut Deltas, newest: &mut Option<Version>) {
        let mut scan = std::mem::take(&mut self.scan);
        // A streamed list may be of other slots than those that are kept.
        let Live { share, store, .. } = &self.live;
        let listing = self.relist.as_ref().is_some_and(|relist| !relist.is_gain());
        let read = event::read(line, self.manager.as_deref(), &mut scan, |view| {
            !listing && share.is_foreign(view) && store.find(&view.namespace(), &view.name()).is_none()
        });
        let view = View {
            bytes: line,
            scan: &scan,
        };
        let done = read.and_then(|kind| self.handle(kind, view, batch, deltas, newest));
        match done {
            Ok(()) => batch.events += 1,
            Err(Malformed) => self.stats.events_malformed += 1,
        }
        self.scan = scan;
    }

    fn handle(
        &mut self,
        kind: Kind,
        view: View<'_>,
        batch: &mut Batch,
        deltas: &mut Deltas,
        newest: &mut Option<Version>,
    ) -> Result<(), Malformed> {
        if kind == Kind::Error {
            self.stats.events_error += 1;
            batch.error = Some(view.scan.object.of(view.bytes).to_vec());
            return Ok(());
        }
        let version = view.resource_version();
        if version.is_empty() || (kind != Kind::Bookmark && !view.is_storable()) {
            return Err(Malformed);
        }
        let version = Version::parse(&version);
        let mut end = false;
        if kind == Kind::Bookmark {
            self.stats.events_bookmark += 1;
            end = ends_initial_events(view);
            batch.initial_events_end |= end;
        } else {
            self.stats.events_received += 1;
            self.object_event(kind, view, &version, deltas);
        }
        match &mut self.relist {
            Some(relist) if !relist.is_gain() => relist.advance(version.clone(), end),
            _ => {
                raise(&mut self.position, &version);
                self.live.share.passed(&version);
            }
        }
        raise(newest, &version);
        Ok(())
    }

    fn object_event(&mut self, kind: Kind, view: View<'_>, version: &Version, deltas: &mut Deltas) {
        if let Some(relist) = self.relist.as_mut().filter(|relist| !relist.is_gain()) {
            match relist.slot(view, &self.live) {
                Some(slot) if kind != Kind::Deleted => relist.stage(view, slot, &mut self.live),
                slot => {
                    self.stats.events_foreign += u64::from(slot.is_none());
                    relist.unstage(view);
                }
            }
            return;
        }
        let slot = match self.live.share.standing(view, version) {
            Standing::Ours(slot) => slot,
            Standing::Replayed(slot) => {
                self.stats.events_replayed += 1;
                return self.live.hear(view, Some(slot), version, deltas);
            }
            Standing::Foreign => {
                self.stats.events_foreign += 1;
                return self.live.hear(view, None, version, deltas);
            }
        };
        let outcome = if kind == Kind::Deleted {
            self.live.delete(view, slot, deltas)
        } else {
            self.live.upsert(view, slot, deltas)
        };
        match outcome {
            Outcome::Changed { wanted: true } => {}
            Outcome::Changed { wanted: false } => self.stats.events_dropped += 1,
            Outcome::Echo => self.stats.events_echo += 1,
            Outcome::Stale | Outcome::Unknown => self.stats.events_stale += 1,
        }
    }

    /// A watch ended: forgets a half line and returns its length in bytes.
    pub fn reset_stream(&mut self) -> usize {
        self.framer.reset()
    }

    /// Takes the response to a write of our own; returns whether it is stored.
    pub fn put(&mut self, body: &[u8]) -> Result<bool, Error> {
        self.start();
        let mut scan = std::mem::take(&mut self.scan);
        let read = scan.document(body, self.manager.as_deref());
        let view = View {
            bytes: body,
            scan: &scan,
        };
        let sound = read.is_ok() && view.is_storable();
        let stored = sound && {
            if let Some(relist) = &mut self.relist {
                relist.detach(&view.namespace(), &view.name(), &self.live);
            }
            self.live.put(view, self.position.as_ref())
        };
        self.scan = scan;
        self.tend(false);
        if !sound {
            return Err(SpecError::new(
                "put: the body is no object with metadata.name and metadata.resourceVersion",
            )
            .into());
        }
        if stored {
            self.stats.puts_accepted += 1;
        } else {
            self.stats.puts_refused += 1;
        }
        Ok(stored)
    }

    /// What is to be done besides, a little each time.
    fn tend(&mut self, calm: bool) {
        self.live.tend(self.relist.as_ref().map(Relist::packed), calm);
    }

    /// The stored form of an object.
    pub fn get(&mut self, namespace: &str, name: &str) -> Option<&[u8]> {
        let Live { store, packer, .. } = &mut self.live;
        let entry = store.get(store.find(namespace, name)?)?;
        Some(packer.read(entry.form(), store.payload(entry)))
    }

    /// What an apply of the intent would change in an object, see [`crate::diff`]; `None` when there is no such object.
    ///
    /// Where nothing would change, that is remembered until the object changes, and told at once to the same bytes.
    pub fn diff(&mut self, namespace: &str, name: &str, intent: &[u8]) -> Result<Option<Vec<String>>, Error> {
        let Some(manager) = &self.manager else {
            return Err(NO_MANAGER.into());
        };
        let Live { store, packer, .. } = &mut self.live;
        let Some(id) = store.find(namespace, name) else {
            return Ok(None);
        };
        let digest = digest::of(intent);
        if store.is_settled(id, digest) {
            return Ok(Some(Vec::new()));
        }
        let Some(entry) = store.get(id) else {
            return Ok(None);
        };
        let lines = diff(intent, packer.read(entry.form(), store.payload(entry)), manager)?;
        if lines.is_empty() {
            store.settle(id, digest);
        }
        Ok(Some(lines))
    }

    /// The resourceVersion of an object.
    pub fn resource_version(&self, namespace: &str, name: &str) -> Option<String> {
        let store = &self.live.store;
        let entry = store.get(store.find(namespace, name)?)?;
        Some(store.version(entry).to_string())
    }

    /// The keys of all objects, sorted.
    pub fn keys(&self) -> Vec<Key> {
        self.sorted(self.live.store.ids())
    }

    /// The keys of the objects whose indexed field has this value, sorted.
    pub fn lookup(&self, index: &str, value: &str) -> Result<Vec<Key>, SpecError> {
        let Some(found) = self.live.indexes.iter().find(|known| &*known.name == index) else {
            let names: Vec<&str> = self.live.indexes.iter().map(|known| &*known.name).collect();
            return Err(SpecError::new(format!(
                "there is no index named {index:?}; there are {names:?}"
            )));
        };
        Ok(self.sorted(found.lookup(value).iter().copied()))
    }

    fn sorted(&self, ids: impl Iterator<Item = u32>) -> Vec<Key> {
        let store = &self.live.store;
        let mut keys: Vec<Key> = ids
            .filter_map(|id| store.get(id))
            .map(|entry| (store.namespace(entry).to_owned(), store.name(entry).to_owned()))
            .collect();
        keys.sort_unstable();
        keys
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.live.store.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counters and gauges by name.
    pub fn stats(&self) -> Vec<(&'static str, u64)> {
        let staged = self.relist.as_ref().map_or(0, Relist::bytes);
        let mut all = vec![
            ("objects", self.len() as u64),
            ("bytes", self.live.bytes() as u64),
            ("staged_bytes", staged as u64),
            ("raw_bytes", self.live.store.text_bytes() as u64),
            ("dictionary_bytes", self.live.packer.dictionary_bytes() as u64),
            (
                "objects_compressed",
                (self.live.store.packed(0) + self.live.store.packed(1)) as u64,
            ),
            ("unconfirmed", self.live.writes.len() as u64),
        ];
        all.push(("dictionaries_trained", self.live.packer.trained()));
        all.extend(self.stats.counters());
        all
    }
}

const NO_MANAGER: StateError = StateError("the cache keeps no managedFields: make it with a manager");

fn raise(position: &mut Option<Version>, version: &Version) {
    if position.as_ref().is_none_or(|known| known < version) {
        *position = Some(version.clone());
    }
}

fn ends_initial_events(view: View<'_>) -> bool {
    let Some(annotations) = view.scan.annotations else {
        return false;
    };
    let mut end = false;
    // The bytes were checked when they were scanned.
    let _ = Cursor::at(view.bytes, annotations.start).object(|cursor, key| {
        let value = cursor.skip()?;
        end |= key.is(view.bytes, INITIAL_EVENTS_END) && value.of(view.bytes) == b"\"true\"";
        Ok(())
    });
    end
}
