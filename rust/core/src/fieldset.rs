//! `FieldsV1`: the fields that one manager owns, as managedFields tells.

use bumpalo::Bump;

use crate::error::SpecError;
use crate::node::{Members, Node, find, member};

/// The owned fields under one place, and how the place's own list or map is put together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Owned<'a> {
    /// `f:` children: the fields of a map, sorted.
    pub(crate) fields: &'a [(&'a str, Owned<'a>)],
    /// `k:` children: the items of a list map, by their keys.
    pub(crate) items: &'a [(Members<'a>, Owned<'a>)],
    /// `v:` children: the values of a set.
    pub(crate) values: &'a [Node<'a>],
    /// `i:` children: the items of a list, by place.
    pub(crate) places: &'a [(usize, Owned<'a>)],
}

impl Owned<'static> {
    /// No field at all.
    pub(crate) const NOTHING: Self = Self {
        fields: &[],
        items: &[],
        values: &[],
        places: &[],
    };
}

impl<'a> Owned<'a> {
    /// What `manager`'s server-side apply of the whole object owns; `None` when it has no entry in the live object.
    pub(crate) fn of_manager(
        live: Members<'a>,
        manager: &str,
        arena: &'a Bump,
    ) -> Result<Option<Self>, SpecError> {
        let entries = member(live, "metadata").and_then(|metadata| metadata.get("managedFields"));
        let Some(Node::List(entries)) = entries else {
            return Ok(None);
        };
        let mut owned: Option<Members<'a>> = None;
        let wrong = |why| {
            SpecError::new(format!(
                "live: metadata.managedFields of manager {manager:?}: {why}"
            ))
        };
        for entry in entries {
            let text = |key: &str| entry.get(key).and_then(Node::text).unwrap_or_default();
            if text("manager") != manager || text("operation") != "Apply" || !text("subresource").is_empty() {
                continue;
            }
            let fields = members(entry.get("fieldsV1").unwrap_or(Node::Null)).map_err(wrong)?;
            // One entry an API version: together they are what the manager owns.
            owned = Some(match owned {
                None => fields,
                Some(known) => union(known, fields, arena),
            });
        }
        owned
            .map(|fields| Self::read(fields, arena).map_err(wrong))
            .transpose()
    }

    /// Whether only the place itself is owned, or an atomic whole.
    pub(crate) fn is_leaf(&self) -> bool {
        self.fields.is_empty() && self.items.is_empty() && self.values.is_empty() && self.places.is_empty()
    }

    /// What is owned of a field.
    pub(crate) fn field(&self, key: &str) -> Option<&'a Self> {
        find(self.fields, key)
    }

    /// What is owned of the list's item at a place.
    pub(crate) fn place(&self, place: usize) -> Option<&'a Self> {
        self.places
            .iter()
            .find(|(known, _)| *known == place)
            .map(|(_, owned)| owned)
    }

    fn read(children: Members<'a>, arena: &'a Bump) -> Result<Self, String> {
        let mut owned = Self::default();
        let mut rest = match children {
            [(".", _), rest @ ..] => rest,
            all => all,
        };
        // They are sorted, so children of a kind are together.
        while let Some((key, _)) = rest.first() {
            let kind = key.get(..2).unwrap_or_default();
            let count = rest.iter().take_while(|(key, _)| key.starts_with(kind)).count();
            let (these, others) = rest.split_at(count);
            match kind {
                "f:" => {
                    let read = |(key, below): &(&'a str, _)| Ok((bare(key), Self::below(*below, arena)?));
                    owned.fields = collect(these, read, arena)?;
                }
                "k:" => {
                    let read = |(key, below): &(&'a str, _)| {
                        let keys = Node::parse(bare(key).as_bytes(), arena).ok();
                        let keys = keys.and_then(Node::members);
                        let keys = keys.ok_or_else(|| format!("{key:?} is no item key"))?;
                        Ok((keys, Self::below(*below, arena)?))
                    };
                    owned.items = collect(these, read, arena)?;
                }
                "v:" => {
                    let read = |(key, _): &(&'a str, _)| {
                        let value = Node::parse(bare(key).as_bytes(), arena);
                        value.map_err(|_| format!("{key:?} is no value"))
                    };
                    owned.values = collect(these, read, arena)?;
                }
                "i:" => {
                    let read = |(key, below): &(&'a str, _)| {
                        let place = bare(key).parse();
                        let place = place.map_err(|_| format!("{key:?} is no place in a list"))?;
                        Ok((place, Self::below(*below, arena)?))
                    };
                    let mut places = collect(these, read, arena)?.to_vec();
                    places.sort_by_key(|(place, _)| *place);
                    owned.places = arena.alloc_slice_copy(&places);
                }
                _ => return Err(format!("{key:?} is no path element")),
            }
            rest = others;
        }
        Ok(owned)
    }

    fn below(node: Node<'a>, arena: &'a Bump) -> Result<Self, String> {
        match members(node)? {
            [] => Ok(Self::default()),
            members => Self::read(members, arena),
        }
    }
}

