//! The decoders under `BrotliDecompress` and `ZstdDecompress` of `node:zlib`. Deno's own give what could be read of broken or truncated
//! data as if that were all.

// `GarbageCollected` is an unsafe trait.
#![allow(unsafe_code)]

use std::cell::RefCell;

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use deno_core::v8::cppgc::Visitor;
use deno_core::{GarbageCollected, op2};
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, get_error_name};

/// `BROTLI_OPERATION_FINISH` and `ZSTD_e_end`: no more input will come.
const FINISH: i32 = 2;
/// `Z_BUF_ERROR`.
const TRUNCATED: i32 = -5;
/// The parameter `ZSTD_d_windowLogMax`.
const WINDOW_LOG_MAX: usize = 100;
/// The parameter `BROTLI_DECODER_PARAM_LARGE_WINDOW`.
const LARGE_WINDOW: usize = 1;
/// What stands for a parameter that is not set.
const UNSET: u32 = u32::MAX;

type Brotli = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

enum Format {
    /// The flag says whether windows beyond 16 MiB are allowed.
    Brotli(Box<Brotli>, bool),
    /// The flag says that no frame has begun.
    Zstd(DCtx<'static>, bool),
}

/// The native object.
pub(super) struct Decoder(RefCell<Format>);

// SAFETY: the object holds no reference to the JavaScript heap, so there is nothing to trace.
unsafe impl GarbageCollected for Decoder {
    fn trace(&self, _visitor: &mut Visitor) {}

    fn get_name(&self) -> &'static std::ffi::CStr {
        c"Decoder"
    }
}

/// What went wrong, in Node.js's terms.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Failure {
    message: String,
    errno: i32,
    code: String,
}

impl Failure {
    fn truncated() -> Failure {
        Failure { message: "unexpected end of file".into(), errno: TRUNCATED, code: "Z_BUF_ERROR".into() }
    }
}

fn brotli_state(large: bool) -> Box<Brotli> {
    let [u8s, u32s, codes] = std::array::from_fn(|_| StandardAlloc::default());
    Box::new(if large { Brotli::new(u8s, u32s, codes) } else { Brotli::new_strict(u8s, u32s, codes) })
}

impl Format {
    fn new(is_brotli: bool, params: &[u32]) -> Option<Format> {
        let param = |key: usize| params.get(key).copied().filter(|value| *value != UNSET);
        if is_brotli {
            let large = param(LARGE_WINDOW).is_some_and(|value| value != 0);
            return Some(Format::Brotli(brotli_state(large), large));
        }
        let mut context = DCtx::try_create()?;
        if let Some(log) = param(WINDOW_LOG_MAX) {
            context.set_parameter(DParameter::WindowLogMax(log)).ok()?;
        }
        Some(Format::Zstd(context, true))
    }

    fn reset(&mut self) {
        match self {
            Format::Brotli(state, large) => *state = brotli_state(*large),
            Format::Zstd(context, is_between) => {
                // Resetting a session cannot fail.
                let _ = context.reset(ResetDirective::SessionOnly);
                *is_between = true;
            }
        }
    }

    /// Decodes as much as fits. Returns how many bytes were read and written.
    fn run(&mut self, input: &[u8], output: &mut [u8], is_last: bool) -> Result<(usize, usize), Failure> {
        let (read, written, needs_more) = match self {
            Format::Brotli(state, _) => {
                let (mut left, mut read) = (input.len(), 0);
                let (mut room, mut written, mut total) = (output.len(), 0, 0);
                let result = BrotliDecompressStream(
                    &mut left,
                    &mut read,
                    input,
                    &mut room,
                    &mut written,
                    output,
                    &mut total,
                    state,
                );
                if matches!(result, BrotliResult::ResultFailure) {
                    let name = format!("{:?}", state.error_code);
                    return Err(Failure {
                        message: "Decompression failed".into(),
                        errno: state.error_code as i32,
                        code: format!("ERR_{}", name.trim_start_matches("BROTLI_DECODER")),
                    });
                }
                (read, written, matches!(result, BrotliResult::NeedsMoreInput))
            }
            Format::Zstd(context, is_between) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(output));
                let left = context.decompress_stream(&mut to, &mut from).map_err(|code| {
                    let errno = 0usize.wrapping_sub(code) as i32;
                    Failure { message: get_error_name(code).into(), errno, code: zstd_code(errno).into() }
                })?;
                // Between two frames it asks for a third.
                *is_between = left == 0 || (*is_between && from.pos() == 0);
                (from.pos(), to.pos(), !*is_between)
            }
        };
        let has_room = written < output.len();
        if is_last && needs_more && has_room && read == input.len() {
            return Err(Failure::truncated());
        }
        Ok((read, written))
    }
}

