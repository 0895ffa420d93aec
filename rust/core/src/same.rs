//! Equality of values in Kubernetes' sense.

use serde_json::{Map, Value};

use crate::quantity::Quantity;

/// Maps whose values are quantities.
const QUANTITY_MAPS: [&str; 5] = ["limits", "requests", "capacity", "hard", "allocatable"];
/// Fields that are quantities.
const QUANTITY_FIELDS: [&str; 4] = ["sizeLimit", "divisor", "storage", "averageValue"];

/// Whether the value at a place is a quantity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The value itself.
    quantity: bool,
    /// The values of the map that is here.
    quantities: bool,
}

impl Place {
    /// The place of a field of the map that is here.
    pub(crate) fn enter(self, key: &str) -> Self {
        Self {
            quantity: self.quantities || QUANTITY_FIELDS.contains(&key),
            quantities: QUANTITY_MAPS.contains(&key),
        }
    }
}

/// Whether two values mean the same. Null and absent are alike; 1 is 1.0; quantities are compared by amount.
pub(crate) fn same(wanted: &Value, found: &Value, place: Place) -> bool {
    match (wanted, found) {
        (Value::Number(wanted), Value::Number(found)) => {
            wanted == found || ((wanted.is_f64() || found.is_f64()) && wanted.as_f64() == found.as_f64())
        }
        (Value::Array(wanted), Value::Array(found)) => {
            wanted.len() == found.len() && wanted.iter().zip(found).all(|(w, f)| same(w, f, place))
        }
        (Value::Object(wanted), Value::Object(found)) => same_maps(wanted, found, place),
        _ => wanted == found || (place.quantity && same_amount(wanted, found)),
    }
}

fn same_maps(wanted: &Map<String, Value>, found: &Map<String, Value>, place: Place) -> bool {
    let contained = wanted.iter().all(|(key, value)| {
        value.is_null()
            || found
                .get(key)
                .is_some_and(|other| same(value, other, place.enter(key)))
    });
    contained
        && found.iter().all(|(key, value)| {
            value.is_null()
                || wanted.get(key).is_some_and(|value| !value.is_null())
                || defaulted(key, value, found)
        })
}

/// Whether the server itself adds this field to a map inside an atomic value. An intent need not know of it.
fn defaulted(key: &str, value: &Value, map: &Map<String, Value>) -> bool {
    let beside = |sibling: &str| map.contains_key(sibling);
    match (key, value.as_str()) {
        ("apiVersion", Some("v1")) => beside("fieldPath") || is_claim(map),
        ("kind", Some("PersistentVolumeClaim")) | ("status", None) => is_claim(map),
        ("divisor", Some("0")) => beside("resource"),
        ("protocol", Some("TCP")) => beside("port"),
        ("volumeMode", Some("Filesystem")) => beside("accessModes"),
        ("status", Some("True")) => beside("type"),
        ("apiGroup", Some("rbac.authorization.k8s.io")) => {
            matches!(map.get("kind").and_then(Value::as_str), Some("User" | "Group"))
        }
        ("expirationSeconds", None) => beside("path") && value.as_u64() == Some(3600),
        _ => false,
    }
}

/// Whether the map is an item of a `StatefulSet`'s `volumeClaimTemplates`.
fn is_claim(map: &Map<String, Value>) -> bool {
    map.get("spec")
        .is_some_and(|spec| spec.get("accessModes").is_some())
}

fn same_amount(wanted: &Value, found: &Value) -> bool {
    let amount = |value: &Value| match value {
        Value::String(text) => Quantity::parse(text),
        Value::Number(number) => Quantity::parse(&number.to_string()),
        _ => None,
    };
    match (amount(wanted), amount(found)) {
        (Some(wanted), Some(found)) => wanted == found,
        _ => false,
    }
}
