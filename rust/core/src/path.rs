//! Field paths: `spec.worker.queue`, `spec.items[*].name`, `spec.items[0]`, `metadata.labels["app.kubernetes.io/name"]`,
//! `metadata.labels@keys`.

use std::borrow::Cow;

use crate::error::SpecError;
use crate::scan::{LAST_APPLIED, Member, View};
use crate::skim::{Cursor, Malformed, Skim, Span, Text};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The member of an object.
    Key(Box<str>),
    /// The item of an array.
    Item(usize),
    /// Each item of an array, or each value of an object.
    Each,
    /// The keys of an object.
    Keys,
}

/// A parsed field path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    text: Box<str>,
    steps: Vec<Step>,
}

/// What a path led to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    Value(Span),
    Key(Text),
}

impl Path {
    pub(crate) fn parse(text: &str) -> Result<Self, SpecError> {
        let path = Self {
            text: text.into(),
            steps: steps(text).map_err(|why| SpecError::new(format!("field path {text:?}: {why}")))?,
        };
        path.check_stored()?;
        Ok(path)
    }

    /// The top-level member that the path leads into; none where there is nothing deeper, or many small parts, as in metadata.
    pub(crate) fn section(&self) -> Option<&str> {
        match self.steps.as_slice() {
            [Step::Key(section), _, ..] if &**section != "metadata" => Some(section),
            _ => None,
        }
    }

    /// Refuses what pruning leaves out: it would never be found.
    fn check_stored(&self) -> Result<(), SpecError> {
        let keys: Vec<&str> = self
            .steps
            .iter()
            .map_while(|step| match step {
                Step::Key(key) => Some(&**key),
                _ => None,
            })
            .collect();
        match keys.as_slice() {
            ["apiVersion" | "kind", ..]
            | ["metadata", "managedFields", ..]
            | ["metadata", "annotations", LAST_APPLIED, ..] => Err(SpecError::new(format!(
                "field path {:?}: this field is not stored",
                self.text
            ))),
            _ => Ok(()),
        }
    }

    /// Calls `visit` with everything that the path leads to in the object, nulls included.
    pub(crate) fn walk(&self, view: View<'_>, mut visit: impl FnMut(Found)) {
        let Some((Step::Key(section), rest)) = self.steps.split_first() else {
            return;
        };
        if section.as_ref() == "metadata" {
            if let Some((Step::Key(field), rest)) = rest.split_first() {
                Self::enter(view, &view.scan.metadata, field, rest, &mut visit);
                return;
            }
        }
        Self::enter(view, &view.scan.sections, section, rest, &mut visit);
    }

    fn enter(view: View<'_>, members: &[Member], key: &str, rest: &[Step], visit: &mut dyn FnMut(Found)) {
        for member in members {
            if member.key.is(view.bytes, key) {
                let mut cursor = Cursor::at(view.bytes, member.value.start);
                let _ = walk(&mut cursor, rest, true, visit);
            }
        }
    }

    /// Calls `visit` with the text of each scalar that the path leads to: strings decoded, all else as written.
    pub(crate) fn scalars<'a>(&self, view: View<'a>, mut visit: impl FnMut(Cow<'a, str>)) {
        self.walk(view, |found| {
            let text = match found {
                Found::Key(key) => key,
                Found::Value(span) => match span.of(view.bytes) {
                    [b'{' | b'[' | b'n', ..] | [] => return,
                    [b'"', ..] => match Cursor::at(view.bytes, span.start).text() {
                        Ok(text) => text,
                        Err(_) => return,
                    },
                    _ => Text { span, escaped: false },
                },
            };
            visit(text.decode(view.bytes));
        });
    }
}

/// Walks the value at the cursor. Where there is one place only that the path can lead to (`once`), it stops behind it, by
/// an error that means nothing: the bytes were checked when they were scanned.
fn walk(cursor: &mut Cursor<'_>, steps: &[Step], once: bool, visit: &mut dyn FnMut(Found)) -> Skim<()> {
    let Some((step, rest)) = steps.split_first() else {
        visit(Found::Value(cursor.skip()?));
        return Ok(());
    };
    let mut enter = |cursor: &mut Cursor<'_>| {
        walk(cursor, rest, once, visit)?;
        if once { Err(Malformed) } else { Ok(()) }
    };
    match (step, cursor.space()) {
        (Step::Key(wanted), Some(b'{')) => cursor.object(|cursor, key| {
            if key.is(cursor.bytes(), wanted) {
                enter(cursor)
            } else {
                cursor.skip().map(|_| ())
            }
        }),
        (Step::Item(wanted), Some(b'[')) => {
            let mut at = 0;
            cursor.array(|cursor| {
                at += 1;
                if at == wanted + 1 {
                    enter(cursor)
                } else {
                    cursor.skip().map(|_| ())
                }
            })
        }
        (Step::Each, Some(b'{')) => cursor.object(|cursor, _| walk(cursor, rest, false, visit)),
        (Step::Each, Some(b'[')) => cursor.array(|cursor| walk(cursor, rest, false, visit)),
        (Step::Keys, Some(b'{')) => cursor.object(|cursor, key| {
            visit(Found::Key(key));
            cursor.skip().map(|_| ())
        }),
        _ => cursor.skip(),
    }
    .map(|_| ())
}

