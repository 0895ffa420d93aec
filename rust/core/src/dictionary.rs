//! A dictionary: what the objects of one kind have in common, and the compression against it.

use std::io::Cursor;

use zstd_safe::{CCtx, CParameter, DCtx, DParameter, FrameFormat};

/// The fastest level that still codes what it cannot find in the dictionary; higher ones gain nothing on such short texts.
const LEVEL: i32 = 1;
/// The most bytes of a dictionary.
const LARGEST: usize = 16 << 10;
/// A packed form begins with the length of the stored form, seven bits a byte.
const LENGTH_BITS: u32 = 7;
/// The bit that says that more bits of the length follow.
const CONTINUES: u8 = 0x80;
/// What is not at least one part in so many shorter is not worth packing.
const WORTH: usize = 8;

/// A trained dictionary, ready to pack and unpack.
pub(crate) struct Dictionary {
    packer: CCtx<'static>,
    unpacker: DCtx<'static>,
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Dictionary").finish_non_exhaustive()
    }
}

/// Texts to train a dictionary from, behind each other.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    /// How many objects they were taken from.
    pub(crate) objects: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) lengths: Vec<usize>,
}

impl Samples {
    /// Trains; takes tens of milliseconds. `None` when there is nothing to learn from the samples.
    pub(crate) fn train(self) -> Option<Vec<u8>> {
        let mut trained = Vec::with_capacity(LARGEST.min(self.bytes.len() / 4));
        zstd_safe::train_from_buffer(&mut trained, &self.bytes, &self.lengths).ok()?;
        trained.shrink_to_fit();
        Some(trained)
    }
}

impl Dictionary {
    /// `None` only when memory is short.
    pub(crate) fn new(trained: &[u8]) -> Option<Self> {
        let mut packer = CCtx::try_create()?;
        // A frame says nothing that is known anyway: 12 bytes less for each object.
        for parameter in [
            CParameter::CompressionLevel(LEVEL),
            CParameter::Format(FrameFormat::Magicless),
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ] {
            packer.set_parameter(parameter).ok()?;
        }
        packer.load_dictionary(trained).ok()?;
        let mut unpacker = DCtx::try_create()?;
        unpacker
            .set_parameter(DParameter::Format(FrameFormat::Magicless))
            .ok()?;
        unpacker.load_dictionary(trained).ok()?;
        Some(Self { packer, unpacker })
    }

    /// Bytes held, all told: the dictionary in both forms, and what is needed to work with it.
    pub(crate) fn bytes(&self) -> usize {
        self.packer.sizeof() + self.unpacker.sizeof()
    }

    /// Writes the packed form of a text; false when it gains too little.
    pub(crate) fn pack(&mut self, text: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        out.reserve(zstd_safe::compress_bound(text.len()) + size_of::<u64>());
        let mut rest = text.len();
        while rest >= 1 << LENGTH_BITS {
            out.push(low_bits(rest) | CONTINUES);
            rest >>= LENGTH_BITS;
        }
        out.push(low_bits(rest));
        let mut tail = Cursor::new(&mut *out);
        tail.set_position(tail.get_ref().len() as u64);
        self.packer.compress2(&mut tail, text).is_ok() && out.len() < text.len() - text.len() / WORTH
    }

    /// Writes the text of a packed form; false when it is none, which does not happen to our own.
    pub(crate) fn unpack(&mut self, packed: &[u8], out: &mut Vec<u8>) -> bool {
        let Some((length, frame)) = split(packed) else {
            return false;
        };
        out.clear();
        out.try_reserve(length).is_ok() && self.unpacker.decompress(out, frame).is_ok() && out.len() == length
    }
}

fn low_bits(number: usize) -> u8 {
    u8::try_from(number & usize::from(!CONTINUES)).unwrap_or_default()
}

/// The length of a packed form's text, and the rest of the form.
fn split(packed: &[u8]) -> Option<(usize, &[u8])> {
    let (mut length, mut shift) = (0, 0);
    for (at, byte) in packed.iter().enumerate() {
        length |= usize::from(byte & !CONTINUES) << shift;
        shift += LENGTH_BITS;
        if byte & CONTINUES == 0 || shift > usize::BITS - LENGTH_BITS {
            return Some((length, packed.get(at + 1..)?));
        }
    }
    None
}

/// The length of a packed form's text.
pub(crate) fn unpacked_len(packed: &[u8]) -> usize {
    split(packed).map_or(0, |(length, _)| length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples {
        let mut samples = Samples::default();
        for at in 0..200 {
            let text = format!(
                r#"{{"metadata":{{"name":"web-{at}","labels":{{"app":"storefront"}}}},"spec":{{"replicas":{}}}}}"#,
                at % 7
            );
            samples.lengths.push(text.len());
            samples.bytes.extend_from_slice(text.as_bytes());
        }
        samples
    }

    #[test]
    fn what_is_packed_comes_back_whatever_its_length() {
        let mut dictionary = Dictionary::new(&samples().train().unwrap()).unwrap();
        let (mut packed, mut text) = (Vec::new(), Vec::new());
        for length in [100, 127, 128, 5_000, 16_383, 16_384, 3_000_000] {
            let sample = samples().bytes.repeat(length / 10_000 + 1);
            let sample = &sample[..length];
            assert!(dictionary.pack(sample, &mut packed), "{length}");
            assert!(packed.len() < length);
            assert_eq!(unpacked_len(&packed), length);
            assert!(dictionary.unpack(&packed, &mut text), "{length}");
            assert_eq!(text, sample);
        }
    }

    #[test]
    fn what_gains_nothing_is_not_packed_and_what_is_no_packed_form_is_refused() {
        let mut dictionary = Dictionary::new(&samples().train().unwrap()).unwrap();
        let mut out = Vec::new();
        let noise: Vec<u8> = (0..400u32)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        assert!(!dictionary.pack(&noise, &mut out));
        assert!(!dictionary.pack(b"", &mut out));
        for bytes in [&b"\xff"[..], b"\x05hello", &[0xFF; 40]] {
            assert!(!dictionary.unpack(bytes, &mut out), "{bytes:?}");
        }
    }

    #[test]
    fn nothing_is_learned_from_nothing() {
        assert!(Samples::default().train().is_none());
    }
}
