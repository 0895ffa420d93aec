//! Watch events: lines out of chunks of bytes, and the envelope around each object.

use crate::scan::{Scan, View};
use crate::skim::{Cursor, Malformed, Skim};

/// The longest line that is accepted, in bytes. An object is at most some megabytes.
pub const MAX_LINE: usize = 64 << 20;

/// A carried half line may keep this much memory between chunks.
const IDLE_CARRY: usize = 1 << 20;

/// What a watch event says about its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

/// Reads one line into `scan` and returns what it says. Of an object that is `foreign` only the metadata is read.
pub(crate) fn read(
    line: &[u8],
    manager: Option<&str>,
    scan: &mut Scan,
    foreign: impl Fn(View<'_>) -> bool,
) -> Skim<Kind> {
    let (mut kind, mut found) = (None, false);
    let mut cursor = Cursor::check(line)?;
    scan.abandoned = false;
    let whole = cursor.object(|cursor, key| {
        if key.is(line, "type") {
            let text = cursor.text()?;
            kind = match &*text.decode(line) {
                "ADDED" => Some(Kind::Added),
                "MODIFIED" => Some(Kind::Modified),
                "DELETED" => Some(Kind::Deleted),
                "BOOKMARK" => Some(Kind::Bookmark),
                "ERROR" => Some(Kind::Error),
                _ => return Err(Malformed),
            };
        } else if key.is(line, "object") {
            let whole = !matches!(kind, Some(Kind::Added | Kind::Modified | Kind::Deleted));
            scan.object_unless(cursor, manager, |view| !whole && foreign(view))?;
            found = true;
        } else {
            cursor.skip()?;
        }
        Ok(())
    });
    if scan.abandoned {
        return kind.ok_or(Malformed);
    }
    whole?;
    cursor.end()?;
    kind.filter(|_| found).ok_or(Malformed)
}

/// A line that the framer found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Its bytes, without the newline.
    Whole(&'a [u8]),
    /// Longer than the limit; its bytes are gone.
    TooLong,
}

/// Cuts a stream of chunks into lines, wherever the chunks' borders are.
#[derive(Debug)]
pub(crate) struct Framer {
    carry: Vec<u8>,
    limit: usize,
    discarding: bool,
}

impl Framer {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            carry: Vec::new(),
            limit,
            discarding: false,
        }
    }

    /// Forgets a half line and returns its length.
    pub(crate) fn reset(&mut self) -> usize {
        self.discarding = false;
        std::mem::take(&mut self.carry).len()
    }

    pub(crate) fn feed(&mut self, chunk: &[u8], mut visit: impl FnMut(Line<'_>)) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            let piece = chunk.get(start..end).unwrap_or_default();
            start = end + 1;
            if std::mem::take(&mut self.discarding) {
                continue;
            }
            if self.carry.len() + piece.len() > self.limit {
                visit(Line::TooLong);
            } else if self.carry.is_empty() {
                visit(Line::Whole(piece));
            } else {
                self.carry.extend_from_slice(piece);
                visit(Line::Whole(&self.carry));
            }
            self.carry.clear();
            self.carry.shrink_to(IDLE_CARRY);
        }
        let rest = chunk.get(start..).unwrap_or_default();
        if self.discarding {
            return;
        }
        if self.carry.len() + rest.len() > self.limit {
            self.carry = Vec::new();
            self.discarding = true;
            visit(Line::TooLong);
        } else {
            self.carry.extend_from_slice(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(framer: &mut Framer, chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let mut seen = Vec::new();
        for chunk in chunks {
            framer.feed(chunk, |line| {
                seen.push(match line {
                    Line::Whole(bytes) => Some(bytes.to_vec()),
                    Line::TooLong => None,
                });
            });
        }
        seen
    }

    #[test]
    fn a_line_too_long_is_told_once_and_the_next_is_whole() {
        let mut framer = Framer::new(4);
        let seen = lines(
            &mut framer,
            &[b"abcd\nabcde\n", b"xyz", b"12", b"3456", b"7\nok\n"],
        );
        assert_eq!(seen, [Some(b"abcd".to_vec()), None, None, Some(b"ok".to_vec())]);
    }

    #[test]
    fn reset_forgets_a_half_line() {
        let mut framer = Framer::new(100);
        assert_eq!(lines(&mut framer, &[b"half"]), []);
        assert_eq!(framer.reset(), 4);
        assert_eq!(framer.reset(), 0);
        assert_eq!(lines(&mut framer, &[b"new\n"]), [Some(b"new".to_vec())]);
    }

    #[test]
    fn reset_ends_the_discarding_of_a_line_too_long() {
        let mut framer = Framer::new(2);
        assert_eq!(lines(&mut framer, &[b"long"]), [None]);
        framer.reset();
        assert_eq!(lines(&mut framer, &[b"ok\n"]), [Some(b"ok".to_vec())]);
    }

    proptest! {
        #[test]
        fn borders_of_chunks_do_not_matter(
            text in "[a-c\n]{0,60}",
            borders in prop::collection::vec(0usize..60, 0..8),
            limit in 3usize..20,
        ) {
            let bytes = text.as_bytes();
            let whole = lines(&mut Framer::new(limit), &[bytes]);
            let mut borders: Vec<usize> = borders.into_iter().map(|at| at.min(bytes.len())).collect();
            borders.sort_unstable();
            borders.push(bytes.len());
            let mut start = 0;
            let mut chunks = Vec::new();
            for end in borders {
                chunks.push(&bytes[start..end]);
                start = end;
            }
            prop_assert_eq!(lines(&mut Framer::new(limit), &chunks), whole);
        }
    }
}
