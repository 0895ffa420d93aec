//! What kube-rs does with the bytes of a watch: serde into a typed object (or a `DynamicObject`), into a store.
//!
//!     rust-decode feed typed|dynamic KIND FIRST ROUNDS LINES   time a file of events, LINES a round
//!     rust-decode hold typed|dynamic KIND                      keep the objects of the events on stdin
//!
//! Prints one JSON object. The way is kube-client's: one line, `serde_json` into a `WatchEvent`, then the
//! reflector's store (`Arc`s in a map) and a predicate on the generation.

use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
    fs,
    io::{self, BufRead, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap, core::v1::Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_core::{DynamicObject, ObjectMeta, WatchEvent};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, de::DeserializeOwned};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "decoded and kept, not read")]
struct Widget {
    metadata: ObjectMeta,
    spec: WidgetSpec,
    #[serde(default)]
    status: WidgetStatus,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "decoded and kept, not read")]
struct WidgetSpec {
    replicas: i32,
    image: String,
    #[serde(default)]
    config: BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
#[allow(dead_code, reason = "decoded and kept, not read")]
struct WidgetStatus {
    observed_generation: i64,
    ready: bool,
    heartbeat: Option<i64>,
    conditions: Vec<Condition>,
}

trait Object: DeserializeOwned {
    fn metadata(&self) -> &ObjectMeta;
}

macro_rules! objects {
    ($($kind:ty),*) => { $(impl Object for $kind {
        fn metadata(&self) -> &ObjectMeta { &self.metadata }
    })* };
}
objects!(Widget, Deployment, Pod, ConfigMap, DynamicObject);

struct Store<K> {
    objects: HashMap<(String, String), Arc<K>>,
    children: bool,
}

impl<K: Object> Store<K> {
    /// Takes an event; says whether a key is to be reconciled.
    fn handle(&mut self, line: &str) -> Outcome<bool> {
        Ok(match serde_json::from_str::<WatchEvent<K>>(line)? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => self.apply(object),
            WatchEvent::Deleted(object) => self.objects.remove(&key(&object)).is_some(),
            WatchEvent::Bookmark(_) => false,
            WatchEvent::Error(status) => return Err(status.message.into()),
        })
    }

    fn apply(&mut self, object: K) -> bool {
        let object = Arc::new(object);
        let old = self.objects.insert(key(&*object), Arc::clone(&object));
        if self.children {
            let owners = object.metadata().owner_references.iter().flatten();
            return owners
                .filter(|owner| owner.controller == Some(true))
                .any(|owner| owner.kind == "Widget");
        }
        old.is_none_or(|old| old.metadata().generation != object.metadata().generation)
    }
}

fn key<K: Object>(object: &K) -> (String, String) {
    let metadata = object.metadata();
    (
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    )
}

/// CPU time of this process so far, which /proc tells only to the scheduler's tick.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

fn resident(name: &str) -> Outcome<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find(|line| line.starts_with(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kilobytes.unwrap_or_default().parse::<u64>()? * 1024)
}

fn feed<K: Object>(store: &mut Store<K>, arguments: &[String]) -> Outcome<String> {
    let [first, rounds, lines] = arguments else {
        return Err("feed needs FIRST ROUNDS LINES".into());
    };
    for line in fs::read_to_string(first)?.lines() {
        store.handle(line)?;
    }
    let text = fs::read_to_string(rounds)?;
    let events: Vec<&str> = text.lines().collect();
    let (mut spent, mut wall, mut keys) = (Vec::new(), Vec::new(), 0);
    for round in events.chunks(lines.parse()?) {
        let (start, clock) = (cpu(), Instant::now());
        for line in round {
            keys += u64::from(store.handle(line)?);
        }
        wall.push(clock.elapsed().as_nanos());
        spent.push((cpu() - start).as_nanos());
    }
    let objects = store.objects.len();
    Ok(format!(
        r#"{{"cpu_ns":{spent:?},"wall_ns":{wall:?},"keys":{keys},"objects":{objects}}}"#
    ))
}

fn hold<K: Object>(store: &mut Store<K>) -> Outcome<String> {
    let before = resident("VmRSS")?;
    let mut input = io::stdin().lock();
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        store.handle(&line)?;
        line.clear();
    }
    let (after, peak) = (resident("VmRSS")?, resident("VmHWM")?);
    let objects = store.objects.len();
    Ok(format!(
        r#"{{"before":{before},"after":{after},"peak":{peak},"objects":{objects}}}"#
    ))
}

fn run<K: Object>(children: bool, arguments: &[String]) -> Outcome<String> {
    let mut store = Store::<K> {
        objects: HashMap::new(),
        children,
    };
    match arguments {
        [command, _, _, rest @ ..] if command == "feed" => feed(&mut store, rest),
        _ => hold(&mut store),
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [_, mode, kind, ..] = &arguments[..] else {
        return Err("usage: rust-decode feed|hold typed|dynamic KIND ...".into());
    };
    let children = kind == "ConfigMap";
    let result = match (mode.as_str(), kind.as_str()) {
        ("dynamic", _) => run::<DynamicObject>(children, &arguments),
        (_, "Widget") => run::<Widget>(children, &arguments),
        (_, "Deployment") => run::<Deployment>(children, &arguments),
        (_, "Pod") => run::<Pod>(children, &arguments),
        _ => run::<ConfigMap>(children, &arguments),
    }?;
    writeln!(io::stdout(), "{result}")?;
    Ok(())
}
