//! The diff: does the live object contain the intent, and do we own what the intent no longer has?
//!
//! Our managedFields entry says how lists are meant: `k:` children make a list map, `v:` a set, `i:` a list by place; a
//! field owned as a leaf is a scalar or an atomic whole. Each line of the result is a sign, a blank and a path:
//!
//! | sign | meaning |
//! |---|---|
//! | `+` | the intent has it, the live object lacks it |
//! | `~` | the live object has another value |
//! | `-` | our entry owns it, the intent has it no more |
//! | `@` | the live object has it, but our entry does not own it |

use serde_json::{Map, Value};

use crate::error::SpecError;
use crate::fieldset::Owned;
use crate::same::{Place, same};
use crate::secret::show_string_data;
use crate::trail::Trail;

/// Compares an intent with the live object; an empty list means that nothing is to be applied.
///
/// Each line says what an apply by `manager` would change, see the module's table. When the live object has no entry of
/// the manager's apply at all, the one line is `metadata.managedFields[manager=…]`.
pub fn diff(intent: &[u8], live: &[u8], manager: &str) -> Result<Vec<String>, SpecError> {
    let intent = object(intent, "intent")?;
    let mut live = object(live, "live")?;
    show_string_data(&intent, &mut live);
    let Some(owned) = Owned::of_manager(&live, manager)? else {
        return Ok(vec![format!("metadata.managedFields[manager={manager}]")]);
    };
    let mut diff = Diff {
        trail: Trail::default(),
        lines: Vec::new(),
    };
    if let Value::Object(fields) = &intent {
        diff.map(fields, &live, Some(&owned), Place::default());
    }
    Ok(diff.lines)
}

fn object(document: &[u8], what: &str) -> Result<Value, SpecError> {
    let value: Value = serde_json::from_slice(document)
        .map_err(|error| SpecError::new(format!("{what}: no JSON: {error}")))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(SpecError::new(format!("{what}: must be a JSON object")))
    }
}

struct Diff {
    trail: Trail,
    lines: Vec<String>,
}

impl Diff {
    fn report(&mut self, sign: char) {
        self.lines.push(format!("{sign} {}", self.trail));
    }

    /// Fields that are the object's identity or the server's own, at this depth.
    fn ignored(&self, key: &str) -> bool {
        match self.trail.fields().as_deref() {
            Some([]) => matches!(key, "apiVersion" | "kind" | "status"),
            Some(["metadata"]) => matches!(
                key,
                "name"
                    | "namespace"
                    | "managedFields"
                    | "resourceVersion"
                    | "uid"
                    | "creationTimestamp"
                    | "generation"
            ),
            _ => false,
        }
    }

    fn map(&mut self, intent: &Map<String, Value>, live: &Value, owned: Option<&Owned>, place: Place) {
        for (key, wanted) in intent {
            if wanted.is_null() || self.ignored(key) {
                continue;
            }
            let found = live.get(key).filter(|value| !value.is_null());
            let below = owned.and_then(|owned| owned.fields.get(key));
            self.trail.field(key);
            self.value(wanted, found, below, place.enter(key));
            self.trail.leave();
        }
        let gone = |key: &str| intent.get(key).is_none_or(Value::is_null);
        for key in owned.into_iter().flat_map(|owned| owned.fields.keys()) {
            if gone(key) && !self.ignored(key) {
                self.trail.field(key);
                self.report('-');
                self.trail.leave();
            }
        }
    }

    fn value(&mut self, wanted: &Value, found: Option<&Value>, owned: Option<&Owned>, place: Place) {
        let Some(found) = found else {
            // The server drops empty maps and lists of typed fields, owned or not: to apply them again changes nothing.
            if !is_empty(wanted) {
                self.report('+');
            } else if owned.is_some_and(|owned| !owned.is_leaf()) {
                self.report('-');
            }
            return;
        };
        match (wanted, found) {
            (Value::Object(wanted), Value::Object(_)) => {
                self.object(wanted, found, owned, place);
            }
            (Value::Array(wanted), Value::Array(found)) => {
                self.array(wanted, found, owned, place);
            }
            _ => self.whole(same(wanted, found, place), owned),
        }
    }

    /// A value compared as a whole.
    fn whole(&mut self, equal: bool, owned: Option<&Owned>) {
        if !equal {
            self.report('~');
        } else if owned.is_none() {
            self.report('@');
        }
    }

    fn object(&mut self, wanted: &Map<String, Value>, found: &Value, owned: Option<&Owned>, place: Place) {
        let empty = wanted.values().all(Value::is_null);
        match owned {
            None if empty => self.report('@'),
            // Owned as a leaf: an atomic map, or a map that was empty when it was applied.
            Some(leaf) if leaf.is_leaf() => {
                let wanted = Value::Object(wanted.clone());
                if !empty && !same(&wanted, found, place) {
                    self.report('~');
                }
            }
            _ => self.map(wanted, found, owned, place),
        }
    }

