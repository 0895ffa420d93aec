//! Measures the way of an event: `cargo run --release -p openclaw-core --example events [objects] [rounds]`.
//!
//! Prints events a second of CPU time for a realistic object of about 2.5 KB, and bytes held an object. It judges nothing.
#![allow(clippy::print_stdout, reason = "its purpose")]

use std::fmt::Write;
use std::time::{Duration, Instant};

use openclaw_core::{Cache, diff};

/// A moment, by this thread's own CPU time where the system tells it (Linux), so that other load does not count.
#[derive(Clone, Copy)]
struct Clock {
    wall: Instant,
    cpu: Option<u64>,
}

impl Clock {
    fn now() -> Self {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat");
        let cpu = told.ok().and_then(|text| text.split(' ').next()?.parse().ok());
        Self {
            wall: Instant::now(),
            cpu,
        }
    }

    fn elapsed(self) -> Duration {
        match (self.cpu, Self::now().cpu) {
            (Some(start), Some(end)) => Duration::from_nanos(end - start),
            _ => self.wall.elapsed(),
        }
    }
}

/// A Deployment as a server sends it, with what pruning drops and what it keeps.
fn deployment(number: u64, version: u64, generation: u64, ready: u64) -> String {
    let name = format!("storefront-{number}");
    let namespace = format!("tenant-{}", number % 50);
    let uid = format!("8f5ba7ac-3f5b-4b8e-9a55-{number:012x}");
    let image = format!("registry.example.com/shop/web:1.{}", generation % 20);
    let mut text = String::with_capacity(3000);
    let _ = write!(
        text,
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{uid}","resourceVersion":"{version}","generation":{generation},"creationTimestamp":"2026-11-30T18:00:00Z","labels":{{"app.kubernetes.io/name":"{name}","app.kubernetes.io/component":"frontend","app.kubernetes.io/managed-by":"openclaw","openclaw.dev/slot":"{}"}},"annotations":{{"deployment.kubernetes.io/revision":"{generation}"}},"ownerReferences":[{{"apiVersion":"apps.openclaw.dev/v1alpha1","kind":"OpenClaw","name":"{name}","uid":"{uid}","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{{"manager":"openclaw","operation":"Apply","apiVersion":"apps/v1","time":"2026-11-30T18:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{"f:app.kubernetes.io/name":{{}},"f:openclaw.dev/slot":{{}}}}}},"f:spec":{{"f:replicas":{{}},"f:selector":{{}},"f:template":{{"f:spec":{{"f:containers":{{"k:{{\"name\":\"web\"}}":{{".":{{}},"f:image":{{}},"f:name":{{}},"f:ports":{{"k:{{\"containerPort\":8080,\"protocol\":\"TCP\"}}":{{".":{{}},"f:containerPort":{{}}}}}}}}}}}}}}}}}}}},{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","time":"2026-11-30T18:00:05Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:annotations":{{".":{{}},"f:deployment.kubernetes.io/revision":{{}}}}}},"f:status":{{"f:availableReplicas":{{}},"f:conditions":{{".":{{}},"k:{{\"type\":\"Available\"}}":{{".":{{}},"f:status":{{}},"f:type":{{}}}}}},"f:observedGeneration":{{}},"f:readyReplicas":{{}},"f:replicas":{{}},"f:updatedReplicas":{{}}}}}},"subresource":"status"}}]}},"#,
        number % 256
    );
    let _ = write!(
        text,
        r#""spec":{{"replicas":3,"selector":{{"matchLabels":{{"app.kubernetes.io/name":"{name}"}}}},"template":{{"metadata":{{"creationTimestamp":null,"labels":{{"app.kubernetes.io/name":"{name}"}}}},"spec":{{"containers":[{{"name":"web","image":"{image}","ports":[{{"containerPort":8080,"protocol":"TCP"}}],"resources":{{"limits":{{"cpu":"1","memory":"512Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{{}},"schedulerName":"default-scheduler"}}}},"strategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxUnavailable":"25%","maxSurge":"25%"}}}},"revisionHistoryLimit":10,"progressDeadlineSeconds":600}},"status":{{"observedGeneration":{generation},"replicas":3,"updatedReplicas":3,"readyReplicas":{ready},"availableReplicas":{ready},"conditions":[{{"type":"Available","status":"True","lastUpdateTime":"2026-11-30T18:00:05Z","lastTransitionTime":"2026-11-30T18:00:05Z","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."}}]}}}}"#,
    );
    text
}

fn chunk(from: u64, objects: u64, version: u64, generation: u64, kind: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in from..from + objects {
        let object = deployment(number, version + number, generation, version % 4);
        bytes.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n").as_bytes());
    }
    bytes
}