/// A path element without what tells its kind.
fn bare(key: &str) -> &str {
    key.get(2..).unwrap_or_default()
}

fn members(node: Node<'_>) -> Result<Members<'_>, String> {
    match node {
        Node::Null => Ok(&[]),
        Node::Map(members) => Ok(members),
        other => Err(format!("{other} is no field set")),
    }
}

fn collect<'a, T>(
    children: Members<'a>,
    read: impl FnMut(&(&'a str, Node<'a>)) -> Result<T, String>,
    arena: &'a Bump,
) -> Result<&'a [T], String> {
    Ok(arena.alloc_slice_try_fill_iter(children.iter().map(read))?)
}

/// The fields of two field sets.
fn union<'a>(left: Members<'a>, right: Members<'a>, arena: &'a Bump) -> Members<'a> {
    let mut all = left.to_vec();
    for (key, below) in right {
        match all.binary_search_by(|(known, _)| known.cmp(key)) {
            Err(at) => all.insert(at, (key, *below)),
            Ok(at) => {
                if let (Some((_, known)), Some(below)) = (all.get_mut(at), below.members()) {
                    *known = Node::Map(union(known.members().unwrap_or_default(), below, arena));
                }
            }
        }
    }
    arena.alloc_slice_copy(&all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// What a test looks at, as long as the arena is there.
    fn read<T>(
        live: &Value,
        manager: &str,
        look: impl FnOnce(Result<Option<Owned<'_>>, SpecError>) -> T,
    ) -> T {
        let (text, arena) = (live.to_string(), Bump::new());
        let live = Node::parse(text.as_bytes(), &arena).unwrap();
        look(Owned::of_manager(live.members().unwrap(), manager, &arena))
    }

    fn live(entries: &Value) -> Value {
        json!({"metadata": {"managedFields": entries}})
    }

    #[test]
    fn only_our_apply_of_the_whole_object_counts() {
        let fields =
            |name: &str| json!({"f:spec": {format!("f:{name}"): {}, "f:both": {format!("f:{name}"): {}}}});
        let entries = json!([
            {"manager": "us", "operation": "Update", "fieldsV1": fields("update")},
            {"manager": "us", "operation": "Apply", "subresource": "status", "fieldsV1": fields("status")},
            {"manager": "them", "operation": "Apply", "fieldsV1": fields("them")},
            {"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields("one")},
            {"manager": "us", "operation": "Apply", "apiVersion": "v2", "fieldsV1": fields("two")},
        ]);
        read(&live(&entries), "us", |owned| {
            let owned = owned.unwrap().unwrap();
            let names = |owned: &Owned<'_>| {
                owned
                    .fields
                    .iter()
                    .map(|(key, _)| (*key).to_owned())
                    .collect::<Vec<_>>()
            };
            let spec = owned.field("spec").unwrap();
            assert_eq!(names(spec), ["both", "one", "two"]);
            assert_eq!(names(spec.field("both").unwrap()), ["one", "two"]);
        });
        read(&live(&entries), "nobody", |owned| assert_eq!(owned, Ok(None)));
        read(&json!({}), "us", |owned| assert_eq!(owned, Ok(None)));
    }

    #[test]
    fn each_kind_of_element_is_read() {
        let entries = json!([{"manager": "us", "operation": "Apply", "fieldsV1": {
            "f:m": {".": {}, "f:with:colon": {}},
            "f:l": {"k:{\"name\":\"a:b\",\"port\":80}": {".": {}, "f:image": {}}},
            "f:s": {"v:\"x\"": {}, "v:3": {}},
            "f:p": {"i:10": {}, "i:2": {"f:x": {}}},
        }}]);
        read(&live(&entries), "us", |owned| {
            let owned = owned.unwrap().unwrap();
            let field = |name: &str| owned.field(name).unwrap();
            assert!(field("m").field("with:colon").unwrap().is_leaf());
            let (keys, item) = &field("l").items[0];
            assert_eq!(Node::Map(keys).to_string(), r#"{"name":"a:b","port":80}"#);
            assert!(item.field("image").is_some());
            assert_eq!(field("s").values, [Node::Text("x"), Node::Number("3")]);
            assert!(field("p").place(2).unwrap().field("x").is_some());
            assert_eq!(field("p").places[1].0, 10);
        });
    }

    #[test]
    fn nonsense_is_refused_with_its_name() {
        for key in ["x:a", "k:[", "k:[]", "v:x", "i:-1", "f", "é", ""] {
            let entries = json!([{"manager": "us", "operation": "Apply", "fieldsV1": {key: {}}}]);
            read(&live(&entries), "us", |owned| {
                assert!(owned.unwrap_err().to_string().contains(key), "{key}");
            });
        }
        let entries = json!([{"manager": "us", "operation": "Apply", "fieldsV1": {"f:a": 3}}]);
        read(&live(&entries), "us", |owned| assert!(owned.is_err()));
    }
}