fn steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(['.', '[', ']', '@', '"']).unwrap_or(rest.len());
        let (key, tail) = rest.split_at(end);
        if key.is_empty() {
            return Err("a field name is missing".to_owned());
        }
        steps.push(Step::Key(key.into()));
        rest = tail;
        while let Some(inner) = rest.strip_prefix('[') {
            let (step, tail) = bracket(inner)?;
            steps.push(step);
            rest = tail;
        }
        if rest == "@keys" {
            steps.push(Step::Keys);
            return Ok(steps);
        }
        if rest.is_empty() {
            return Ok(steps);
        }
        rest = rest
            .strip_prefix('.')
            .ok_or_else(|| format!("unexpected {rest:?}"))?;
    }
}

/// Reads `*]`, `0]` or `"key"]`.
fn bracket(inner: &str) -> Result<(Step, &str), String> {
    if inner.starts_with('"') {
        let mut documents = serde_json::Deserializer::from_str(inner).into_iter::<String>();
        let Some(Ok(key)) = documents.next() else {
            return Err("a quoted key does not end".to_owned());
        };
        let tail = inner.get(documents.byte_offset()..).unwrap_or_default();
        let tail = tail.strip_prefix(']').ok_or("a bracket does not end")?;
        return Ok((Step::Key(key.into()), tail));
    }
    let (item, tail) = inner.split_once(']').ok_or("a bracket does not end")?;
    if item == "*" {
        return Ok((Step::Each, tail));
    }
    match item.parse() {
        Ok(item) => Ok((Step::Item(item), tail)),
        Err(_) => Err(format!("[{item}] is none of [*], [0], [\"key\"]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Scan;

    const OBJECT: &str = r#"{"apiVersion":"v1","metadata":{"name":"a","labels":{"app.kubernetes.io/name":"x","é\n":"y"}},
        "spec":{"n":1.50,"b":true,"nil":null,"o":{},"items":[{"name":"p"},{"name":"q\u00e9"},{},3],"m":{"k":"v","l":"w"}}}"#;

    fn found(path: &str) -> Vec<String> {
        let mut scan = Scan::default();
        scan.document(OBJECT.as_bytes(), None).unwrap();
        let view = View {
            bytes: OBJECT.as_bytes(),
            scan: &scan,
        };
        let mut found = Vec::new();
        Path::parse(path)
            .unwrap()
            .scalars(view, |text| found.push(text.into_owned()));
        found
    }

    #[test]
    fn leads_to_scalars() {
        assert_eq!(found("metadata.name"), ["a"]);
        assert_eq!(found("spec.n"), ["1.50"]);
        assert_eq!(found("spec.b"), ["true"]);
        assert_eq!(found("spec.items[*].name"), ["p", "qé"]);
        assert_eq!(found("spec.items[1].name"), ["qé"]);
        assert_eq!(found("spec.items[3]"), ["3"]);
        assert_eq!(found("spec.m[*]"), ["v", "w"]);
        assert_eq!(found("spec.m@keys"), ["k", "l"]);
        assert_eq!(found(r#"metadata.labels["app.kubernetes.io/name"]"#), ["x"]);
        assert_eq!(found(r#"metadata["labels"]["é\n"]"#), ["y"]);
        assert_eq!(found("metadata.labels@keys"), ["app.kubernetes.io/name", "é\n"]);
    }

    #[test]
    fn leads_nowhere_without_complaint() {
        for path in [
            "spec",
            "spec.nil",
            "spec.o",
            "spec.missing.x",
            "spec.n.x",
            "spec.items[9]",
            "spec.m[0]",
            "other",
        ] {
            assert_eq!(found(path), [""; 0], "{path}");
        }
    }

    #[test]
    fn a_bad_path_is_refused_with_its_reason() {
        for (path, why) in [
            ("", "field name is missing"),
            (".spec", "field name is missing"),
            ("spec..x", "field name is missing"),
            ("spec.", "field name is missing"),
            ("spec[", "bracket does not end"),
            ("spec[x]", "none of"),
            ("spec[-1]", "none of"),
            ("spec[\"x]", "quoted key does not end"),
            ("spec[\"x\"", "bracket does not end"),
            ("spec]x", "unexpected"),
            ("spec@values", "unexpected"),
            ("kind", "not stored"),
            ("metadata.managedFields[*].manager", "not stored"),
        ] {
            let error = Path::parse(path).unwrap_err().to_string();
            assert!(error.contains(why), "{path}: {error}");
        }
    }
}
