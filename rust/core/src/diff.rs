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

use bumpalo::Bump;

use crate::error::SpecError;
use crate::fieldset::Owned;
use crate::node::{Members, Node, member};
use crate::same::{Place, same, same_lists, same_maps};
use crate::secret::show_string_data;
use crate::trail::Trail;

/// By what an ownerReference is known, where no field set says it.
const BY_UID: Members<'static> = &[("uid", Node::Null)];

/// Compares an intent with the live object; an empty list means that nothing is to be applied.
///
/// Each line says what an apply by `manager` would change, see the module's table. When the live object has no entry of
/// the manager's apply at all, the one line is `metadata.managedFields[manager=…]`.
pub fn diff(intent: &[u8], live: &[u8], manager: &str) -> Result<Vec<String>, SpecError> {
    let arena = Bump::with_capacity(2 * (intent.len() + live.len()));
    let intent = object(intent, "intent", &arena)?;
    let live = object(live, "live", &arena)?;
    let live = show_string_data(intent, live, &arena);
    let Some(owned) = Owned::of_manager(live, manager, &arena)? else {
        return Ok(vec![format!("metadata.managedFields[manager={manager}]")]);
    };
    let mut diff = Diff {
        trail: Trail::default(),
        lines: Vec::new(),
    };
    diff.map(intent, live, Some(&owned), Place::default());
    Ok(diff.lines)
}

fn object<'a>(document: &'a [u8], what: &str, arena: &'a Bump) -> Result<Members<'a>, SpecError> {
    let node = Node::parse_without(document, Some("status"), arena).map_err(|_| {
        let why = serde_json::from_slice::<serde_json::Value>(document);
        let why = why.err().map_or_else(String::new, |why| format!(": {why}"));
        SpecError::new(format!("{what}: no JSON{why}"))
    })?;
    node.members()
        .ok_or_else(|| SpecError::new(format!("{what}: must be a JSON object")))
}

struct Diff<'a> {
    trail: Trail<'a>,
    lines: Vec<String>,
}

impl<'a> Diff<'a> {
    fn report(&mut self, sign: char) {
        self.lines.push(format!("{sign} {}", self.trail));
    }

    /// Fields that are the object's identity or the server's own, at this depth.
    fn ignored(&self, key: &str) -> bool {
        if self.trail.is_root() {
            return matches!(key, "apiVersion" | "kind" | "status");
        }
        self.trail.is_metadata()
            && matches!(
                key,
                "name"
                    | "namespace"
                    | "managedFields"
                    | "resourceVersion"
                    | "uid"
                    | "creationTimestamp"
                    | "generation"
            )
    }

    fn map(&mut self, intent: Members<'a>, live: Members<'a>, owned: Option<&'a Owned<'a>>, place: Place) {
        for &(key, wanted) in intent {
            if wanted.is_null() || self.ignored(key) {
                continue;
            }
            let below = owned.and_then(|owned| owned.field(key));
            self.trail.field(key);
            self.value(wanted, member(live, key), below, place.enter(key));
            self.trail.leave();
        }
        for (key, _) in owned.into_iter().flat_map(|owned| owned.fields) {
            if member(intent, key).is_none() && !self.ignored(key) {
                self.trail.field(key);
                self.report('-');
                self.trail.leave();
            }
        }
    }

    fn value(
        &mut self,
        wanted: Node<'a>,
        found: Option<Node<'a>>,
        owned: Option<&'a Owned<'a>>,
        place: Place,
    ) {
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
            (Node::Map(wanted), Node::Map(found)) => self.object(wanted, found, owned, place),
            (Node::List(wanted), Node::List(found)) => self.array(wanted, found, owned, place),
            _ => self.whole(same(wanted, found, place), owned),
        }
    }

    /// A value compared as a whole.
    fn whole(&mut self, equal: bool, owned: Option<&'a Owned<'a>>) {
        if !equal {
            self.report('~');
        } else if owned.is_none() {
            self.report('@');
        }
    }

    fn object(
        &mut self,
        wanted: Members<'a>,
        found: Members<'a>,
        owned: Option<&'a Owned<'a>>,
        place: Place,
    ) {
        let empty = is_empty(Node::Map(wanted));
        match owned {
            None if empty => self.report('@'),
            // Owned as a leaf: an atomic map, or a map that was empty when it was applied.
            Some(leaf) if leaf.is_leaf() => {
                if !empty && !same_maps(wanted, found, place) {
                    self.report('~');
                }
            }
            _ => self.map(wanted, found, owned, place),
        }
    }

    fn array(
        &mut self,
        wanted: &'a [Node<'a>],
        found: &'a [Node<'a>],
        owned: Option<&'a Owned<'a>>,
        place: Place,
    ) {
        match owned {
            Some(owned) if !owned.items.is_empty() => {
                let keys = owned.items.first().map_or(BY_UID, |(keys, _)| keys);
                self.list_map(wanted, found, owned, keys, place);
            }
            Some(owned) if !owned.values.is_empty() => self.set(wanted, found, owned.values),
            Some(owned) if !owned.places.is_empty() => self.by_place(wanted, found, owned, place),
            None if self.trail.is_in_metadata("ownerReferences") => {
                self.list_map(wanted, found, &Owned::NOTHING, BY_UID, place);
            }
            None if self.trail.is_in_metadata("finalizers") => self.set(wanted, found, &[]),
            _ => self.whole(same_lists(wanted, found, place), owned),
        }
    }
}

fn is_empty(node: Node<'_>) -> bool {
    match node {
        Node::Map(members) => members.iter().all(|(_, value)| value.is_null()),
        Node::List(items) => items.is_empty(),
        _ => false,
    }
}

