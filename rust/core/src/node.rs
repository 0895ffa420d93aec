//! JSON documents for reading: parsed into one block of memory, texts borrowed from the document where they need no decoding.

use bumpalo::Bump;

use crate::skim::{Cursor, Malformed, Skim, Span, Text};

/// In a map of so many members, a key is looked for in order.
const FEW: usize = 16;

/// A value. Copying it copies no more than a reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    /// As written.
    Number(&'a str),
    Text(&'a str),
    List(&'a [Node<'a>]),
    Map(Members<'a>),
}

/// The members of a map, sorted by key, each key once.
pub(crate) type Members<'a> = &'a [(&'a str, Node<'a>)];

/// What belongs to a key, in a list sorted by keys.
pub(crate) fn find<'s, T>(sorted: &'s [(&str, T)], key: &str) -> Option<&'s T> {
    let found = if sorted.len() <= FEW {
        // To compare lengths first is faster than to halve.
        sorted.iter().find(|(known, _)| *known == key)
    } else {
        let at = sorted.binary_search_by(|(known, _)| (*known).cmp(key)).ok()?;
        sorted.get(at)
    };
    found.map(|(_, value)| value)
}

/// The member of this key, unless it is null.
pub(crate) fn member<'a>(members: Members<'a>, key: &str) -> Option<Node<'a>> {
    find(members, key).copied().filter(|node| !node.is_null())
}

impl<'a> Node<'a> {
    /// Parses a document.
    pub(crate) fn parse(document: &'a [u8], arena: &'a Bump) -> Skim<Self> {
        Self::parse_without(document, None, arena)
    }

    /// Parses a document, but for the document's own member of this name, which is only checked.
    pub(crate) fn parse_without(
        document: &'a [u8],
        without: Option<&'static str>,
        arena: &'a Bump,
    ) -> Skim<Self> {
        let text = std::str::from_utf8(document).map_err(|_| Malformed)?;
        let mut cursor = Cursor::at(document, 0);
        let mut parser = Parser {
            arena,
            text,
            without,
            members: Vec::new(),
            items: Vec::new(),
        };
        cursor.space();
        let node = parser.value(&mut cursor)?;
        cursor.end()?;
        Ok(node)
    }

    pub(crate) fn is_null(self) -> bool {
        self == Node::Null
    }

    /// The members when it is a map.
    pub(crate) fn members(self) -> Option<Members<'a>> {
        match self {
            Node::Map(members) => Some(members),
            _ => None,
        }
    }

    /// The text when it is one.
    pub(crate) fn text(self) -> Option<&'a str> {
        match self {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The member of this key when it is a map that has it, not null.
    pub(crate) fn get(self, key: &str) -> Option<Node<'a>> {
        member(self.members()?, key)
    }
}

impl std::fmt::Display for Node<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Node::Null => out.write_str("null"),
            Node::Bool(value) => write!(out, "{value}"),
            Node::Number(text) => out.write_str(text),
            Node::Text(text) => write!(out, "{}", serde_json::Value::from(*text)),
            Node::List(items) => {
                out.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if at == 0 { "" } else { "," })?;
                }
                out.write_str("]")
            }
            Node::Map(members) => {
                out.write_str("{")?;
                for (at, (key, value)) in members.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(out, "{comma}{}:{value}", serde_json::Value::from(*key))?;
                }
                out.write_str("}")
            }
        }
    }
}

struct Parser<'a> {
    arena: &'a Bump,
    text: &'a str,
    /// The member of the outermost map that is left out.
    without: Option<&'static str>,
    /// Members and items of the maps and lists that are open.
    members: Vec<(&'a str, Node<'a>)>,
    items: Vec<Node<'a>>,
}

impl<'a> Parser<'a> {
    /// The value at the cursor, which is at its first byte.
    fn value(&mut self, cursor: &mut Cursor<'a>) -> Skim<Node<'a>> {
        match cursor.peek() {
            Some(b'"') => Ok(Node::Text(self.text(cursor.text()?))),
            Some(b'{') => {
                let start = self.members.len();
                let without = self.without.take();
                cursor.object(|cursor, key| {
                    let key = self.text(key);
                    if without == Some(key) {
                        return cursor.skip().map(|_| ());
                    }
                    let node = self.value(cursor)?;
                    self.members.push((key, node));
                    Ok(())
                })?;
                Ok(Node::Map(self.close(start)))
            }
            Some(b'[') => {
                let start = self.items.len();
                cursor.array(|cursor| {
                    let node = self.value(cursor)?;
                    self.items.push(node);
                    Ok(())
                })?;
                let items = self.items.get(start..).unwrap_or_default();
                let list = self.arena.alloc_slice_copy(items);
                self.items.truncate(start);
                Ok(Node::List(list))
            }
            _ => {
                let span = cursor.skip()?;
                Ok(match span.of(self.text.as_bytes()) {
                    b"null" => Node::Null,
                    b"true" => Node::Bool(true),
                    b"false" => Node::Bool(false),
                    _ => Node::Number(self.plain(span)),
                })
            }
        }
    }

    /// The members of the map that was opened at `start`.
    fn close(&mut self, start: usize) -> Members<'a> {
        let members = self.members.get_mut(start..).unwrap_or_default();
        let sorted = members.windows(2).all(|pair| match pair {
            [(left, _), (right, _)] => left < right,
            _ => true,
        });
        if !sorted {
            members.sort_by_key(|(key, _)| *key);
            // Of members of the same key, the last one counts.
            let mut last = start;
            for at in start + 1..self.members.len() {
                let next = self.members.get(at).copied();
                let same = self.members.get(last).map(|(key, _)| *key) == next.map(|(key, _)| key);
                last += usize::from(!same);
                if let (Some(next), Some(place)) = (next, self.members.get_mut(last)) {
                    *place = next;
                }
            }
            self.members.truncate(last + 1);
        }
        let members = self.members.get(start..).unwrap_or_default();
        let closed = self.arena.alloc_slice_copy(members);
        self.members.truncate(start);
        closed
    }

    fn text(&self, text: Text) -> &'a str {
        if text.escaped {
            self.arena.alloc_str(&text.decode(self.text.as_bytes()))
        } else {
            self.plain(text.span)
        }
    }

    fn plain(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn value(text: &str) -> Option<Value> {
        let arena = Bump::new();
        let node = Node::parse(text.as_bytes(), &arena).ok()?;
        Some(serde_json::from_str(&node.to_string()).unwrap())
    }

    proptest! {
        #[test]
        fn a_document_is_read_as_serde_json_reads_it(text in r#"[\[\]{}",:0-9a-c\\u. e+-]{0,24}"#) {
            let reference = serde_json::from_str(&text).ok();
            if reference.is_some() || value(&text).is_some_and(|value| !value.is_number()) {
                prop_assert_eq!(value(&text), reference);
            }
        }
    }

    #[test]
    fn the_last_member_of_a_key_counts() {
        let text =
            r#"{"b":1,"a":[{"x":"\u00e9\n"},null,true,-1.5e3],"b":2,"c":{},"a\u0062":false,"b":3,"ab":0}"#;
        assert_eq!(value(text), serde_json::from_str(text).ok());
        assert_eq!(value(r#"{"a":1,"a":2}"#), serde_json::from_str(r#"{"a":2}"#).ok());
    }
}
