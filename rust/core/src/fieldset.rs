//! `FieldsV1`: the fields that one manager owns, as managedFields tells.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::SpecError;

/// The owned fields under one place, and how the place's own list or map is put together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Owned {
    /// `f:` children: the fields of a map.
    pub(crate) fields: BTreeMap<String, Owned>,
    /// `k:` children: the items of a list map, by their keys.
    pub(crate) items: Vec<(Map<String, Value>, Owned)>,
    /// `v:` children: the values of a set.
    pub(crate) values: Vec<Value>,
    /// `i:` children: the items of a list, by place.
    pub(crate) places: BTreeMap<usize, Owned>,
}

impl Owned {
    /// What `manager`'s server-side apply of the whole object owns; `None` when it has no entry in the live object.
    pub(crate) fn of_manager(live: &Value, manager: &str) -> Result<Option<Self>, SpecError> {
        let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
        let mut owned: Option<Self> = None;
        for entry in entries.into_iter().flatten() {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            if text("manager") != manager || text("operation") != "Apply" || !text("subresource").is_empty() {
                continue;
            }
            // One entry an API version: together they are what the manager owns.
            let fields = entry.get("fieldsV1").unwrap_or(&Value::Null);
            owned.get_or_insert_default().add(fields).map_err(|why| {
                SpecError::new(format!(
                    "live: metadata.managedFields of manager {manager:?}: {why}"
                ))
            })?;
        }
        Ok(owned)
    }

    /// Whether only the place itself is owned, or an atomic whole.
    pub(crate) fn is_leaf(&self) -> bool {
        self.fields.is_empty() && self.items.is_empty() && self.values.is_empty() && self.places.is_empty()
    }

    fn add(&mut self, fields: &Value) -> Result<(), String> {
        let members = match fields {
            Value::Null => return Ok(()),
            Value::Object(members) => members,
            other => return Err(format!("{other} is no field set")),
        };
        for (key, below) in members {
            if key == "." {
                continue;
            }
            let (kind, rest) = key.split_once(':').unwrap_or(("", key));
            match kind {
                "f" => self.fields.entry(rest.to_owned()).or_default().add(below)?,
                "k" => {
                    let keys = serde_json::from_str(rest).map_err(|_| format!("{key:?} is no item key"))?;
                    let known = self.items.iter_mut().find(|(known, _)| *known == keys);
                    if let Some((_, owned)) = known {
                        owned.add(below)?;
                    } else {
                        let mut owned = Self::default();
                        owned.add(below)?;
                        self.items.push((keys, owned));
                    }
                }
                "v" => {
                    let value = serde_json::from_str(rest).map_err(|_| format!("{key:?} is no value"))?;
                    if !self.values.contains(&value) {
                        self.values.push(value);
                    }
                }
                "i" => {
                    let place = rest
                        .parse()
                        .map_err(|_| format!("{key:?} is no place in a list"))?;
                    self.places.entry(place).or_default().add(below)?;
                }
                _ => return Err(format!("{key:?} is no path element")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn live(entries: &Value) -> Value {
        json!({"metadata": {"managedFields": entries}})
    }

    #[test]
    fn only_our_apply_of_the_whole_object_counts() {
        let fields = |name: &str| json!({"f:spec": {format!("f:{name}"): {}}});
        let entries = json!([
            {"manager": "us", "operation": "Update", "fieldsV1": fields("update")},
            {"manager": "us", "operation": "Apply", "subresource": "status", "fieldsV1": fields("status")},
            {"manager": "them", "operation": "Apply", "fieldsV1": fields("them")},
            {"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields("one")},
            {"manager": "us", "operation": "Apply", "apiVersion": "v2", "fieldsV1": fields("two")},
        ]);
        let owned = Owned::of_manager(&live(&entries), "us").unwrap().unwrap();
        let names: Vec<_> = owned.fields["spec"].fields.keys().collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(Owned::of_manager(&live(&entries), "nobody"), Ok(None));
        assert_eq!(Owned::of_manager(&json!({}), "us"), Ok(None));
    }

    #[test]
    fn each_kind_of_element_is_read() {
        let entries = json!([{"manager": "us", "operation": "Apply", "fieldsV1": {
            "f:m": {".": {}, "f:with:colon": {}},
            "f:l": {"k:{\"name\":\"a:b\",\"port\":80}": {".": {}, "f:image": {}}},
            "f:s": {"v:\"x\"": {}, "v:3": {}},
            "f:p": {"i:2": {"f:x": {}}},
        }}]);
        let owned = Owned::of_manager(&live(&entries), "us").unwrap().unwrap();
        assert!(owned.fields["m"].fields["with:colon"].is_leaf());
        let (keys, item) = &owned.fields["l"].items[0];
        assert_eq!(Value::from(keys.clone()), json!({"name": "a:b", "port": 80}));
        assert!(item.fields.contains_key("image"));
        assert_eq!(owned.fields["s"].values, [json!("x"), json!(3)]);
        assert!(owned.fields["p"].places[&2].fields.contains_key("x"));
    }

    #[test]
    fn nonsense_is_refused_with_its_name() {
        for key in ["x:a", "k:[", "k:[]", "v:x", "i:-1", "f"] {
            let entries = json!([{"manager": "us", "operation": "Apply", "fieldsV1": {key: {}}}]);
            let error = Owned::of_manager(&live(&entries), "us");
            assert!(error.unwrap_err().to_string().contains(key), "{key}");
        }
        let entries = json!([{"manager": "us", "operation": "Apply", "fieldsV1": {"f:a": 3}}]);
        assert!(Owned::of_manager(&live(&entries), "us").is_err());
    }
}
