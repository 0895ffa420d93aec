//! Packing: stored forms compressed against what the objects of their kind have in common.
//!
//! The first dictionary is trained once there are enough objects. When what it saves decays, another takes its place, and
//! entries go over to it bit by bit; until then both are here. Training has a thread of its own, so that nobody waits.

use std::thread::JoinHandle;

use crate::dictionary::{Dictionary, Samples};
use crate::entry::{Body, Form};
use crate::scan::View;

/// How many objects there must be before a dictionary is worth its memory.
const ENOUGH: usize = 256;
/// How many stored forms to pack before judging what is saved.
const WINDOW: u32 = 1024;
/// When packed forms are longer than they were once by this factor, in percent, the dictionary is too old.
const DECAYED: u64 = 130;
/// A scratch buffer may keep this much memory.
const IDLE_SCRATCH: usize = 1 << 20;

/// How long packed forms are beside stored ones.
#[derive(Debug, Default, Clone, Copy)]
struct Saving {
    count: u32,
    text: u64,
    packed: u64,
}

impl Saving {
    fn add(&mut self, text: usize, packed: usize) {
        self.count += 1;
        self.text += text as u64;
        self.packed += packed as u64;
    }

    /// Whether this is clearly less of a saving than `other`.
    fn is_worse_than(self, other: Self) -> bool {
        self.packed.saturating_mul(other.text).saturating_mul(100)
            > other.packed.saturating_mul(self.text).saturating_mul(DECAYED)
    }
}

/// The dictionaries of a cache, and the scratch memory to work with them.
#[derive(Debug)]
pub(crate) struct Packer {
    dictionaries: [Option<Dictionary>; 2],
    current: usize,
    training: Option<JoinHandle<Option<Vec<u8>>>>,
    /// With fewer objects than this, the first training is not tried.
    enough: usize,
    /// What the present dictionary saved at first, and what it saves now.
    first: Option<Saving>,
    latest: Saving,
    decayed: bool,
    trained: u64,
    text: Vec<u8>,
    packed: Vec<u8>,
}

impl Default for Packer {
    fn default() -> Self {
        Self {
            dictionaries: [None, None],
            current: 0,
            training: None,
            enough: ENOUGH,
            first: None,
            latest: Saving::default(),
            decayed: false,
            trained: 0,
            text: Vec::new(),
            packed: Vec::new(),
        }
    }
}

impl Packer {
    /// Bytes held, all told, while no training is under way.
    pub(crate) fn bytes(&self) -> usize {
        self.dictionary_bytes() + self.text.capacity() + self.packed.capacity()
    }

    /// Bytes of the dictionaries and of the memory to work with them.
    pub(crate) fn dictionary_bytes(&self) -> usize {
        self.dictionaries.iter().flatten().map(Dictionary::bytes).sum()
    }

    /// How many dictionaries there have been.
    pub(crate) fn trained(&self) -> u64 {
        self.trained
    }

