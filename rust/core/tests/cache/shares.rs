//! Events, lists, gains, losses and own writes in any order: a cache ends up with the objects of its slots, and tells of each
//! of their changes once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use openclaw_core::{Batch, Cache, Scope, slot};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::objects::{bookmark, line, page};

/// The slots that are used, by their places.
const USED: u8 = 4;
const NAMES: u8 = 5;

/// Some uids of each of the slots that are used.
fn uids() -> &'static Vec<Vec<String>> {
    static UIDS: OnceLock<Vec<Vec<String>>> = OnceLock::new();
    UIDS.get_or_init(|| {
        let mut found = vec![Vec::new(); USED.into()];
        for number in 0.. {
            let uid = format!("{number}-4b8e-9a55-0d8f3f6a1c2e");
            if let Some(uids) = found.get_mut(usize::from(slot(&uid))) {
                uids.push(uid);
            }
            if found.iter().all(|uids| uids.len() >= 40) {
                return found;
            }
        }
        found
    })
}

/// The places in a mask of four bits.
fn slots(mask: u8) -> Vec<u8> {
    (0..USED).filter(|place| mask >> place & 1 == 1).collect()
}

/// One state of a name; none is a deletion.
#[derive(Debug, Clone)]
struct Change {
    version: u64,
    old: Option<(u8, Value)>,
    new: Option<(u8, Value)>,
}

/// The API server: all that ever happened.
#[derive(Debug)]
struct Server {
    scope: Scope,
    /// Whether it heeds selectors.
    filters: bool,
    history: Vec<Change>,
    now: BTreeMap<String, (u8, Value)>,
}

impl Server {
    fn version(&self) -> u64 {
        self.history.last().map_or(1, |change| change.version)
    }

    /// A new state of a name, in this slot: a root of another slot is another object.
    fn write(&mut self, name: u8, place: Option<u8>) -> Option<Value> {
        let name = format!("o{name}");
        let version = self.version() + 1;
        let old = self.now.get(&name).cloned();
        let new = place.map(|place| {
            let pool = &uids()[usize::from(place)];
            let fresh = &pool[usize::try_from(version).unwrap() % pool.len()];
            let mut metadata = json!({"name": name, "namespace": "n", "resourceVersion": version.to_string()});
            if self.scope == Scope::Roots {
                let known = old.as_ref().filter(|(known, _)| *known == place);
                metadata["uid"] =
                    known.map_or_else(|| json!(fresh), |(_, object)| object["metadata"]["uid"].clone());
            } else {
                let known = old.as_ref().map(|(_, object)| object["metadata"]["uid"].clone());
                metadata["uid"] = known.unwrap_or_else(|| json!(format!("child-{version}")));
                metadata["labels"] = json!({"openclaw.dev/slot": place.to_string()});
                if version % 3 > 0 {
                    metadata["ownerReferences"] =
                        json!([{"apiVersion": "g/v1", "kind": "Root", "name": format!("root{place}"),
                                "uid": pool[0], "controller": true}]);
                }
            }
            (place, json!({"metadata": metadata, "spec": {"v": version}}))
        });
        if new.is_none() && old.is_none() {
            return None;
        }
        // A root of another uid was deleted first.
        let mut changes = vec![(old.clone(), new.clone())];
        let uid = |state: &Option<(u8, Value)>| {
            state
                .as_ref()
                .map(|(_, object)| object["metadata"]["uid"].clone())
        };
        if old.is_some() && new.is_some() && uid(&old) != uid(&new) {
            changes = vec![(old, None), (None, new.clone())];
        }
        for (old, mut new) in changes {
            let version = self.version() + 1;
            if let Some((_, object)) = &mut new {
                object["metadata"]["resourceVersion"] = json!(version.to_string());
            }
            match &new {
                Some(state) => self.now.insert(name.clone(), state.clone()),
                None => self.now.remove(&name),
            };
            self.history.push(Change { version, old, new });
        }
        self.now.get(&name).map(|(_, object)| object.clone())
    }

    /// What a watch of these slots tells of a change.
    fn event(&self, change: &Change, selector: &BTreeSet<u8>) -> Option<Vec<u8>> {
        let seen = |state: &Option<(u8, Value)>| {
            let found = state.as_ref();
            found
                .filter(|(place, _)| !self.filters || selector.contains(place))
                .map(|(_, object)| object.clone())
        };
        match (seen(&change.old), seen(&change.new)) {
            (None, None) => None,
            (None, Some(new)) => Some(line("ADDED", &new)),
            (Some(_), Some(new)) => Some(line("MODIFIED", &new)),
            (Some(mut old), None) => {
                old["metadata"]["resourceVersion"] = json!(change.version.to_string());
                Some(line("DELETED", &old))
            }
        }
    }

