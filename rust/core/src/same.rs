//! Equality of values in Kubernetes' sense.

use crate::node::{Members, Node, member};
use crate::quantity::Quantity;

/// Maps whose values are quantities.
const QUANTITY_MAPS: [&str; 5] = ["limits", "requests", "capacity", "hard", "allocatable"];
/// Maps whose values are quantities in an item of a `LimitRange`'s `limits`, where other kinds have other things.
const LIMIT_RANGE_MAPS: [&str; 5] = ["default", "defaultRequest", "max", "min", "maxLimitRequestRatio"];
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
            // The items of a list are at the list's own place: here, the items of `limits`.
            quantities: QUANTITY_MAPS.contains(&key) || (self.quantities && LIMIT_RANGE_MAPS.contains(&key)),
        }
    }
}

/// Whether two values mean the same. Null and absent are alike; 1 is 1.0; quantities are compared by amount.
pub(crate) fn same(wanted: Node<'_>, found: Node<'_>, place: Place) -> bool {
    match (wanted, found) {
        (Node::List(wanted), Node::List(found)) => same_lists(wanted, found, place),
        (Node::Map(wanted), Node::Map(found)) => same_maps(wanted, found, place),
        (Node::Number(left), Node::Number(right)) if left != right => {
            same_number(left, right) || (place.quantity && same_amount(wanted, found))
        }
        _ => wanted == found || (place.quantity && same_amount(wanted, found)),
    }
}

pub(crate) fn same_lists(wanted: &[Node<'_>], found: &[Node<'_>], place: Place) -> bool {
    wanted.len() == found.len() && wanted.iter().zip(found).all(|(w, f)| same(*w, *f, place))
}

/// Whole numbers are compared exactly as far as they are of 64 bits, all others as floating-point numbers.
fn same_number(left: &str, right: &str) -> bool {
    let whole = |text: &str| {
        let number = text.parse::<i128>().ok()?;
        (i128::from(i64::MIN)..=i128::from(u64::MAX))
            .contains(&number)
            .then_some(number)
    };
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left.parse::<f64>().ok() == right.parse::<f64>().ok(),
    }
}

pub(crate) fn same_maps(wanted: Members<'_>, found: Members<'_>, place: Place) -> bool {
    let contained = wanted.iter().all(|(key, value)| {
        value.is_null() || member(found, key).is_some_and(|other| same(*value, other, place.enter(key)))
    });
    contained
        && found.iter().all(|(key, value)| {
            value.is_null() || member(wanted, key).is_some() || defaulted(key, *value, found)
        })
}

/// Whether the server itself adds this field to a map inside an atomic value. An intent need not know of it.
fn defaulted(key: &str, value: Node<'_>, map: Members<'_>) -> bool {
    let beside = |sibling: &str| map.iter().any(|(key, _)| *key == sibling);
    match (key, value.text()) {
        ("apiVersion", Some("v1")) => beside("fieldPath") || is_claim(map),
        ("kind", Some("PersistentVolumeClaim")) | ("status", None) => is_claim(map),
        ("divisor", Some("0")) => beside("resource"),
        ("protocol", Some("TCP")) => beside("port"),
        ("volumeMode", Some("Filesystem")) => beside("accessModes"),
        ("status", Some("True")) => beside("type"),
        ("apiGroup", Some("rbac.authorization.k8s.io")) => {
            matches!(member(map, "kind").and_then(Node::text), Some("User" | "Group"))
        }
        ("expirationSeconds", None) => beside("path") && value == Node::Number("3600"),
        _ => false,
    }
}

/// Whether the map is an item of a `StatefulSet`'s `volumeClaimTemplates`.
fn is_claim(map: Members<'_>) -> bool {
    member(map, "spec").is_some_and(|spec| spec.get("accessModes").is_some())
}

fn same_amount(wanted: Node<'_>, found: Node<'_>) -> bool {
    let amount = |node: Node<'_>| match node {
        Node::Text(text) | Node::Number(text) => Quantity::parse(text),
        _ => None,
    };
    match (amount(wanted), amount(found)) {
        (Some(wanted), Some(found)) => wanted == found,
        _ => false,
    }
}
