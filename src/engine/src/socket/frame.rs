//! What travels between the two ends of a socket.

use bytes::Bytes;

/// The code that stands for "closed without a code"; it is never written on the wire.
pub(crate) const NO_CODE: u16 = 1005;

/// A message, or the end of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Bytes),
    /// The sender will send nothing more.
    Close(Close),
    /// The connection behind the other end broke the protocol; the text says how. Nothing comes after it.
    Failed(String),
}

/// Why one side closes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    /// 1000 to 4999; 1005 stands for "no code".
    pub code: u16,
    /// At most 123 bytes on the wire.
    pub reason: String,
}

impl Close {
    /// A close with a code and a reason.
    pub fn new(code: u16, reason: impl Into<String>) -> Close {
        Close { code, reason: reason.into() }
    }

    /// The payload of the frame on the wire. A longer reason than fits is cut at a character.
    pub(crate) fn payload(&self) -> Vec<u8> {
        const MAX_REASON: usize = 123;
        if self.code == NO_CODE {
            return Vec::new();
        }
        let mut end = self.reason.len().min(MAX_REASON);
        while !self.reason.is_char_boundary(end) {
            end -= 1;
        }
        let mut payload = self.code.to_be_bytes().to_vec();
        payload.extend_from_slice(&self.reason.as_bytes()[..end]);
        payload
    }

    /// Reads the payload of a close frame; `None` when RFC 6455 (section 7.4) does not allow it.
    pub(crate) fn parse(payload: &[u8]) -> Option<Close> {
        let Some((code, reason)) = payload.split_first_chunk::<2>() else {
            return payload.is_empty().then(|| Close::new(NO_CODE, ""));
        };
        let code = u16::from_be_bytes(*code);
        let reason = std::str::from_utf8(reason).ok()?;
        matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999).then(|| Close::new(code, reason))
    }
}

impl Frame {
    /// Bytes that an empty frame counts for.
    pub(crate) const OVERHEAD: usize = 64;

    /// Bytes that the frame counts for while it waits.
    pub(crate) fn weight(&self) -> usize {
        Frame::OVERHEAD
            + match self {
                Frame::Text(text) | Frame::Failed(text) => text.len(),
                Frame::Binary(bytes) => bytes.len(),
                Frame::Close(close) => close.reason.len(),
            }
    }

    /// `true` when nothing may come after it.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, Frame::Close(_) | Frame::Failed(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_survives_the_wire() {
        for close in [Close::new(1000, ""), Close::new(4999, "tschüß"), Close::new(NO_CODE, "")] {
            assert_eq!(Close::parse(&close.payload()), Some(close));
        }
        let long = Close::new(1001, "ä".repeat(100)).payload();
        assert!(long.len() <= 125 && Close::parse(&long).is_some());
    }

    #[test]
    fn payloads_that_the_protocol_forbids_are_refused() {
        for bad in [&[3u8][..], &[3, 0xed], &[3, 0xee], &[0, 1], &[0x13, 0x88], &[3, 0xe8, 0xff]] {
            assert_eq!(Close::parse(bad), None, "{bad:?}");
        }
    }
}
