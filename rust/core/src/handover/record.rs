//! What a shard publishes in its Lease, as the text of one annotation.

use serde_json::{Map, Value, json};

use crate::error::SpecError;
use crate::handover::Nanos;
use crate::slotset::SlotSet;

/// The version of the text. A reader refuses a newer one; fields that it does not know it ignores.
const VERSION: u64 = 1;
const NANOS: f64 = 1e9;

/// What a shard is up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It takes its share.
    Active,
    /// It is going for good, and hands its slots over: no ring counts it.
    Leaving,
    /// It has stopped and will be back: rings count it for this long after its last word.
    Restarting(Nanos),
    /// It is gone for good.
    Released,
}

impl State {
    /// The word for it, in the Lease and for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Leaving => "leaving",
            Self::Restarting(_) => "restarting",
            Self::Released => "released",
        }
    }
}

/// The content of a shard's Lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// Which process of this name wrote it.
    pub incarnation: String,
    /// The number of the write, counted by that process.
    pub sequence: u64,
    /// How many slots there are.
    pub slots: u16,
    /// How long the Lease counts when it is not renewed.
    pub duration: Nanos,
    /// What the shard is up to.
    pub state: State,
    /// The ring that it follows; empty before it knows one.
    pub ring: String,
    /// The slots that it acts on or claims: nobody else may start on them.
    pub holds: SlotSet,
    /// The slots of its share that it has warmed and waits for.
    pub ready: SlotSet,
    /// The slots that it acts on. For people: no decision is taken on it.
    pub acts: SlotSet,
}

impl Record {
    /// The text to publish: JSON.
    pub fn encode(&self) -> String {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| fields.insert(name.into(), value);
        put("v", json!(VERSION));
        put("incarnation", json!(self.incarnation));
        put("sequence", json!(self.sequence));
        put("slots", json!(self.slots));
        put("duration", json!(seconds(self.duration)));
        put("state", json!(self.state.name()));
        if let State::Restarting(hold) = self.state {
            put("hold", json!(seconds(hold)));
        }
        put("ring", json!(self.ring));
        put("holds", json!(self.holds.to_string()));
        put("ready", json!(self.ready.to_string()));
        put("acts", json!(self.acts.to_string()));
        Value::Object(fields).to_string()
    }

    /// Reads a published text. The error names the field.
    pub fn decode(text: &str) -> Result<Self, SpecError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| SpecError::new(format!("shard record: no JSON: {error}")))?;
        let fields = Fields(
            value
                .as_object()
                .ok_or_else(|| SpecError::new("shard record: no JSON object"))?,
        );
        let version = fields.number("v")?;
        if version != VERSION {
            return Err(SpecError::new(format!(
                "shard record: v: {version} is not known here (this is version {VERSION}); run one version of openclaw"
            )));
        }
        let state = match fields.text("state")? {
            "active" => State::Active,
            "leaving" => State::Leaving,
            "restarting" => State::Restarting(fields.time("hold")?),
            "released" => State::Released,
            other => {
                return Err(SpecError::new(format!(
                    "shard record: state: {other:?} is not known here"
                )));
            }
        };
        let slots = fields.number("slots")?;
        let slots = u16::try_from(slots)
            .ok()
            .filter(|count| (1..=SlotSet::CAPACITY).contains(count))
            .ok_or_else(|| SpecError::new(format!("shard record: slots: {slots} is not 1 to 256")))?;
        Ok(Self {
            incarnation: fields.text("incarnation")?.into(),
            sequence: fields.number("sequence")?,
            slots,
            duration: fields.time("duration")?,
            state,
            ring: fields.text("ring")?.into(),
            holds: fields.set("holds")?,
            ready: fields.set("ready")?,
            acts: fields.set("acts")?,
        })
    }
}

struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get<T>(
        &self,
        name: &str,
        kind: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, SpecError> {
        let value = self.0.get(name);
        value
            .and_then(read)
            .ok_or_else(|| SpecError::new(format!("shard record: {name}: {kind} is wanted")))
    }

    fn text(&self, name: &str) -> Result<&'a str, SpecError> {
        self.get(name, "a text", Value::as_str)
    }

    fn number(&self, name: &str) -> Result<u64, SpecError> {
        self.get(name, "a whole number", Value::as_u64)
    }

    fn time(&self, name: &str) -> Result<Nanos, SpecError> {
        self.get(name, "a number of seconds", |value| {
            value.as_f64().and_then(nanos)
        })
    }

    fn set(&self, name: &str) -> Result<SlotSet, SpecError> {
        let text = self.text(name)?;
        text.parse()
            .map_err(|error| SpecError::new(format!("shard record: {name}: {error}")))
    }
}

/// Nanoseconds as seconds.
#[allow(clippy::cast_precision_loss)] // 2^53 ns are 104 days, and what is lost then is below a microsecond
pub fn seconds(time: Nanos) -> f64 {
    time as f64 / NANOS
}

/// Seconds as nanoseconds; None when negative, not finite or beyond a century.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn nanos(seconds: f64) -> Option<Nanos> {
    (0.0..=3.2e9)
        .contains(&seconds)
        .then(|| (seconds * NANOS).round() as Nanos)
}
