//! The path of the value at hand, written for people: `spec.containers[name=web].ports[containerPort=80,protocol=TCP]`.

use std::fmt;

use serde_json::Value;

#[derive(Debug)]
enum Step {
    Field(String),
    Item(Vec<(String, Value)>),
    Value(Value),
    Place(usize),
}

/// A path from the root of an object.
#[derive(Debug, Default)]
pub(crate) struct Trail(Vec<Step>);

impl Trail {
    pub(crate) fn field(&mut self, key: &str) {
        self.0.push(Step::Field(key.to_owned()));
    }

    /// An item of a list map, by those of its keys that it gives.
    pub(crate) fn item(&mut self, item: &Value, keys: &[&str]) {
        let given = keys
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone())))
            .collect();
        self.0.push(Step::Item(given));
    }

    pub(crate) fn value(&mut self, value: &Value) {
        self.0.push(Step::Value(value.clone()));
    }

    pub(crate) fn place(&mut self, at: usize) {
        self.0.push(Step::Place(at));
    }

    pub(crate) fn leave(&mut self) {
        self.0.pop();
    }

    /// The fields from the root to here, when there are only fields and at most two of them.
    pub(crate) fn fields(&self) -> Option<Vec<&str>> {
        if self.0.len() > 2 {
            return None;
        }
        self.0
            .iter()
            .map(|step| match step {
                Step::Field(key) => Some(key.as_str()),
                _ => None,
            })
            .collect()
    }
}

impl fmt::Display for Trail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(key) if key.contains(['.', '/', '[', ']', '"', ' ']) || key.is_empty() => {
                    write!(out, "[{}]", Value::from(key.as_str()))?;
                }
                Step::Field(key) if at == 0 => out.write_str(key)?,
                Step::Field(key) => write!(out, ".{key}")?,
                Step::Value(value) => write!(out, "[{value}]")?,
                Step::Place(place) => write!(out, "[{place}]")?,
                Step::Item(keys) => {
                    out.write_str("[")?;
                    for (at, (key, value)) in keys.iter().enumerate() {
                        let comma = if at == 0 { "" } else { "," };
                        match value {
                            Value::String(text) => write!(out, "{comma}{key}={text}")?,
                            other => write!(out, "{comma}{key}={other}")?,
                        }
                    }
                    out.write_str("]")?;
                }
            }
        }
        Ok(())
    }
}
