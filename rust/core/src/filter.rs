//! Predicates: JSON specs, compiled once, evaluated on digests.

use serde_json::Value;

use crate::error::SpecError;
use crate::path::{Found, Path};
use crate::probe::{Probe, Probes};
use crate::scan::View;

/// What happened to an object, in digests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    /// The probes before and after; none when the object is new, gone, or another one of the same name.
    pub(crate) probes: Option<(&'a [u64], &'a [u64])>,
}

/// A compiled predicate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Predicate {
    Always,
    /// The probe of this number differs.
    Changed(usize),
    /// The probe of this number was absent and is present.
    Appeared(usize),
    Equals(Path, Value),
    Any(Vec<Predicate>),
    All(Vec<Predicate>),
    Not(Box<Predicate>),
}

const NAMES: &str = "always, generation, resourceVersion, content, labels, label, annotations, annotation, \
    finalizers, deletion, owners, status, spec, changed, equals, any, all, not";

impl Predicate {
    /// Compiles a JSON spec; the probes it needs are added to `probes`.
    pub(crate) fn compile(spec: &[u8], probes: &mut Probes) -> Result<Self, SpecError> {
        let spec: Value = serde_json::from_slice(spec)
            .map_err(|error| SpecError::new(format!("predicate: no JSON: {error}")))?;
        compile(&spec, probes)
    }

    /// Whether the change matters. `object` is the object as it is now, or as it was last when it is gone.
    pub(crate) fn holds(&self, change: Change<'_>, object: View<'_>) -> bool {
        match self {
            Self::Always => true,
            Self::Changed(probe) => change
                .probes
                .is_none_or(|(old, new)| old.get(*probe) != new.get(*probe)),
            Self::Appeared(probe) => change
                .probes
                .is_none_or(|(old, new)| old.get(*probe) < new.get(*probe)),
            Self::Equals(path, wanted) => equals(path, wanted, object),
            Self::Any(list) => list.iter().any(|one| one.holds(change, object)),
            Self::All(list) => list.iter().all(|one| one.holds(change, object)),
            Self::Not(one) => !one.holds(change, object),
        }
    }
}

fn equals(path: &Path, wanted: &Value, object: View<'_>) -> bool {
    let mut hit = false;
    let mut present = false;
    path.walk(object, |found| {
        let value = match found {
            Found::Key(key) => Value::String(key.decode(object.bytes).into_owned()),
            Found::Value(span) => serde_json::from_slice(span.of(object.bytes)).unwrap_or_default(),
        };
        present |= !value.is_null();
        hit |= same(&value, wanted);
    });
    if wanted.is_null() { !present } else { hit }
}

/// Equality of JSON values, where 1 and 1.0 are the same number.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

fn compile(spec: &Value, probes: &mut Probes) -> Result<Predicate, SpecError> {
    let members = spec.as_object().filter(|members| members.len() == 1);
    let Some((name, argument)) = members.and_then(|members| members.iter().next()) else {
        return Err(SpecError::new(format!(
            "predicate {spec}: must be an object with one member, one of {NAMES}"
        )));
    };
    let probe = match name.as_str() {
        "always" => {
            empty(name, argument)?;
            return Ok(Predicate::Always);
        }
        "any" => return Ok(Predicate::Any(list(name, argument, probes)?)),
        "all" => return Ok(Predicate::All(list(name, argument, probes)?)),
        "not" => return Ok(Predicate::Not(Box::new(compile(argument, probes)?))),
        "equals" => return equals_spec(argument),
        "deletion" => {
            empty(name, argument)?;
            return Ok(Predicate::Appeared(probes.intern(Probe::Deletion)));
        }
        "label" => Probe::Label(text(name, argument)?.into()),
        "annotation" => Probe::Annotation(text(name, argument)?.into()),
        "changed" => Probe::Field(Path::parse(text(name, argument)?)?),
        other => {
            let probe = bare(other).ok_or_else(|| {
                SpecError::new(format!("predicate {other:?} is unknown; known are {NAMES}"))
            })?;
            empty(name, argument)?;
            probe
        }
    };
    Ok(Predicate::Changed(probes.intern(probe)))
}

fn bare(name: &str) -> Option<Probe> {
    Some(match name {
        "generation" => Probe::Generation,
        "resourceVersion" => Probe::ResourceVersion,
        "content" => Probe::Content,
        "labels" => Probe::Labels,
        "annotations" => Probe::Annotations,
        "finalizers" => Probe::Finalizers,
        "owners" => Probe::Owners,
        "status" => Probe::Section("status".into()),
        "spec" => Probe::Section("spec".into()),
        _ => return None,
    })
}

fn empty(name: &str, argument: &Value) -> Result<(), SpecError> {
    if argument.as_object().is_some_and(serde_json::Map::is_empty) {
        Ok(())
    } else {
        Err(SpecError::new(format!(
            "predicate {name:?}: takes no argument, write {{\"{name}\": {{}}}}, not {argument}"
        )))
    }
}

fn text<'a>(name: &str, argument: &'a Value) -> Result<&'a str, SpecError> {
    argument
        .as_str()
        .ok_or_else(|| SpecError::new(format!("predicate {name:?}: takes a string, not {argument}")))
}

fn list(name: &str, argument: &Value, probes: &mut Probes) -> Result<Vec<Predicate>, SpecError> {
    argument
        .as_array()
        .filter(|list| !list.is_empty())
        .ok_or_else(|| {
            SpecError::new(format!(
                "predicate {name:?}: takes a list of one or more predicates, not {argument}"
            ))
        })?
        .iter()
        .map(|one| compile(one, probes))
        .collect()
}

fn equals_spec(argument: &Value) -> Result<Predicate, SpecError> {
    match argument.as_array().map(Vec::as_slice) {
        Some([Value::String(path), value]) => Ok(Predicate::Equals(Path::parse(path)?, value.clone())),
        _ => Err(SpecError::new(format!(
            "predicate \"equals\": takes [path, value], not {argument}"
        ))),
    }
}
