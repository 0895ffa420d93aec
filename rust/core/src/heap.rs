//! The memory of a store's entries: blocks behind each other in segments, which are compacted when too much of one is dead.
//!
//! The system's allocator would put the small blocks between the large buffers that come and go in an HTTP client, and leave
//! holes of up to twice the blocks' own length.

use std::collections::VecDeque;
use std::num::NonZeroU32;

/// The bytes of a segment when there are many; the first ones are smaller.
const LARGEST: usize = 256 << 10;
const SMALLEST: usize = 4 << 10;
/// So many dead bytes are tolerated anywhere.
const TOLERATED: usize = 128 << 10;
/// A block begins with the number of its owner and its own length.
const HEAD: usize = 2 * size_of::<u32>();

/// Where a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// The segment's number, from one up.
    segment: NonZeroU32,
    start: u32,
}

impl Block {
    /// No block.
    pub(crate) const NONE: Self = Self {
        segment: NonZeroU32::MAX,
        start: 0,
    };
}

#[derive(Debug, Default)]
struct Segment {
    bytes: Vec<u8>,
    dead: usize,
    sparse: bool,
}

/// Segments of blocks.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    segments: Vec<Segment>,
    /// Numbers of segments that hold nothing.
    free: Vec<u32>,
    /// The segment to which blocks are appended.
    active: u32,
    /// Segments of which a good part is dead.
    sparse: VecDeque<u32>,
    used: usize,
    dead: usize,
    capacity: usize,
}

impl Heap {
    /// Bytes held, all told.
    pub(crate) fn bytes(&self) -> usize {
        self.capacity
            + self.segments.capacity() * size_of::<Segment>()
            + (self.free.capacity() + self.sparse.capacity()) * size_of::<u32>()
    }

    fn segment(&self, block: Block) -> Option<&Segment> {
        self.segments.get(block.segment.get() as usize - 1)
    }

    /// The bytes of a block.
    pub(crate) fn get(&self, block: Block) -> &[u8] {
        let bytes = self.segment(block).map(|segment| segment.bytes.as_slice());
        let tail = bytes.and_then(|bytes| bytes.get(block.start as usize..));
        let Some((_, len, rest)) = tail.and_then(head) else {
            return &[];
        };
        rest.get(..len).unwrap_or_default()
    }

    /// Adds a block of this owner. `None` only when the heap is full (some hundred terabytes), or the block is (4 GiB).
    pub(crate) fn add(&mut self, owner: u32, bytes: &[u8]) -> Option<Block> {
        let len = u32::try_from(bytes.len()).ok()?;
        let size = HEAD + bytes.len();
        let fits = |segment: &Segment| segment.bytes.capacity() - segment.bytes.len() >= size;
        if !self.segments.get(self.active as usize).is_some_and(fits) {
            self.open(size)?;
        }
        let segment = self.segments.get_mut(self.active as usize)?;
        let start = u32::try_from(segment.bytes.len()).ok()?;
        segment.bytes.extend_from_slice(&owner.to_le_bytes());
        segment.bytes.extend_from_slice(&len.to_le_bytes());
        segment.bytes.extend_from_slice(bytes);
        self.used += size;
        let segment = NonZeroU32::new(self.active + 1)?;
        Some(Block { segment, start })
    }

    /// Begins a segment with room for so many bytes.
    fn open(&mut self, size: usize) -> Option<()> {
        let capacity = (self.used / 8).clamp(SMALLEST, LARGEST).max(size);
        let segment = Segment {
            bytes: Vec::with_capacity(capacity),
            ..Segment::default()
        };
        let before = self.active;
        self.capacity += segment.bytes.capacity();
        if let Some(number) = self.free.pop() {
            *self.segments.get_mut(number as usize)? = segment;
            self.active = number;
        } else {
            self.active = u32::try_from(self.segments.len()).ok()?;
            self.segments.push(segment);
        }
        self.judge(before);
        Some(())
    }

    /// Writes other bytes of the same length into a block; false when they are not.
    pub(crate) fn overwrite(&mut self, block: Block, bytes: &[u8]) -> bool {
        let Some(segment) = self.segments.get_mut(block.segment.get() as usize - 1) else {
            return false;
        };
        let start = block.start as usize;
        let same = segment.bytes.get(start..).and_then(head);
        if same.is_none_or(|(_, len, _)| len != bytes.len()) {
            return false;
        }
        let place = segment
            .bytes
            .get_mut(start + HEAD..)
            .and_then(|tail| tail.get_mut(..bytes.len()));
        let Some(place) = place else { return false };
        place.copy_from_slice(bytes);
        true
    }

    /// A block is needed no more.
    pub(crate) fn remove(&mut self, block: Block) {
        let size = HEAD + self.get(block).len();
        let number = block.segment.get() - 1;
        if let Some(segment) = self.segments.get_mut(number as usize) {
            segment.dead += size;
            self.dead += size;
            self.judge(number);
        }
    }

