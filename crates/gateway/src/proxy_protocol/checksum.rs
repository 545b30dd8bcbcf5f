//! CRC32c (RFC 3385), bit by bit: a header is short, and few connections have one.

/// The checksum of these bytes, one part behind the other.
pub(super) fn crc32c(parts: &[&[u8]]) -> u32 {
    const REVERSED_POLYNOMIAL: u32 = 0x82f6_3b78;
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { REVERSED_POLYNOMIAL } else { 0 }
        })
    })
}
