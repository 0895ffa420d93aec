//! The path of the value at hand, written for people: `spec.containers[name=web].ports[containerPort=80,protocol=TCP]`.

use std::fmt;

use crate::node::{Members, Node};

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    /// An item of a list map, and the members by whose names it is known.
    Item(Node<'a>, Members<'a>),
    Value(Node<'a>),
    Place(usize),
}

/// A path from the root of an object.
#[derive(Debug, Default)]
pub(crate) struct Trail<'a>(Vec<Step<'a>>);

impl<'a> Trail<'a> {
    pub(crate) fn field(&mut self, key: &'a str) {
        self.0.push(Step::Field(key));
    }

    /// An item of a list map, by those of its keys that it gives.
    pub(crate) fn item(&mut self, item: Node<'a>, keys: Members<'a>) {
        self.0.push(Step::Item(item, keys));
    }

    pub(crate) fn value(&mut self, value: Node<'a>) {
        self.0.push(Step::Value(value));
    }

    pub(crate) fn place(&mut self, at: usize) {
        self.0.push(Step::Place(at));
    }

    pub(crate) fn leave(&mut self) {
        self.0.pop();
    }

    /// Whether this is the object itself.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is the object's metadata.
    pub(crate) fn is_metadata(&self) -> bool {
        matches!(self.0.as_slice(), [Step::Field("metadata")])
    }

    /// Whether this is a field of the object's metadata.
    pub(crate) fn is_in_metadata(&self, name: &str) -> bool {
        matches!(self.0.as_slice(), [Step::Field("metadata"), Step::Field(field)] if *field == name)
    }
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(key) if key.contains(['.', '/', '[', ']', '"', ' ']) || key.is_empty() => {
                    write!(out, "[{}]", Node::Text(key))?;
                }
                Step::Field(key) if at == 0 => out.write_str(key)?,
                Step::Field(key) => write!(out, ".{key}")?,
                Step::Value(value) => write!(out, "[{value}]")?,
                Step::Place(place) => write!(out, "[{place}]")?,
                Step::Item(item, keys) => {
                    out.write_str("[")?;
                    let given = keys.iter().filter_map(|(key, _)| Some((key, item.get(key)?)));
                    for (at, (key, value)) in given.enumerate() {
                        let comma = if at == 0 { "" } else { "," };
                        match value {
                            Node::Text(text) => write!(out, "{comma}{key}={text}")?,
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
