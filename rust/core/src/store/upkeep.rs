//! The upkeep of a store, in bounded steps: packing, going over to another dictionary, compaction.

use super::Store;
use crate::dictionary::Samples;
use crate::entry::{Flag, Form};
use crate::packer::Packer;

/// How many objects a dictionary is trained from, and how many bytes at most of one and of all.
const SAMPLES: usize = 128;
const SAMPLE: usize = 16 << 10;
const ALL_SAMPLES: usize = 384 << 10;
/// A block in the making may keep this much memory.
const IDLE_BLOB: usize = 1 << 20;

impl Store {
    /// Looks at the entries that wait longest, at most so many, and packs those that did not change since the last look.
    pub(crate) fn tidy(&mut self, packer: &mut Packer, looks: usize) {
        if !packer.is_ready() {
            return;
        }
        // None is looked at twice in one go.
        for _ in 0..looks.min(self.queue.len()) {
            let Some(id) = self.queue.pop_front() else {
                break;
            };
            let probes = self.probes;
            let mut again = false;
            self.change(id, |entry, blob, new| {
                // An entry that is gone, or another one of the same id by now, may be in the queue still.
                if !entry.has(Flag::QUEUED) || entry.form() != Form::Raw {
                    entry.set(Flag::QUEUED, false);
                    return false;
                }
                again = entry.unset(Flag::TOUCHED);
                if again {
                    return false;
                }
                entry.set(Flag::QUEUED, false);
                let Some((form, payload)) = packer.pack(entry.payload(blob, probes)) else {
                    return false;
                };
                entry.repack(probes, blob, form, payload, new);
                true
            });
            if again {
                self.queue.push_back(id);
            }
        }
        if self.queue.capacity() > 64 && self.queue.len() * 4 < self.queue.capacity() {
            self.queue.shrink_to(self.queue.len() * 2);
        }
    }

    /// Packs entries of an outdated dictionary with the present one, at most so many.
    pub(crate) fn move_on(&mut self, outdated: usize, packer: &mut Packer, most: usize) {
        for _ in 0..most {
            if self.packed(outdated) == 0 {
                return;
            }
            let at = self.moved % self.entries.len().max(1);
            self.moved = at + 1;
            let Ok(id) = u32::try_from(at) else { return };
            if self
                .get(id)
                .is_some_and(|entry| entry.form() == Form::Packed(outdated))
            {
                let probes = self.probes;
                self.change(id, |entry, blob, new| {
                    let (form, payload) = packer.repack(entry.form(), entry.payload(blob, probes));
                    entry.repack(probes, blob, form, payload, new);
                    true
                });
            }
        }
    }

    /// Stored forms from all over the store to train a dictionary from.
    pub(crate) fn samples(&self, packer: &mut Packer) -> Samples {
        let mut samples = Samples {
            objects: self.len(),
            ..Samples::default()
        };
        let mut text = Vec::new();
        let step = (self.entries.len() / SAMPLES).max(1);
        for entry in self.entries.iter().step_by(step).flatten() {
            packer.unpack(entry.form(), self.payload(entry), &mut text);
            text.truncate(SAMPLE);
            if samples.bytes.len() + text.len() > ALL_SAMPLES {
                break;
            }
            if !text.is_empty() {
                samples.bytes.extend_from_slice(&text);
                samples.lengths.push(text.len());
            }
        }
        samples
    }

    /// Gives memory back after many entries went.
    pub(crate) fn shrink(&mut self) {
        if self.len() == 0 {
            *self = Self::new(self.probes);
        }
        while self.heap.is_wasteful() && self.heap.has_sparse() {
            self.compact();
        }
    }

    /// Moves blocks together where too much of the heap is dead, a few at a time.
    pub(crate) fn compact(&mut self) {
        self.blob.shrink_to(IDLE_BLOB);
        if self.heap.is_wasteful() {
            let entries = &mut self.entries;
            self.heap
                .compact(|id, old, new| match entries.get_mut(id as usize) {
                    Some(Some(entry)) if entry.block == old => {
                        entry.block = new;
                        true
                    }
                    _ => false,
                });
        }
    }
}