    /// Frees a segment that is all dead, and notes one that is worth compacting.
    fn judge(&mut self, number: u32) {
        let Some(segment) = self.segments.get_mut(number as usize) else {
            return;
        };
        if number == self.active || segment.bytes.capacity() == 0 {
            return;
        }
        if segment.dead == segment.bytes.len() {
            self.used -= segment.dead;
            self.dead -= segment.dead;
            self.capacity -= segment.bytes.capacity();
            segment.bytes = Vec::new();
            segment.dead = 0;
            segment.sparse = false;
            self.free.push(number);
        } else if segment.dead * 4 > segment.bytes.len() && !segment.sparse {
            segment.sparse = true;
            self.sparse.push_back(number);
        }
    }

    /// Whether more is dead than it should be.
    pub(crate) fn is_wasteful(&self) -> bool {
        self.dead > TOLERATED && self.dead * 4 > self.used
    }

    /// Whether there is a segment that `compact` would look at.
    pub(crate) fn has_sparse(&self) -> bool {
        !self.sparse.is_empty()
    }

    /// Moves the blocks of one sparse segment together. `moved` is told of each block, by its owner and both places, and says
    /// whether it was that owner's: if not, it was dead.
    pub(crate) fn compact(&mut self, mut moved: impl FnMut(u32, Block, Block) -> bool) {
        let Some(number) = self.sparse.pop_front() else {
            return;
        };
        let Some(segment) = self.segments.get_mut(number as usize) else {
            return;
        };
        let sparse = std::mem::take(&mut segment.sparse);
        if !sparse || number == self.active {
            return;
        }
        let bytes = std::mem::take(&mut segment.bytes);
        self.used -= bytes.len();
        self.dead -= std::mem::take(&mut segment.dead);
        self.capacity -= bytes.capacity();
        let mut start = 0;
        while let Some((owner, len, rest)) = bytes.get(start..).and_then(head) {
            let (Some(segment), Ok(from)) = (NonZeroU32::new(number + 1), u32::try_from(start)) else {
                break;
            };
            let old = Block { segment, start: from };
            let body = rest.get(..len).unwrap_or_default();
            start += HEAD + len;
            if let Some(new) = self.add(owner, body) {
                if !moved(owner, old, new) {
                    self.retract(new);
                }
            }
        }
        self.free.push(number);
    }

    /// Takes back the block that was added last.
    fn retract(&mut self, block: Block) {
        if let Some(segment) = self.segments.get_mut(block.segment.get() as usize - 1) {
            let size = segment.bytes.len() - block.start as usize;
            segment.bytes.truncate(block.start as usize);
            self.used -= size;
        }
    }
}

/// A block's owner and length, and what follows its head.
fn head(bytes: &[u8]) -> Option<(u32, usize, &[u8])> {
    let (owner, rest) = bytes.split_first_chunk::<4>()?;
    let (len, rest) = rest.split_first_chunk::<4>()?;
    Some((
        u32::from_le_bytes(*owner),
        u32::from_le_bytes(*len) as usize,
        rest,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What happens: a block of this owner gets so many bytes (0 to 3 of which are the same), or goes.
    fn history() -> impl Strategy<Value = Vec<(u32, Option<usize>)>> {
        prop::collection::vec((0u32..40, prop::option::weighted(0.8, 0usize..30_000)), 0..300)
    }

    proptest! {
        #[test]
        fn blocks_keep_their_bytes_wherever_they_are_moved(history in history()) {
            let mut heap = Heap::default();
            let mut blocks: Vec<Option<(Block, Vec<u8>)>> = vec![None; 40];
            for (at, (owner, len)) in history.into_iter().enumerate() {
                let bytes = len.map(|len| vec![u8::try_from(at % 251).unwrap(); len]);
                let place = &mut blocks[owner as usize];
                if let (Some((block, known)), Some(bytes)) = (&mut *place, &bytes) {
                    prop_assert_eq!(heap.overwrite(*block, bytes), known.len() == bytes.len());
                }
                if let Some((block, _)) = place.take() {
                    heap.remove(block);
                }
                *place = bytes.map(|bytes| (heap.add(owner, &bytes).unwrap(), bytes));
                for _ in 0..usize::from(heap.is_wasteful()) * 20 {
                    heap.compact(|owner, old, new| match &mut blocks[owner as usize] {
                        Some((block, _)) if *block == old => {
                            *block = new;
                            true
                        }
                        _ => false,
                    });
                }
                for (block, bytes) in blocks.iter().flatten() {
                    prop_assert!(heap.get(*block) == bytes.as_slice());
                }
                let alive: usize = blocks.iter().flatten().map(|(_, bytes)| bytes.len() + HEAD).sum();
                prop_assert_eq!(heap.used - heap.dead, alive);
                let capacity: usize = heap.segments.iter().map(|segment| segment.bytes.capacity()).sum();
                prop_assert_eq!(heap.capacity, capacity);
            }
            for (block, _) in blocks.iter().flatten() {
                heap.remove(*block);
            }
            prop_assert!(heap.capacity <= LARGEST.max(30_000 + HEAD));
        }
    }
}
