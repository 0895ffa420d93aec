//! The ownerReference that controls an object.

use crate::scan::View;
use crate::skim::{Cursor, Text};

/// An ownerReference with `controller: true`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Controller {
    pub(crate) api_version: Option<Text>,
    pub(crate) kind: Option<Text>,
    pub(crate) name: Option<Text>,
    pub(crate) uid: Option<Text>,
}

/// Calls `visit` with each such reference; the API server lets an object have one.
pub(crate) fn controllers(view: View<'_>, mut visit: impl FnMut(Controller)) {
    let bytes = view.bytes;
    let Some(owners) = view.scan.owners else { return };
    if bytes.get(owners.start) != Some(&b'[') {
        return;
    }
    // The bytes were checked when they were scanned.
    let _ = Cursor::at(bytes, owners.start).array(|cursor| {
        if cursor.peek() != Some(b'{') {
            return cursor.skip().map(|_| ());
        }
        let (mut controls, mut found) = (false, Controller::default());
        cursor.object(|cursor, key| {
            let value = cursor.clone();
            let span = cursor.skip()?;
            let Ok(text) = value.clone().text() else {
                controls |= key.is(bytes, "controller") && span.of(bytes) == b"true";
                return Ok(());
            };
            match &*key.decode(bytes) {
                "apiVersion" => found.api_version = Some(text),
                "kind" => found.kind = Some(text),
                "name" => found.name = Some(text),
                "uid" => found.uid = Some(text),
                _ => {}
            }
            Ok(())
        })?;
        if controls {
            visit(found);
        }
        Ok(())
    });
}
