//! A JSON skimmer: it walks over a document and checks it, and decodes nothing.
//!
//! What it accepts, `serde_json` and `orjson` accept: the grammar is checked in full, because skimmed bytes are stored and
//! handed to decoders later. Text must already be known to be UTF-8. Nothing here allocates or recurses.

use std::borrow::Cow;

use crate::plain::string_end;
use crate::skip::{escape_end, skip_value, spaces};

/// The deepest nesting that is accepted, the same as `serde_json`'s.
pub(crate) const MAX_DEPTH: u32 = 127;

/// The bytes are not the JSON that was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(crate) type Skim<T> = Result<T, Malformed>;

/// A range of bytes in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// A JSON string: the range between its quotes, and whether it holds an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Text {
    pub(crate) span: Span,
    pub(crate) escaped: bool,
}

impl Text {
    /// The decoded text.
    pub(crate) fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        if self.escaped {
            let quoted = Span {
                start: self.span.start.saturating_sub(1),
                end: self.span.end + 1,
            };
            Cow::Owned(serde_json::from_slice(quoted.of(bytes)).unwrap_or_default())
        } else {
            Cow::Borrowed(std::str::from_utf8(self.span.of(bytes)).unwrap_or_default())
        }
    }

    /// Whether the decoded text is `other`.
    pub(crate) fn is(self, bytes: &[u8], other: &str) -> bool {
        if self.escaped {
            self.decode(bytes) == other
        } else {
            self.span.of(bytes) == other.as_bytes()
        }
    }
}

/// A place in a document.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
    depth: u32,
}

impl<'a> Cursor<'a> {
    /// A cursor in a document that was skimmed before, and so is known to be sound.
    pub(crate) fn at(bytes: &'a [u8], pos: usize) -> Self {
        Self { bytes, pos, depth: 0 }
    }

    /// A cursor at the beginning of a document of unknown origin. Refuses what is not UTF-8.
    pub(crate) fn check(bytes: &'a [u8]) -> Skim<Self> {
        if !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
            return Err(Malformed);
        }
        Ok(Self::at(bytes, 0))
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    /// Steps over white space and returns the byte after it.
    #[inline]
    pub(crate) fn space(&mut self) -> Option<u8> {
        spaces(self.bytes, &mut self.pos)
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Skim<()> {
        if self.peek() == Some(byte) {
            self.pos += 1;
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// Checks that only white space is left.
    pub(crate) fn end(&mut self) -> Skim<()> {
        match self.space() {
            None => Ok(()),
            Some(_) => Err(Malformed),
        }
    }

    /// Steps over a string.
    #[inline]
    pub(crate) fn text(&mut self) -> Skim<Text> {
        self.expect(b'"')?;
        let start = self.pos;
        let mut escaped = false;
        loop {
            self.pos = string_end(self.bytes, self.pos);
            match self.peek() {
                Some(b'"') => {
                    let span = Span { start, end: self.pos };
                    self.pos += 1;
                    return Ok(Text { span, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.pos = escape_end(self.bytes, self.pos).ok_or(Malformed)?;
                }
                _ => return Err(Malformed),
            }
        }
    }

    #[inline]
    fn key(&mut self) -> Skim<Text> {
        let key = self.text()?;
        if self.peek() != Some(b':') {
            self.space();
        }
        self.expect(b':')?;
        Ok(key)
    }

    /// Steps over one value of any kind and returns where it was.
    pub(crate) fn skip(&mut self) -> Skim<Span> {
        self.space();
        let start = self.pos;
        let end = skip_value(self.bytes, start, MAX_DEPTH.saturating_sub(self.depth)).ok_or(Malformed)?;
        self.pos = end;
        Ok(Span { start, end })
    }

    /// Steps over an object; `visit` gets each key and must step over its value, at which the cursor stands.
    pub(crate) fn object(&mut self, mut visit: impl FnMut(&mut Self, Text) -> Skim<()>) -> Skim<Span> {
        self.space();
        let start = self.pos;
        self.expect(b'{')?;
        self.deeper()?;
        if self.space() == Some(b'}') {
            self.pos += 1;
        } else {
            loop {
                self.space();
                let key = self.key()?;
                self.space();
                visit(self, key)?;
                let next = self.space();
                self.pos += 1;
                match next {
                    Some(b',') => {}
                    Some(b'}') => break,
                    _ => return Err(Malformed),
                }
            }
        }
        self.depth -= 1;
        Ok(Span { start, end: self.pos })
    }

    /// Steps over an array; `visit` must step over each value, at which the cursor stands.
    pub(crate) fn array(&mut self, mut visit: impl FnMut(&mut Self) -> Skim<()>) -> Skim<Span> {
        self.space();
        let start = self.pos;
        self.expect(b'[')?;
        self.deeper()?;
        if self.space() == Some(b']') {
            self.pos += 1;
        } else {
            loop {
                self.space();
                visit(self)?;
                let next = self.space();
                self.pos += 1;
                match next {
                    Some(b',') => {}
                    Some(b']') => break,
                    _ => return Err(Malformed),
                }
            }
        }
        self.depth -= 1;
        Ok(Span { start, end: self.pos })
    }

    fn deeper(&mut self) -> Skim<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            Err(Malformed)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(text: &str) -> bool {
        let Ok(mut cursor) = Cursor::check(text.as_bytes()) else {
            return false;
        };
        cursor.skip().and_then(|_| cursor.end()).is_ok()
    }

    #[test]
    fn agrees_with_serde_json_on_the_edges_of_the_grammar() {
        for text in [
            "",
            " ",
            "0",
            "-0",
            "01",
            "1.",
            ".5",
            "1.5e",
            "1.5e+3",
            "1E-2",
            "-",
            "+1",
            "nul",
            "null",
            "true",
            "truex",
            "[]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\":1]",
            "[1}",
            "\"",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u00e9\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\ud83dx\"",
            "\"\\ud83d\\u0041\"",
            "\"a\tb\"",
            "\"aaaaaaaaaaaaaaaaaaaaa\u{1}\"",
            "[[[]]]",
            "[[[]]",
            "{\"a\":{\"b\":[1,{\"c\":null}]}} ",
            "1 2",
            "\"é😀\"",
            " [ 1 , { \"a\" : [ ] } ] ",
        ] {
            let reference = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(accepts(text), reference, "{text:?}");
        }
    }

    #[test]
    fn refuses_what_is_too_deep_where_serde_json_does() {
        for depth in [1, 126, 127, 128, 5000] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            let reference = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert_eq!(accepts(&text), reference, "{depth}");
            let text = "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
            let reference = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert_eq!(accepts(&text), reference, "{depth}");
        }
    }
}