    fn array(&mut self, wanted: &[Value], found: &[Value], owned: Option<&Owned>, place: Place) {
        let none = Owned::default();
        let fields = self.trail.fields();
        let metadata = |name: &str| fields.as_deref() == Some(&["metadata", name]);
        let (references, finalizers) = (metadata("ownerReferences"), metadata("finalizers"));
        match owned {
            Some(owned) if !owned.items.is_empty() => {
                let keys: Vec<&str> = owned
                    .items
                    .first()
                    .map(|(keys, _)| keys.keys().map(String::as_str).collect())
                    .unwrap_or_default();
                self.list_map(wanted, found, owned, &keys, place);
            }
            Some(owned) if !owned.values.is_empty() => self.set(wanted, found, owned),
            Some(owned) if !owned.places.is_empty() => self.by_place(wanted, found, owned, place),
            None if references => {
                self.list_map(wanted, found, &none, &["uid"], place);
            }
            None if finalizers => self.set(wanted, found, &none),
            _ => {
                let equal =
                    wanted.len() == found.len() && wanted.iter().zip(found).all(|(w, f)| same(w, f, place));
                self.whole(equal, owned);
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.values().all(Value::is_null),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

impl Diff {
    fn set(&mut self, wanted: &[Value], found: &[Value], owned: &Owned) {
        for value in wanted {
            let sign = if !contains(found, value) {
                '+'
            } else if !contains(&owned.values, value) {
                '@'
            } else {
                continue;
            };
            self.trail.value(value);
            self.report(sign);
            self.trail.leave();
        }
        for value in &owned.values {
            if !contains(wanted, value) {
                self.trail.value(value);
                self.report('-');
                self.trail.leave();
            }
        }
    }

    fn by_place(&mut self, wanted: &[Value], found: &[Value], owned: &Owned, place: Place) {
        for (at, value) in wanted.iter().enumerate() {
            self.trail.place(at);
            self.value(value, found.get(at), owned.places.get(&at), place);
            self.trail.leave();
        }
        for &at in owned.places.keys() {
            if at >= wanted.len() {
                self.trail.place(at);
                self.report('-');
                self.trail.leave();
            }
        }
    }

    /// A list whose items are known by the values of `keys`. The server may have filled in a key that the intent omits.
    fn list_map(&mut self, wanted: &[Value], found: &[Value], owned: &Owned, keys: &[&str], place: Place) {
        let mut taken = vec![false; found.len()];
        let mut used = vec![false; owned.items.len()];
        let mut missing = Vec::new();
        // Items that give all their keys choose first.
        let complete = |item: &&Value| keys.iter().all(|key| given(item, key).is_some());
        let (whole, partial): (Vec<&Value>, Vec<&Value>) = wanted.iter().partition(complete);
        for item in whole.into_iter().chain(partial) {
            let ours = |candidate: &Value| {
                owned
                    .items
                    .iter()
                    .position(|(known, _)| keys.iter().all(|key| known.get(*key) == given(candidate, key)))
            };
            let mut matches: Vec<usize> = (0..found.len())
                .filter(|&at| {
                    taken.get(at) == Some(&false)
                        && found.get(at).is_some_and(|candidate| fits(item, candidate, keys))
                })
                .collect();
            // Among several, the one that is ours already, and of which we did not state the keys that the item omits.
            let foreign = |at: usize| found.get(at).and_then(ours).is_none();
            let stated = |at: usize| {
                let entry = found.get(at).and_then(ours).and_then(|at| owned.items.get(at));
                entry.is_some_and(|(_, owned)| {
                    keys.iter()
                        .any(|key| given(item, key).is_none() && owned.fields.contains_key(*key))
                })
            };
            matches.sort_by_key(|&at| (foreign(at), stated(at)));
            let chosen = matches.first().and_then(|&at| Some((at, found.get(at)?)));
            self.trail.item(item, keys);
            if let Some((at, candidate)) = chosen {
                if let Some(flag) = taken.get_mut(at) {
                    *flag = true;
                }
                let entry = ours(candidate).and_then(|at| {
                    if let Some(flag) = used.get_mut(at) {
                        *flag = true;
                    }
                    owned.items.get(at)
                });
                self.item(item, candidate, entry.map(|(_, owned)| owned), keys, place);
            } else {
                missing.push(item);
                self.report('+');
            }
            self.trail.leave();
        }
        for ((known, _), used) in owned.items.iter().zip(used) {
            let known = Value::Object(known.clone());
            if !used && !missing.iter().any(|item| fits(item, &known, keys)) {
                self.trail.item(&known, keys);
                self.report('-');
                self.trail.leave();
            }
        }
    }

    fn item(&mut self, wanted: &Value, found: &Value, owned: Option<&Owned>, keys: &[&str], place: Place) {
        match (wanted, owned) {
            (Value::Object(fields), Some(owned)) if !owned.is_leaf() => {
                self.map(fields, found, Some(owned), place);
            }
            (Value::Object(fields), None) => {
                // Keys are how the item was found; what is told is that the item is not ours.
                self.report('@');
                let rest: Map<String, Value> = fields
                    .iter()
                    .filter(|(key, _)| !keys.contains(&key.as_str()))
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                let before = self.lines.len();
                self.map(&rest, found, None, place);
                let mut at = 0;
                self.lines.retain(|line| {
                    at += 1;
                    at <= before || !line.starts_with('@')
                });
            }
            _ => self.whole(same(wanted, found, place), owned),
        }
    }
}

/// The value that an item gives for one of its keys.
fn given<'a>(item: &'a Value, key: &str) -> Option<&'a Value> {
    item.get(key).filter(|value| !value.is_null())
}

/// Whether the item agrees with the candidate in every key that it gives, and gives one at least.
fn fits(item: &Value, candidate: &Value, keys: &[&str]) -> bool {
    let mut any = false;
    keys.iter().all(|key| {
        given(item, key).is_none_or(|value| {
            any = true;
            candidate
                .get(*key)
                .is_some_and(|other| same(value, other, Place::default()))
        })
    }) && any
}

fn contains(list: &[Value], value: &Value) -> bool {
    list.iter().any(|other| same(value, other, Place::default()))
}
