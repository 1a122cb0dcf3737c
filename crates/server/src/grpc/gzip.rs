//! Messages in gzip, in which SDKs send nearly all of theirs.
//!
//! Most are a few hundred bytes long, and what it takes to begin to unpack one costs more than the
//! unpacking. So each thread keeps it: its tables, and the room for the message.

use std::{cell::RefCell, io, io::Write as _};

use flate2::{Compression, write::GzEncoder};
use libdeflater::{Crc, DecompressionError, Decompressor};

/// Why a message cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unpackable {
    #[error("it does not begin as gzip does")]
    Header,
    #[error("it ends in the middle")]
    Truncated,
    #[error("it was damaged on its way: its checksum is another")]
    Checksum,
    #[error("what is packed makes no sense")]
    Data,
    #[error("it is larger than {0} bytes")]
    TooLarge(usize),
}

/// What unpacks.
struct Unpacker {
    inflate: Decompressor,
    /// Where to. Whatever is in it is written over.
    room: Vec<u8>,
}

thread_local! {
    static UNPACKER: RefCell<Unpacker> = RefCell::new(Unpacker {
        inflate: Decompressor::new(),
        room: Vec::new(),
    });
}

/// Unpacks a message that is not larger than `largest`, and has it read.
pub(super) fn unpack<T>(
    packed: &[u8],
    largest: usize,
    read: impl FnOnce(&[u8]) -> T,
) -> Result<T, Unpackable> {
    UNPACKER.with_borrow_mut(|unpacker| {
        let done = unpacker.unpack(packed, largest).map(read);
        if unpacker.room.len() > KEPT_MAX {
            unpacker.room = Vec::new();
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
    fn unpack(&mut self, packed: &[u8], largest: usize) -> Result<&[u8], Unpackable> {
        let rest = after_header(packed).ok_or(Unpackable::Header)?;
        let (deflated, sum, length) = parts(rest).ok_or(Unpackable::Truncated)?;
        // What its sender says of its length is a hint: whoever is wrong about it is only slower.
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.make_room(length.max(ROOM).min(largest));
        let length = loop {
            match self.inflate.deflate_decompress(deflated, &mut self.room) {
                Ok(length) => break length,
                Err(DecompressionError::BadData) => return Err(Unpackable::Data),
                Err(DecompressionError::InsufficientSpace) if self.room.len() >= largest => {
                    return Err(Unpackable::TooLarge(largest));
                }
                Err(DecompressionError::InsufficientSpace) => {
                    self.make_room(self.room.len().saturating_mul(2).min(largest));
                }
            }
        };
        let message = self.room.get(..length).unwrap_or_default();
        if length > largest {
            return Err(Unpackable::TooLarge(largest));
        }
        if checksum(message) == sum { Ok(message) } else { Err(Unpackable::Checksum) }
    }

    fn make_room(&mut self, bytes: usize) {
        if self.room.len() < bytes {
            self.room.resize(bytes, 0);
        }
    }
}

fn checksum(message: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(message);
    crc.sum()
}

/// What is packed, and behind it the checksum and the length of the message.
fn parts(rest: &[u8]) -> Option<(&[u8], u32, u32)> {
    let (rest, length) = rest.split_last_chunk()?;
    let (deflated, sum) = rest.split_last_chunk()?;
    Some((deflated, u32::from_le_bytes(*sum), u32::from_le_bytes(*length)))
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

const DEFLATE: u8 = 8;
const HEADER_SUM: u8 = 0b0_0010;
const EXTRA: u8 = 0b0_0100;
const NAME: u8 = 0b0_1000;
const COMMENT: u8 = 0b1_0000;

/// The smallest room: most messages find it.
const ROOM: usize = 4 * 1024;

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