/// The names of zstd's error codes that a decoder can give.
fn zstd_code(errno: i32) -> &'static str {
    match errno {
        10 => "ZSTD_error_prefix_unknown",
        12 => "ZSTD_error_version_unsupported",
        14 => "ZSTD_error_frameParameter_unsupported",
        16 => "ZSTD_error_frameParameter_windowTooLarge",
        20 => "ZSTD_error_corruption_detected",
        22 => "ZSTD_error_checksum_wrong",
        24 => "ZSTD_error_literals_headerWrong",
        32 => "ZSTD_error_dictionary_wrong",
        64 => "ZSTD_error_memory_allocation",
        _ => "ZSTD_error_GENERIC",
    }
}

/// A decoder with the parameters by number; null if one of them is not possible.
#[op2]
#[cppgc]
pub(super) fn op_celld_decoder_new(is_brotli: bool, #[buffer] params: &[u32]) -> Option<Decoder> {
    Format::new(is_brotli, params).map(|format| Decoder(RefCell::new(format)))
}

/// Forgets what was decoded.
#[op2(fast)]
pub(super) fn op_celld_decoder_reset(#[cppgc] decoder: &Decoder) {
    decoder.0.borrow_mut().reset();
}

/// Decodes from a part of `input` into a part of `output`, and writes to `state` how many bytes of them are left.
#[op2]
#[serde]
#[allow(clippy::too_many_arguments, reason = "the arguments of Node.js's binding")]
pub(super) fn op_celld_decoder_run(
    #[cppgc] decoder: &Decoder,
    #[smi] flush: i32,
    #[buffer] input: &[u8],
    #[smi] in_off: usize,
    #[smi] in_len: usize,
    #[buffer] output: &mut [u8],
    #[smi] out_off: usize,
    #[smi] out_len: usize,
    #[buffer] state: &mut [u32],
) -> Option<Failure> {
    let input = input.get(in_off..).and_then(|rest| rest.get(..in_len));
    let output = output.get_mut(out_off..).and_then(|rest| rest.get_mut(..out_len));
    let (Some(input), Some(output), [room, left, ..]) = (input, output, state) else {
        return Some(Failure {
            message: "invalid offset or length".into(),
            errno: -2,
            code: "Z_STREAM_ERROR".into(),
        });
    };
    match decoder.0.borrow_mut().run(input, output, flush == FINISH) {
        Ok((read, written)) => {
            (*room, *left) = ((out_len - written) as u32, (in_len - read) as u32);
            None
        }
        Err(failure) => Some(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes `data`, given in pieces of `step` bytes, into pieces of 100.
    fn decode(is_brotli: bool, data: &[u8], step: usize) -> Result<Vec<u8>, String> {
        let mut format = Format::new(is_brotli, &[]).unwrap();
        let (mut all, mut out) = (Vec::new(), [0; 100]);
        let ends = (1..=data.len().div_ceil(step)).map(|n| (n * step).min(data.len()));
        let mut at = 0;
        // At the end Node.js flushes with nothing.
        for (end, is_last) in ends.map(|end| (end, false)).chain([(data.len(), true)]) {
            loop {
                let done = format.run(&data[at..end], &mut out, is_last).map_err(|failure| failure.code)?;
                all.extend_from_slice(&out[..done.1]);
                at += done.0;
                if done.1 < out.len() {
                    break;
                }
            }
        }
        Ok(all)
    }

    #[test]
    fn what_is_truncated_is_an_error_and_what_is_whole_is_not() {
        let text: Vec<u8> = (0..5000u32).flat_map(|n| (n * n).to_be_bytes()).collect();
        let mut brotli = Vec::new();
        brotli::BrotliCompress(&mut &text[..], &mut brotli, &Default::default()).unwrap();
        let zstd = zstd::encode_all(&text[..], 3).unwrap();
        for (is_brotli, data) in [(true, brotli), (false, zstd)] {
            for step in [1, 7, data.len()] {
                assert_eq!(decode(is_brotli, &data, step).as_ref(), Ok(&text));
            }
            for len in (1..data.len()).step_by(97) {
                assert_eq!(decode(is_brotli, &data[..len], 50), Err("Z_BUF_ERROR".into()), "{len}");
            }
            let mut bad = data.clone();
            bad[data.len() / 2..].fill(0xff);
            assert_ne!(decode(is_brotli, &bad, 50).as_ref(), Ok(&text));
            assert!(decode(is_brotli, b"not compressed", 50).is_err());
        }
    }

    #[test]
    fn frames_follow_each_other_and_nothing_is_no_frame() {
        let two = [zstd::encode_all(&b"a"[..], 1).unwrap(), zstd::encode_all(&b"b"[..], 1).unwrap()].concat();
        assert_eq!(decode(false, &two, 3), Ok(b"ab".to_vec()));
        assert_eq!(decode(false, &[], 1), Ok(Vec::new()));
        assert_eq!(decode(true, &[], 1), Err("Z_BUF_ERROR".into()));
    }
}
