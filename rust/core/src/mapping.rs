//! Mappings: which key to enqueue because of an object.

use serde_json::Value;

use crate::error::SpecError;
use crate::owners::controllers;
use crate::scan::View;

/// A compiled mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mapping {
    /// The object's own key.
    Itself,
    /// The key of the controller that owns the object.
    Owner {
        group: String,
        kind: String,
        cluster_scoped: bool,
    },
}

impl Mapping {
    pub(crate) fn compile(spec: &[u8]) -> Result<Self, SpecError> {
        let spec: Value = serde_json::from_slice(spec)
            .map_err(|error| SpecError::new(format!("mapping: no JSON: {error}")))?;
        let wrong = || {
            SpecError::new(format!(
                "mapping {spec}: must be {{\"self\": {{}}}} or {{\"owner\": {{\"group\": text, \"kind\": text}}}}, \
                 the owner optionally with \"clusterScoped\": true"
            ))
        };
        let members = spec.as_object().filter(|members| members.len() == 1);
        let (name, argument) = members.and_then(|one| one.iter().next()).ok_or_else(wrong)?;
        let argument = argument.as_object().ok_or_else(wrong)?;
        match name.as_str() {
            "self" if argument.is_empty() => Ok(Self::Itself),
            "owner" => {
                let known = ["group", "kind", "clusterScoped"];
                if !argument.keys().all(|key| known.contains(&key.as_str())) {
                    return Err(wrong());
                }
                let text = |key: &str| argument.get(key).and_then(Value::as_str).ok_or_else(wrong);
                Ok(Self::Owner {
                    group: text("group")?.to_owned(),
                    kind: text("kind")?.to_owned(),
                    cluster_scoped: match argument.get("clusterScoped") {
                        None => false,
                        Some(flag) => flag.as_bool().ok_or_else(wrong)?,
                    },
                })
            }
            _ => Err(wrong()),
        }
    }

    /// The key (namespace, name) for the object, if it has one.
    pub(crate) fn key(&self, view: View<'_>) -> Option<(String, String)> {
        match self {
            Self::Itself => Some((view.namespace().into_owned(), view.name().into_owned())),
            Self::Owner {
                group,
                kind,
                cluster_scoped,
            } => {
                let name = controller(view, group, kind)?;
                let namespace = if *cluster_scoped {
                    String::new()
                } else {
                    view.namespace().into_owned()
                };
                Some((namespace, name))
            }
        }
    }
}

/// The name of the controller ownerReference of this group and kind.
fn controller(view: View<'_>, group: &str, kind: &str) -> Option<String> {
    let bytes = view.bytes;
    let mut owner = None;
    controllers(view, |found| {
        let right_kind = found.kind.is_some_and(|text| text.is(bytes, kind));
        let right_group = found.api_version.is_some_and(|text| {
            let version = text.decode(bytes);
            version.split_once('/').map_or("", |(group, _)| group) == group
        });
        if right_kind && right_group {
            owner = found.name;
        }
    });
    owner.map(|name| name.decode(bytes).into_owned())
}