fn cache(indexed: bool) -> Result<Cache, openclaw_core::Error> {
    let mut cache = Cache::new(Some("openclaw".to_owned()));
    let predicate = br#"{"any":[{"generation":{}},{"deletion":{}}]}"#;
    cache.subscribe(
        predicate,
        br#"{"owner":{"group":"apps.openclaw.dev","kind":"OpenClaw"}}"#,
    )?;
    if indexed {
        cache.add_index("image", "spec.template.spec.containers[*].image")?;
    }
    Ok(cache)
}

/// Feeds bytes as a socket gives them: 64 KiB at a time.
fn feed(cache: &mut Cache, bytes: &[u8]) -> usize {
    bytes
        .chunks(64 << 10)
        .map(|chunk| cache.feed(chunk).deltas.len())
        .sum()
}

/// Measures the diff of an intent that is there already, and of one that is not.
fn unchanged(rounds: u64) -> Result<(), Box<dyn std::error::Error>> {
    let compact =
        |text: &str| Ok::<_, serde_json::Error>(serde_json::from_str::<serde_json::Value>(text)?.to_string());
    let intent = compact(include_str!("../tests/fixtures/deployment_intent.json"))?;
    let live = compact(include_str!("../tests/fixtures/deployment_live.json"))?;
    let other = intent.replace("web:1.4", "web:1.5");
    for (name, intent) in [
        ("diff, nothing changed", &intent),
        ("diff, something changed", &other),
    ] {
        let start = Clock::now();
        let mut lines = 0;
        for _ in 0..rounds {
            lines = diff(intent.as_bytes(), live.as_bytes(), "openclaw")?.len();
        }
        let each = start.elapsed().as_secs_f64() * 1e6 / u32::try_from(rounds).map_or(1.0, f64::from);
        println!(
            "{name:<34} {each:>9.1} us a diff of {} and {} bytes  {lines} lines",
            intent.len(),
            live.len()
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let objects: u64 = arguments.next().map_or(Ok(2000), |text| text.parse())?;
    let rounds: u64 = arguments.next().map_or(Ok(50), |text| text.parse())?;
    let size = chunk(0, 1, 1000, 1, "ADDED").len();
    println!(
        "{} build, {objects} objects, {rounds} rounds, {size} bytes an event",
        if cfg!(debug_assertions) {
            "DEBUG"
        } else {
            "release"
        }
    );
    let report = |name: &str, events: u64, start: Clock, deltas: usize| {
        let seconds = start.elapsed().as_secs_f64();
        #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
        let rate = events as f64 / seconds;
        println!("{name:<34} {rate:>12.0} events/s  {deltas} deltas");
    };
    for indexed in [false, true] {
        let mut cache = cache(indexed)?;
        println!(
            "{}",
            if indexed {
                "with an index"
            } else {
                "without an index"
            }
        );
        let bytes = chunk(0, objects, 1000, 1, "ADDED");
        let start = Clock::now();
        let deltas = feed(&mut cache, &bytes);
        report("new objects", objects, start, deltas);
        let start = Clock::now();
        for _ in 0..rounds {
            feed(&mut cache, &bytes);
        }
        report("echoes", objects * rounds, start, 0);
        let batches: Vec<Vec<u8>> = (0..rounds.min(16))
            .map(|round| chunk(0, objects, 1_000_000 * (round + 2), 1, "MODIFIED"))
            .collect();
        let start = Clock::now();
        let deltas = batches.iter().map(|bytes| feed(&mut cache, bytes)).sum();
        report(
            "irrelevant (status changed)",
            objects * rounds.min(16),
            start,
            deltas,
        );
        let batches: Vec<Vec<u8>> = (0..rounds.min(16))
            .map(|round| chunk(0, objects, 1_000_000 * (round + 20), round + 2, "MODIFIED"))
            .collect();
        let start = Clock::now();
        let deltas = batches.iter().map(|bytes| feed(&mut cache, bytes)).sum();
        report("relevant (spec changed)", objects * rounds.min(16), start, deltas);
        let stats = cache.stats();
        let bytes = stats
            .iter()
            .find(|(name, _)| *name == "bytes")
            .map_or(0, |(_, value)| *value);
        let stored = cache
            .keys()
            .first()
            .and_then(|(namespace, name)| cache.get(namespace, name).map(<[u8]>::len));
        println!(
            "held: {} bytes an object, of which the stored form is {}",
            bytes / objects,
            stored.unwrap_or_default()
        );
        if !indexed {
            unchanged(rounds * 20)?;
        }
    }
    Ok(())
}
