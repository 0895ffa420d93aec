//! Pages of a list response.

use crate::error::SpecError;
use crate::scan::{Scan, View};
use crate::skim::{Cursor, Malformed, Skim, Text};

/// What a page says besides its items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The position of the list.
    pub resource_version: String,
    /// Where the next page begins; empty on the last one.
    pub continue_token: String,
    /// How many items come after this page, when the server says.
    pub remaining: Option<u64>,
    /// Items on this page.
    pub items: u64,
}

/// Reads a page and calls `visit` with each of its items.
pub(crate) fn read(
    page: &[u8],
    manager: Option<&str>,
    scan: &mut Scan,
    mut visit: impl FnMut(View<'_>) -> Result<(), SpecError>,
) -> Result<ListPage, SpecError> {
    let mut cursor = Cursor::check(page).map_err(|Malformed| SpecError::new("list page: it is not UTF-8"))?;
    let mut info = ListPage::default();
    let mut listed = false;
    let mut refused = None;
    let whole = cursor.object(|cursor, key| match &*key.decode(page) {
        "metadata" => metadata(cursor, &mut info),
        "items" if cursor.peek() == Some(b'[') => {
            listed = true;
            cursor
                .array(|cursor| {
                    scan.object(cursor, manager)?;
                    info.items += 1;
                    let view = View { bytes: page, scan };
                    visit(view).map_err(|error| {
                        refused = Some(error);
                        Malformed
                    })
                })
                .map(|_| ())
        }
        other => {
            let value = cursor.skip()?;
            // A Go server writes an empty list as null.
            listed |= other == "items" && value.of(page) == b"null";
            Ok(())
        }
    });
    if let Some(error) = refused {
        return Err(error);
    }
    if whole.and_then(|_| cursor.end()).is_err() {
        return Err(SpecError::new(format!(
            "list page: malformed near byte {} of {}",
            cursor.pos(),
            page.len()
        )));
    }
    if !listed || info.resource_version.is_empty() {
        return Err(SpecError::new(
            "list page: it is no list, items or metadata.resourceVersion is missing",
        ));
    }
    Ok(info)
}

fn metadata(cursor: &mut Cursor<'_>, info: &mut ListPage) -> Skim<()> {
    if cursor.peek() != Some(b'{') {
        return cursor.skip().map(|_| ());
    }
    cursor
        .object(|cursor, key| {
            let bytes = cursor.bytes();
            let text = |cursor: &mut Cursor<'_>| -> Skim<String> {
                if cursor.peek() == Some(b'"') {
                    cursor.text().map(|text: Text| text.decode(bytes).into_owned())
                } else {
                    cursor.skip().map(|_| String::new())
                }
            };
            match &*key.decode(bytes) {
                "resourceVersion" => info.resource_version = text(cursor)?,
                "continue" => info.continue_token = text(cursor)?,
                "remainingItemCount" => {
                    let span = cursor.skip()?;
                    info.remaining = std::str::from_utf8(span.of(bytes))
                        .ok()
                        .and_then(|number| number.parse().ok());
                }
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })
        .map(|_| ())
}