impl<'a> Diff<'a> {
    fn set(&mut self, wanted: &'a [Node<'a>], found: &'a [Node<'a>], owned: &'a [Node<'a>]) {
        for &value in wanted {
            let sign = if !contains(found, value) {
                '+'
            } else if !contains(owned, value) {
                '@'
            } else {
                continue;
            };
            self.trail.value(value);
            self.report(sign);
            self.trail.leave();
        }
        for &value in owned {
            if !contains(wanted, value) {
                self.trail.value(value);
                self.report('-');
                self.trail.leave();
            }
        }
    }

    fn by_place(
        &mut self,
        wanted: &'a [Node<'a>],
        found: &'a [Node<'a>],
        owned: &'a Owned<'a>,
        place: Place,
    ) {
        for (at, &value) in wanted.iter().enumerate() {
            self.trail.place(at);
            self.value(value, found.get(at).copied(), owned.place(at), place);
            self.trail.leave();
        }
        for &(at, _) in owned.places {
            if at >= wanted.len() {
                self.trail.place(at);
                self.report('-');
                self.trail.leave();
            }
        }
    }

    /// A list whose items are known by the values of `keys`. The server may have filled in a key that the intent omits.
    fn list_map(
        &mut self,
        wanted: &'a [Node<'a>],
        found: &'a [Node<'a>],
        owned: &'a Owned<'a>,
        keys: Members<'a>,
        place: Place,
    ) {
        let mut taken = vec![false; found.len()];
        let mut used = vec![false; owned.items.len()];
        let mut missing = Vec::new();
        // Items that give all their keys choose first.
        let complete = |item: &Node<'a>| keys.iter().all(|(key, _)| item.get(key).is_some());
        let whole = wanted.iter().filter(|item| complete(item));
        let partial = wanted.iter().filter(|item| !complete(item));
        for &item in whole.chain(partial) {
            let ours = |candidate: Node<'a>| {
                let known = |(known, _): &(Members<'a>, _)| {
                    keys.iter()
                        .all(|(key, _)| equal_keys(member(known, key), candidate.get(key)))
                };
                owned.items.iter().position(known)
            };
            // Among several, the one that is ours already, and of which we did not state the keys that the item omits.
            let rank = |candidate: Node<'a>| match ours(candidate) {
                None => 2,
                Some(at) => {
                    let stated = |owned: &Owned<'a>| {
                        keys.iter()
                            .any(|(key, _)| item.get(key).is_none() && owned.field(key).is_some())
                    };
                    usize::from(owned.items.get(at).is_some_and(|(_, owned)| stated(owned)))
                }
            };
            let chosen = found
                .iter()
                .enumerate()
                .filter(|&(at, candidate)| taken.get(at) == Some(&false) && fits(item, *candidate, keys))
                .min_by_key(|(_, candidate)| rank(**candidate));
            self.trail.item(item, keys);
            if let Some((at, &candidate)) = chosen {
                mark(&mut taken, at);
                let entry = ours(candidate).and_then(|at| {
                    mark(&mut used, at);
                    owned.items.get(at)
                });
                self.item(item, candidate, entry.map(|(_, owned)| owned), keys, place);
            } else {
                missing.push(item);
                self.report('+');
            }
            self.trail.leave();
        }
        for (&(known, _), used) in owned.items.iter().zip(used) {
            let known = Node::Map(known);
            if !used && !missing.iter().any(|item| fits(*item, known, keys)) {
                self.trail.item(known, keys);
                self.report('-');
                self.trail.leave();
            }
        }
    }

    fn item(
        &mut self,
        wanted: Node<'a>,
        found: Node<'a>,
        owned: Option<&'a Owned<'a>>,
        keys: Members<'a>,
        place: Place,
    ) {
        match (wanted, owned) {
            (Node::Map(fields), Some(owned)) if !owned.is_leaf() => {
                self.map(fields, found.members().unwrap_or_default(), Some(owned), place);
            }
            (Node::Map(fields), None) => {
                // Keys are how the item was found; what is told is that the item is not ours.
                self.report('@');
                let before = self.lines.len();
                for &(key, value) in fields {
                    if !value.is_null() && !names(keys, key) {
                        self.trail.field(key);
                        self.value(value, found.get(key), None, place.enter(key));
                        self.trail.leave();
                    }
                }
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

fn mark(flags: &mut [bool], at: usize) {
    if let Some(flag) = flags.get_mut(at) {
        *flag = true;
    }
}

/// Whether one of the keys has this name.
fn names(keys: Members<'_>, name: &str) -> bool {
    keys.iter().any(|(key, _)| *key == name)
}

/// Whether an item has the key's value that our entry names.
fn equal_keys(known: Option<Node<'_>>, given: Option<Node<'_>>) -> bool {
    match (known, given) {
        (Some(known), Some(given)) => same(known, given, Place::default()),
        (None, None) => true,
        _ => false,
    }
}

/// Whether the item agrees with the candidate in every key that it gives, and gives one at least.
fn fits(item: Node<'_>, candidate: Node<'_>, keys: Members<'_>) -> bool {
    let mut any = false;
    keys.iter().all(|(key, _)| {
        item.get(key).is_none_or(|value| {
            any = true;
            candidate
                .get(key)
                .is_some_and(|other| same(value, other, Place::default()))
        })
    }) && any
}

fn contains(list: &[Node<'_>], value: Node<'_>) -> bool {
    list.iter().any(|other| same(*other, value, Place::default()))
}