    /// Whether there is a dictionary to pack with.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.dictionaries.get(self.current), Some(Some(_)))
    }

    /// Whether it is time to train a dictionary: the first, or, where a `calm` time allows it, the next.
    pub(crate) fn wants_samples(&self, objects: usize, calm: bool) -> bool {
        if self.training.is_some() || objects < self.enough {
            return false;
        }
        !self.is_ready() || (self.decayed && calm && self.outdated().is_none())
    }

    /// Begins to train from samples.
    pub(crate) fn train(&mut self, samples: Samples) {
        self.decayed = false;
        // Should it come to nothing, the next try is made with twice as many objects.
        self.enough = samples.objects.max(ENOUGH).saturating_mul(2);
        let thread = std::thread::Builder::new().name("openclaw-training".to_owned());
        self.training = thread.spawn(move || samples.train()).ok();
    }

    /// Trains from samples at once. For a list being read: nobody waits for it within milliseconds, what it brings is packed
    /// the sooner, and the megabytes that training takes are not left behind in a thread's own part of the allocator.
    pub(crate) fn train_now(&mut self, samples: Samples) {
        self.decayed = false;
        self.enough = samples.objects.max(ENOUGH).saturating_mul(2);
        self.install(samples.train());
    }

    /// Takes a dictionary whose training is over into use.
    pub(crate) fn poll(&mut self) {
        if self.training.as_ref().is_some_and(JoinHandle::is_finished) {
            let thread = self.training.take().and_then(|thread| thread.join().ok());
            self.install(thread.flatten());
        }
    }

    fn install(&mut self, trained: Option<Vec<u8>>) {
        let dictionary = trained.and_then(|trained| Dictionary::new(&trained));
        let place = if self.is_ready() {
            1 - self.current
        } else {
            self.current
        };
        if let (Some(dictionary), Some(free)) = (dictionary, self.dictionaries.get_mut(place)) {
            *free = Some(dictionary);
            self.current = place;
            self.first = None;
            self.latest = Saving::default();
            self.enough = ENOUGH;
            self.trained += 1;
        }
    }

    /// The place of the dictionary that entries are to leave, if there is one.
    pub(crate) fn outdated(&self) -> Option<usize> {
        let other = 1 - self.current;
        self.dictionaries.get(other)?.as_ref().map(|_| other)
    }

    /// Drops the dictionary that nothing is packed with any more.
    pub(crate) fn retire(&mut self, place: usize) {
        if let Some(dictionary) = self.dictionaries.get_mut(place) {
            *dictionary = None;
        }
    }

    /// The packed form of a text; `None` when there is no dictionary, or the text gains too little.
    pub(crate) fn pack(&mut self, text: &[u8]) -> Option<(Form, &[u8])> {
        let dictionary = self.dictionaries.get_mut(self.current)?.as_mut()?;
        self.packed.shrink_to(IDLE_SCRATCH);
        let packed = dictionary.pack(text, &mut self.packed);
        let length = if packed { self.packed.len() } else { text.len() };
        self.latest.add(text.len(), length);
        if self.latest.count == WINDOW {
            match self.first {
                None => self.first = Some(self.latest),
                Some(first) => self.decayed |= self.latest.is_worse_than(first),
            }
            self.latest = Saving::default();
        }
        packed.then_some((Form::Packed(self.current), &*self.packed))
    }

    /// The object's stored form, packed when that is possible and worth it.
    pub(crate) fn body<'a>(&'a mut self, view: View<'a>) -> Body<'a> {
        if !self.is_ready() {
            return Body::Fresh(view);
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.shrink_to(IDLE_SCRATCH);
        view.prune(&mut text);
        let packed = self.pack(&text).map(|(form, _)| form);
        self.text = text;
        packed.map_or(Body::Fresh(view), |form| Body::Kept(form, &self.packed))
    }

    /// The packed form in the present dictionary of what is kept in another form.
    pub(crate) fn repack(&mut self, form: Form, payload: &[u8]) -> (Form, &[u8]) {
        let mut text = std::mem::take(&mut self.text);
        self.unpack(form, payload, &mut text);
        let packed = self.pack(&text).map(|(form, _)| form);
        self.text = text;
        match packed {
            Some(form) => (form, &*self.packed),
            None => (Form::Raw, &*self.text),
        }
    }

    /// Writes what is kept in a form.
    pub(crate) fn unpack(&mut self, form: Form, payload: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.shrink_to(IDLE_SCRATCH);
        match form {
            Form::Raw => out.extend_from_slice(payload),
            Form::Packed(place) => {
                // It cannot fail: what is kept was packed here.
                if let Some(Some(dictionary)) = self.dictionaries.get_mut(place) {
                    dictionary.unpack(payload, out);
                }
            }
        }
    }

    /// What is kept in a form.
    pub(crate) fn read<'a>(&'a mut self, form: Form, payload: &'a [u8]) -> &'a [u8] {
        if form == Form::Raw {
            return payload;
        }
        let mut text = std::mem::take(&mut self.text);
        self.unpack(form, payload, &mut text);
        self.text = text;
        &self.text
    }
}
