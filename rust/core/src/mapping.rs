//! Mappings: which key to enqueue because of an object.

use serde_json::Value;

use crate::error::SpecError;
use crate::scan::View;
use crate::skim::Cursor;

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
    let owners = view.scan.owners?;
    if bytes.get(owners.start) != Some(&b'[') {
        return None;
    }
    let mut owner = None;
    // The bytes were checked when they were scanned.
    let _ = Cursor::at(bytes, owners.start).array(|cursor| {
        if cursor.peek() != Some(b'{') {
            return cursor.skip().map(|_| ());
        }
        let (mut controls, mut right_kind, mut right_group, mut name) = (false, false, false, None);
        cursor.object(|cursor, key| {
            let value = cursor.clone();
            let span = cursor.skip()?;
            let Ok(text) = value.clone().text() else {
                controls |= key.is(bytes, "controller") && span.of(bytes) == b"true";
                return Ok(());
            };
            match &*key.decode(bytes) {
                "kind" => right_kind = text.is(bytes, kind),
                "apiVersion" => {
                    let version = text.decode(bytes);
                    right_group = version.split_once('/').map_or("", |(group, _)| group) == group;
                }
                "name" => name = Some(text),
                _ => {}
            }
            Ok(())
        })?;
        if controls && right_kind && right_group {
            owner = name;
        }
        Ok(())
    });
    owner.map(|name| name.decode(bytes).into_owned())
}
