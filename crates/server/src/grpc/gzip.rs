//! Messages in gzip, in which SDKs send nearly all of theirs.
//!
//! Most are a few hundred bytes long, and what it takes to begin to unpack one costs more than the
//! unpacking. So each thread keeps it: its tables, and the room for the message.

use std::{cell::RefCell, io, io::Write as _};

use flate2::{Compression, Crc, Decompress, FlushDecompress, Status, write::GzEncoder};

/// Why a message cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unpackable {
    #[error("it does not begin as gzip does")]
    Header,
    #[error("it ends in the middle")]
    Truncated,
    #[error("it was damaged on its way: its checksum is another")]
    Checksum,
    #[error(transparent)]
    Data(#[from] flate2::DecompressError),
    #[error("it is larger than {0} bytes")]
    TooLarge(usize),
}

/// What unpacks.
struct Unpacker {
    inflate: Decompress,
    message: Vec<u8>,
}

thread_local! {
    static UNPACKER: RefCell<Unpacker> = RefCell::new(Unpacker {
        inflate: Decompress::new(false),
        message: Vec::new(),
    });
}

/// Unpacks a message that is not larger than `largest`, and has it read.
pub(super) fn unpack<T>(
    packed: &[u8],
    largest: usize,
    read: impl FnOnce(&[u8]) -> T,
) -> Result<T, Unpackable> {
    UNPACKER.with_borrow_mut(|unpacker| {
        let done = unpacker.unpack(packed, largest).map(|()| read(&unpacker.message));
        if unpacker.message.capacity() > KEPT_MAX {
            unpacker.message = Vec::new();
        }
        done
    })
}

/// Packs a message.
pub(super) fn pack(message: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::with_capacity(message.len() / 4), Compression::default());
    packer.write_all(message)?;
    packer.finish()
}

impl Unpacker {
    fn unpack(&mut self, packed: &[u8], largest: usize) -> Result<(), Unpackable> {
        let deflated = after_header(packed).ok_or(Unpackable::Header)?;
        self.inflate.reset(false);
        self.message.clear();
        self.message.reserve(length_said(packed).min(largest) + 1);
        let mut rest = deflated;
        loop {
            let status =
                self.inflate.decompress_vec(rest, &mut self.message, FlushDecompress::Finish)?;
            let done = usize::try_from(self.inflate.total_in()).unwrap_or(usize::MAX);
            rest = deflated.get(done..).ok_or(Unpackable::Truncated)?;
            if self.message.len() > largest {
                return Err(Unpackable::TooLarge(largest));
            }
            if status == Status::StreamEnd {
                return self.check(rest);
            }
            if self.message.len() < self.message.capacity() {
                return Err(Unpackable::Truncated);
            }
            self.message.reserve(self.message.len().min(largest + 1 - self.message.len()));
        }
    }

    /// Compares the message with what its sender says about it.
    fn check(&self, said: &[u8]) -> Result<(), Unpackable> {
        let (sum, _length) = said.split_first_chunk::<4>().ok_or(Unpackable::Truncated)?;
        let mut crc = Crc::new();
        crc.update(&self.message);
        if crc.sum() == u32::from_le_bytes(*sum) { Ok(()) } else { Err(Unpackable::Checksum) }
    }
}

/// What follows the header of a gzip file.
fn after_header(packed: &[u8]) -> Option<&[u8]> {
    let (&[0x1f, 0x8b, DEFLATE, flags, ..], mut rest) = packed.split_first_chunk::<10>()? else {
        return None;
    };
    if flags & EXTRA != 0 {
        let (length, after) = rest.split_first_chunk::<2>()?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = rest.get(end + 1..)?;
        }
    }
    if flags & HEADER_SUM != 0 {
        rest = rest.get(2..)?;
    }
    Some(rest)
}

/// How long a message is, by its last four bytes: a hint, for whoever is wrong about it is only
/// slower.
fn length_said(packed: &[u8]) -> usize {
    let said = packed.last_chunk::<4>().map_or(0, |said| u32::from_le_bytes(*said));
    usize::try_from(said).unwrap_or(usize::MAX)
}

const DEFLATE: u8 = 8;
const HEADER_SUM: u8 = 0b0_0010;
const EXTRA: u8 = 0b0_0100;
const NAME: u8 = 0b0_1000;
const COMMENT: u8 = 0b1_0000;

/// The largest room for a message that a thread keeps.
const KEPT_MAX: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use flate2::GzBuilder;

    use super::*;

    fn unpacked(packed: &[u8]) -> Result<Vec<u8>, Unpackable> {
        unpack(packed, 100_000, <[u8]>::to_vec)
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let long: Vec<u8> =
            (0_u32..25_000).flat_map(|n| n.wrapping_mul(0x9e37).to_le_bytes()).collect();
        for message in [&b""[..], b"a", b"a workflow", &vec![0; 70_000], &long] {
            assert_eq!(unpacked(&pack(message).unwrap()).unwrap(), message);
        }
    }

    #[test]
    fn all_that_a_header_may_hold_is_skipped() {
        let builder = GzBuilder::new().extra("more").filename("order").comment("for you");
        let mut packer = builder.write(Vec::new(), Compression::fast());
        packer.write_all(b"a message").unwrap();
        assert_eq!(unpacked(&packer.finish().unwrap()).unwrap(), b"a message");
    }

    #[test]
    fn a_wrong_length_is_no_harm() {
        let mut packed = pack(&[7; 5_000]).unwrap();
        for said in [0_u32, 1, 4_999, 6_000, u32::MAX] {
            *packed.last_chunk_mut::<4>().unwrap() = said.to_le_bytes();
            assert_eq!(unpacked(&packed).unwrap(), [7; 5_000]);
        }
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_refused() {
        let message = b"charge the card of order 4711";
        let packed = pack(message).unwrap();
        for end in 0..packed.len() - 4 {
            let cut = unpacked(&packed[..end]);
            assert!(cut.is_err(), "{end} of {} bytes", packed.len());
        }
        for place in 10..packed.len() - 4 {
            let mut damaged = packed.clone();
            damaged[place] ^= 0x10;
            // The last bits before the checksum only fill up their byte.
            assert!(unpacked(&damaged).is_err() || place == packed.len() - 9, "byte {place}");
        }
        assert_eq!(unpacked(&packed).unwrap(), message, "as before");
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let bomb = pack(&vec![0; 10_000_000]).unwrap();
        assert!(matches!(unpacked(&bomb), Err(Unpackable::TooLarge(100_000))));
        assert_eq!(
            unpacked(&pack(&vec![0; 100_000]).unwrap()).unwrap().len(),
            100_000,
            "just as much"
        );
    }
}
