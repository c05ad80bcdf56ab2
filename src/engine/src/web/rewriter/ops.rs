//! Ops of `js/web/rewriter.js`.

// `GarbageCollected` is an unsafe trait.
#![allow(unsafe_code)]

use std::cell::RefCell;

use deno_core::v8::cppgc::Visitor;
use deno_core::{GarbageCollected, op2};
use deno_error::JsErrorBox;
use encoding_rs::Encoding;
use lol_html::html_content::Element;
use lol_html::{AsciiCompatibleEncoding, RewriteStrSettings, element, rewrite_str};

use super::edit::Edit;
use super::fiber::{Handlers, Input, Progress, Rewriting, parse_selector};
use super::token::Token;

/// The native object behind one `transform`; empty when it has come to an end.
pub(crate) struct Rewriter(RefCell<Option<Rewriting>>);

// SAFETY: the object holds no reference to the JavaScript heap, so there is nothing to trace.
unsafe impl GarbageCollected for Rewriter {
    fn trace(&self, _visitor: &mut Visitor) {}

    fn get_name(&self) -> &'static std::ffi::CStr {
        c"Rewriter"
    }
}

fn parser_error(text: &str) -> JsErrorBox {
    JsErrorBox::type_error(format!("Parser error: {text}"))
}

/// Begins a rewriting. `charset` is the document's, UTF-8 when it is none that `lol_html` can do.
#[op2]
#[cppgc]
pub(crate) fn op_rewriter_new(
    #[serde] handlers: Vec<Handlers>,
    #[string] charset: &str,
) -> Result<Rewriter, JsErrorBox> {
    let handlers: Result<Vec<_>, _> =
        handlers.into_iter().map(|each| Ok((each.parse_selector()?, each))).collect();
    let handlers = handlers.map_err(|error: String| parser_error(&error))?;
    let encoding = Encoding::for_label(charset.as_bytes()).and_then(AsciiCompatibleEncoding::new);
    let rewriting = Rewriting::start(handlers, encoding.unwrap_or_else(AsciiCompatibleEncoding::utf_8));
    let rewriting =
        rewriting.map_err(|e| JsErrorBox::generic(format!("no memory for an HTMLRewriter: {e}")))?;
    Ok(Rewriter(RefCell::new(Some(rewriting))))
}

impl Rewriter {
    fn resume(&self, input: Input) -> Result<Option<Box<Token>>, JsErrorBox> {
        let mut slot = self.0.borrow_mut();
        let Some(rewriting) = slot.as_mut() else { return Ok(None) };
        match rewriting.resume(input) {
            Progress::Ready => Ok(None),
            Progress::Token(token) => Ok(Some(token)),
            Progress::Failed(error) => {
                *slot = None;
                Err(parser_error(&error.to_string()))
            }
        }
    }
}

/// Gives the rewriting a chunk of the document; returns the first token for a handler, or null when it wants more.
#[op2]
#[serde]
pub(crate) fn op_rewriter_write(
    #[cppgc] rewriter: &Rewriter,
    #[buffer] chunk: &[u8],
) -> Result<Option<Box<Token>>, JsErrorBox> {
    rewriter.resume(Input::Chunk(chunk.to_vec()))
}

/// The document is at its end; as [`op_rewriter_write`].
#[op2]
#[serde]
pub(crate) fn op_rewriter_end(#[cppgc] rewriter: &Rewriter) -> Result<Option<Box<Token>>, JsErrorBox> {
    rewriter.resume(Input::End)
}

/// What a handler did to its token; returns the next one.
#[op2]
#[serde]
pub(crate) fn op_rewriter_resume(
    #[cppgc] rewriter: &Rewriter,
    #[serde] edits: Vec<Edit>,
) -> Result<Option<Box<Token>>, JsErrorBox> {
    rewriter.resume(Input::Edits(edits))
}

/// The output that has come since the last call.
#[op2]
#[buffer]
pub(crate) fn op_rewriter_take(#[cppgc] rewriter: &Rewriter) -> Vec<u8> {
    rewriter.0.borrow().as_ref().map(Rewriting::take).unwrap_or_default()
}

/// Ends the rewriting wherever it is.
#[op2(fast)]
pub(crate) fn op_rewriter_close(#[cppgc] rewriter: &Rewriter) {
    rewriter.0.take();
}

/// Throws what is wrong with a selector.
#[op2(fast)]
pub(crate) fn op_rewriter_check_selector(#[string] selector: &str) -> Result<(), JsErrorBox> {
    parse_selector(selector).map(drop).map_err(|error| parser_error(&error))
}

/// Throws what is wrong with a tag name, an attribute's name or a comment's text: `lol_html` is asked, with a document of one token.
#[op2(fast)]
pub(crate) fn op_rewriter_check(#[string] what: &str, #[string] text: &str) -> Result<(), JsErrorBox> {
    let settings = RewriteStrSettings::new();
    let result = match what {
        "comment" => rewrite_str(
            "<!---->",
            settings.append_document_content_handler(lol_html::doc_comments!(|comment| Ok(
                comment.set_text(text)?
            ))),
        ),
        "tag" => rewrite_str(
            "<a>",
            settings.append_element_content_handler(element!("a", |element: &mut Element<'_, '_>| {
                Ok(element.set_tag_name(text)?)
            })),
        ),
        _ => rewrite_str(
            "<a>",
            settings.append_element_content_handler(element!("a", |element: &mut Element<'_, '_>| {
                Ok(element.set_attribute(text, "")?)
            })),
        ),
    };
    result.map(drop).map_err(|error| parser_error(&error.to_string()))
}