    fn list(&self, selector: &BTreeSet<u8>) -> (u64, Vec<Value>) {
        let wanted = |place: &u8| !self.filters || selector.contains(place);
        let items = self.now.values().filter(|(place, _)| wanted(place));
        (self.version(), items.map(|(_, object)| object.clone()).collect())
    }
}

/// A list under way.
#[derive(Debug)]
struct Listing {
    gain: bool,
    version: u64,
    rest: Vec<Value>,
}

/// A client as `ListWatch` is one, and one that is told.
struct Client {
    server: Server,
    cache: Cache,
    selector: BTreeSet<u8>,
    /// Where the open watch is, if there is one.
    watch: Option<u64>,
    position: Option<u64>,
    listing: Option<Listing>,
    /// What was told of: the versions that a reader found then.
    known: BTreeMap<String, String>,
    /// Whether we wrote ourselves: then a delta may tell of what came before a write that is read already.
    wrote: bool,
}

impl Client {
    fn new(scope: Scope, filters: bool) -> Self {
        let mut cache = Cache::scoped(None, scope);
        cache.subscribe(br#"{"always":{}}"#, br#"{"self":{}}"#).unwrap();
        cache.add_index("v", "spec.v").unwrap();
        Self {
            server: Server {
                scope,
                filters,
                history: Vec::new(),
                now: BTreeMap::new(),
            },
            cache,
            selector: BTreeSet::new(),
            watch: None,
            position: None,
            listing: None,
            known: BTreeMap::new(),
            wrote: false,
        }
    }

    fn told(&mut self, batch: &Batch) {
        if let Some(version) = &batch.resource_version {
            self.position = version.parse().ok();
        }
        let active = self.cache.active();
        for delta in &batch.deltas {
            let known = self.known.remove(&delta.name);
            let now = self.cache.resource_version("n", &delta.name);
            let place = self.cache.slot_of("n", &delta.name);
            let seen = now.filter(|_| place.is_some_and(|place| active.contains(&place)));
            if !self.wrote {
                assert_ne!(known, seen, "told twice: {delta:?}");
                assert_eq!(delta.reason.name() == "deleted", seen.is_none(), "{delta:?}");
            }
            if let Some(seen) = seen {
                self.known.insert(delta.name.clone(), seen);
            }
        }
    }

    fn forget(&mut self, slots: &[u8]) {
        for (_, name) in self.cache.keys_in(slots).unwrap() {
            self.known.remove(&name);
        }
    }

    fn open(&mut self) {
        self.cache.reset_stream();
        self.selector = self.cache.kept().into_iter().collect();
        self.watch = self.position.filter(|_| !self.selector.is_empty());
    }

    fn deliver(&mut self, most: usize) {
        for _ in 0..most {
            let Some(at) = self.watch else { return };
            let next = self.server.history.iter().find(|change| change.version > at);
            let Some(change) = next.cloned() else { return };
            self.watch = Some(change.version);
            if let Some(event) = self.server.event(&change, &self.selector) {
                let batch = self.cache.feed(&event);
                self.told(&batch);
            }
        }
    }

    fn bookmark(&mut self) {
        if let Some(at) = self.watch {
            let batch = self.cache.feed(&bookmark(at, false));
            self.told(&batch);
        }
    }

    fn begin(&mut self, slots: &[u8], gain: bool) {
        if gain && self.position.is_some() {
            self.cache.begin_gain(slots).unwrap();
        } else {
            self.watch = None;
            self.cache.begin_relist_of(slots).unwrap();
        }
        let (version, mut items) = self.server.list(&slots.iter().copied().collect());
        let rest = items.split_off(items.len() / 2);
        self.cache.feed_list(&page(version, "more", &items)).unwrap();
        self.listing = Some(Listing {
            gain: gain && self.position.is_some(),
            version,
            rest,
        });
    }

    fn commit(&mut self) {
        let Some(listing) = self.listing.take() else {
            return;
        };
        self.cache
            .feed_list(&page(listing.version, "", &listing.rest))
            .unwrap();
        let batch = self.cache.commit_relist().unwrap();
        self.told(&batch);
        self.open();
    }

    fn lose(&mut self, slots: &[u8]) {
        self.forget(slots);
        self.cache.drop_slots(slots).unwrap();
        if self.cache.kept().is_empty() {
            self.position = None;
            self.watch = None;
            if self.listing.take_if(|listing| listing.gain).is_some() {
                self.cache.abort_relist();
            }
        }
    }

    fn step(&mut self, (what, name, mask): (u8, u8, u8)) {
        let some = slots(mask);
        let kept = self.cache.kept();
        match what {
            0..=5 => {
                self.server.write(name, (mask < 12).then_some(mask % USED));
            }
            6..=9 => self.deliver(usize::from(mask) + 1),
            10 => self.bookmark(),
            11 | 12 => {
                let missing: Vec<u8> = some.into_iter().filter(|slot| !kept.contains(slot)).collect();
                let relists = self.listing.as_ref().is_some_and(|listing| !listing.gain);
                if !missing.is_empty() && !relists {
                    self.begin(&missing, true);
                }
            }
            13 => {
                let both: BTreeSet<u8> = kept.into_iter().chain(some).collect();
                if !both.is_empty() {
                    self.begin(&both.into_iter().collect::<Vec<_>>(), false);
                }
            }
            14 | 15 => self.commit(),
            16 => self.lose(&some),
            17 => {
                let ready: Vec<u8> = some.into_iter().filter(|slot| kept.contains(slot)).collect();
                let batch = self.cache.start_slots(&ready).unwrap();
                self.told(&batch);
            }
            18 => {
                self.forget(&some);
                self.cache.stop_slots(&some).unwrap();
            }
            19 => {
                let relists = self.listing.as_ref().is_some_and(|listing| !listing.gain);
                if !relists {
                    self.open();
                }
            }
            _ => {
                let name = name % NAMES;
                let Some((place, _)) = self.server.now.get(&format!("o{name}")).cloned() else {
                    return;
                };
                // Only who acts on a slot writes to it, or whose run was in flight when it stopped.
                let held = self.cache.slot_of("n", &format!("o{name}"));
                if !self.cache.active().contains(&place) && held != Some(place) {
                    return;
                }
                let Some(object) = self.server.write(name, Some(place)) else {
                    return;
                };
                self.wrote = true;
                if self.cache.put(&serde_json::to_vec(&object).unwrap()).unwrap() {
                    let active = self.cache.active().contains(&place);
                    let version = object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
                    if active {
                        self.known.insert(format!("o{name}"), version);
                    }
                }
            }
        }
    }

    fn run(&mut self, steps: &[(u8, u8, u8)]) {
        for step in steps {
            self.step(*step);
        }
        self.finish();
    }

    /// Lets everything come to its end and compares.
    fn finish(&mut self) {
        self.commit();
        self.open();
        self.deliver(usize::MAX);
        let (kept, active) = (self.cache.kept(), self.cache.active());
        let of = |slots: &[u8]| -> BTreeMap<String, String> {
            let now = self.server.now.iter();
            now.filter(|(_, (place, _))| slots.contains(place))
                .map(|(name, (_, object))| {
                    (
                        name.clone(),
                        object["metadata"]["resourceVersion"].as_str().unwrap().to_owned(),
                    )
                })
                .collect()
        };
        let held: BTreeMap<String, String> = self
            .cache
            .keys()
            .into_iter()
            .map(|(_, name)| (name.clone(), self.cache.resource_version("n", &name).unwrap()))
            .collect();
        assert_eq!(held, of(&kept), "what is held is not what is there");
        assert_eq!(self.known, of(&active), "what was told is not what is there");
        for version in held.values() {
            let spec: u64 = version.parse().unwrap();
            let found = self.cache.lookup("v", &spec.to_string()).unwrap().len()
                + self.cache.lookup("v", &(spec - 1).to_string()).unwrap().len();
            assert!(found > 0, "the index lacks {version}");
        }
        for slot in &kept {
            for (namespace, name) in self.cache.keys_in(&[*slot]).unwrap() {
                assert_eq!(self.cache.slot_of(&namespace, &name), Some(*slot));
            }
        }
    }
}

fn program(kinds: u8) -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    prop::collection::vec((0..kinds, 0..NAMES, 0u8..16), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.saturating_mul(2), ..ProptestConfig::default() })]

    #[test]
    fn roots_end_as_they_are(steps in program(20), filters: bool) {
        let mut client = Client::new(Scope::Roots, filters);
        client.run(&steps);
    }

    #[test]
    fn children_end_as_they_are(steps in program(20), filters: bool) {
        let mut client = Client::new(Scope::Children, filters);
        client.run(&steps);
    }

    #[test]
    fn own_writes_change_nothing_about_that(steps in program(23), filters: bool, roots: bool) {
        let scope = if roots { Scope::Roots } else { Scope::Children };
        let mut client = Client::new(scope, filters);
        client.run(&steps);
    }
}
