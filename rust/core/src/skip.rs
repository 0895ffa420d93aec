//! Steps over JSON values of any kind. Positions in, positions out; `None` where the text is not JSON.

use crate::plain::string_end;

/// Steps over white space and returns the byte after it.
#[inline]
pub(crate) fn spaces(bytes: &[u8], pos: &mut usize) -> Option<u8> {
    match bytes.get(*pos) {
        Some(&byte) if byte > b' ' => Some(byte),
        _ => many_spaces(bytes, pos),
    }
}

#[cold]
fn many_spaces(bytes: &[u8], pos: &mut usize) -> Option<u8> {
    loop {
        match bytes.get(*pos) {
            Some(b' ' | b'\t' | b'\n' | b'\r') => *pos += 1,
            other => return other.copied(),
        }
    }
}

/// The position behind the value at `pos`, which may hold containers in each other up to `depth`.
pub(crate) fn skip_value(bytes: &[u8], mut pos: usize, depth: u32) -> Option<usize> {
    // One bit a level: set inside an object, clear inside an array.
    let mut kinds: u128 = 0;
    let mut level: u32 = 0;
    loop {
        match spaces(bytes, &mut pos)? {
            b'"' => pos = string(bytes, pos + 1)?,
            open @ (b'{' | b'[') => {
                if level == depth {
                    return None;
                }
                pos += 1;
                let object = open == b'{';
                // The closing bracket follows the opening one by two in ASCII.
                if spaces(bytes, &mut pos)? == open + 2 {
                    pos += 1;
                } else {
                    level += 1;
                    kinds = (kinds << 1) | u128::from(object);
                    if object {
                        pos = key(bytes, pos)?;
                    }
                    continue;
                }
            }
            b't' => pos = literal(bytes, pos, b"true")?,
            b'f' => pos = literal(bytes, pos, b"false")?,
            b'n' => pos = literal(bytes, pos, b"null")?,
            _ => pos = number_end(bytes, pos)?,
        }
        loop {
            if level == 0 {
                return Some(pos);
            }
            let object = kinds & 1 == 1;
            let byte = spaces(bytes, &mut pos)?;
            pos += 1;
            match byte {
                b',' => {
                    if object {
                        pos = key(bytes, pos)?;
                    }
                    break;
                }
                b'}' if object => {}
                b']' if !object => {}
                _ => return None,
            }
            level -= 1;
            kinds >>= 1;
        }
    }
}

/// The position behind a key and its colon.
#[inline]
fn key(bytes: &[u8], mut pos: usize) -> Option<usize> {
    if spaces(bytes, &mut pos)? != b'"' {
        return None;
    }
    pos = string(bytes, pos + 1)?;
    if spaces(bytes, &mut pos)? == b':' {
        Some(pos + 1)
    } else {
        None
    }
}

/// The position behind a string whose first character is at `pos`.
#[inline]
fn string(bytes: &[u8], pos: usize) -> Option<usize> {
    let end = string_end(bytes, pos);
    if bytes.get(end) == Some(&b'"') {
        Some(end + 1)
    } else {
        escaped_string(bytes, end)
    }
}

/// The same from the first character that is not plain.
fn escaped_string(bytes: &[u8], mut pos: usize) -> Option<usize> {
    loop {
        match bytes.get(pos)? {
            b'"' => return Some(pos + 1),
            b'\\' => pos = escape_end(bytes, pos)?,
            _ => return None,
        }
        pos = string_end(bytes, pos);
    }
}

/// The position behind the escape whose backslash is at `pos`. A lone surrogate is refused, as decoders refuse it.
pub(crate) fn escape_end(bytes: &[u8], pos: usize) -> Option<usize> {
    match bytes.get(pos + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(pos + 2),
        b'u' => match hex4(bytes, pos + 2)? {
            0xD800..=0xDBFF => {
                let low = bytes.get(pos + 6..pos + 8) == Some(b"\\u");
                if low && matches!(hex4(bytes, pos + 8)?, 0xDC00..=0xDFFF) {
                    Some(pos + 12)
                } else {
                    None
                }
            }
            0xDC00..=0xDFFF => None,
            _ => Some(pos + 6),
        },
        _ => None,
    }
}

fn hex4(bytes: &[u8], pos: usize) -> Option<u32> {
    let mut code = 0;
    for &byte in bytes.get(pos..pos + 4)? {
        code = code * 16 + char::from(byte).to_digit(16)?;
    }
    Some(code)
}

fn literal(bytes: &[u8], pos: usize, word: &[u8]) -> Option<usize> {
    let end = pos + word.len();
    if bytes.get(pos..end) == Some(word) {
        Some(end)
    } else {
        None
    }
}

/// The position behind the number at `pos`.
fn number_end(bytes: &[u8], mut pos: usize) -> Option<usize> {
    if bytes.get(pos) == Some(&b'-') {
        pos += 1;
    }
    pos = if bytes.get(pos) == Some(&b'0') {
        pos + 1
    } else {
        digits(bytes, pos)?
    };
    if bytes.get(pos) == Some(&b'.') {
        pos = digits(bytes, pos + 1)?;
    }
    if matches!(bytes.get(pos), Some(b'e' | b'E')) {
        pos += 1;
        if matches!(bytes.get(pos), Some(b'+' | b'-')) {
            pos += 1;
        }
        pos = digits(bytes, pos)?;
    }
    Some(pos)
}

fn digits(bytes: &[u8], start: usize) -> Option<usize> {
    let mut pos = start;
    while matches!(bytes.get(pos), Some(b'0'..=b'9')) {
        pos += 1;
    }
    if pos == start { None } else { Some(pos) }
}
