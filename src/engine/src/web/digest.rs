//! What is behind `crypto.DigestStream`: a digest that is fed piece by piece.

// `GarbageCollected` is an unsafe trait.
#![allow(unsafe_code)]

use std::cell::RefCell;

use deno_core::v8::cppgc::Visitor;
use deno_core::{GarbageCollected, op2};
use md5::Md5;
use sha1::Sha1;
use sha2::digest::DynDigest;
use sha2::{Sha256, Sha384, Sha512};

/// The native object.
pub(crate) struct Hasher(RefCell<Box<dyn DynDigest>>);

// SAFETY: the object holds no reference to the JavaScript heap, so there is nothing to trace.
unsafe impl GarbageCollected for Hasher {
    fn trace(&self, _visitor: &mut Visitor) {}

    fn get_name(&self) -> &'static std::ffi::CStr {
        c"Hasher"
    }
}

/// Begins a digest; null when there is no such algorithm. `name` is in upper case.
#[op2]
#[cppgc]
pub(crate) fn op_digest_new(#[string] name: &str) -> Option<Hasher> {
    let digest: Box<dyn DynDigest> = match name {
        "MD5" => Box::new(Md5::default()),
        "SHA-1" => Box::new(Sha1::default()),
        "SHA-256" => Box::new(Sha256::default()),
        "SHA-384" => Box::new(Sha384::default()),
        "SHA-512" => Box::new(Sha512::default()),
        _ => return None,
    };
    Some(Hasher(RefCell::new(digest)))
}

/// Takes `bytes` into the digest.
#[op2(fast)]
pub(crate) fn op_digest_update(#[cppgc] hasher: &Hasher, #[buffer] bytes: &[u8]) {
    hasher.0.borrow_mut().update(bytes);
}

/// The digest of everything until now.
#[op2]
#[buffer]
pub(crate) fn op_digest_finish(#[cppgc] hasher: &Hasher) -> Vec<u8> {
    hasher.0.borrow_mut().finalize_reset().to_vec()
}
