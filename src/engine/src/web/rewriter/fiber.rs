//! The stack that a rewriting runs on.

// The one pointer of this file, see `Line`.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use lol_html::errors::RewritingError;
use lol_html::html_content::{Comment, Element, TextChunk};
use lol_html::{
    AsciiCompatibleEncoding, DocumentContentHandlers, ElementContentHandlers, HandlerResult, HtmlRewriter,
    MemorySettings, Selector, Settings,
};
use serde::Deserialize;

use super::edit::Edit;
use super::token::Token;

/// Bytes of a stack. JavaScript does not run on it; pages that are never touched cost nothing.
const STACK: usize = 512 << 10;

/// Bytes that `lol_html` may hold back for one document, as on the platform: an endless tag is not buffered without end.
const MEMORY: usize = 3 << 20;

/// The handlers of one call of `on` or `onDocument`.
#[derive(Debug, Deserialize)]
pub(crate) struct Handlers {
    /// For elements that match; without one, for the document.
    selector: Option<String>,
    /// Which functions there are.
    element: bool,
    comments: bool,
    text: bool,
    doctype: bool,
    end: bool,
}

/// What goes to a rewriting.
pub(super) enum Input {
    Chunk(Vec<u8>),
    End,
    /// A handler's answer.
    Edits(Vec<Edit>),
}

/// What comes from it.
pub(super) enum Step {
    /// It has taken the chunk.
    Ready,
    /// A handler is to see this.
    Token(Box<Token>),
}

type Fiber = Coroutine<Input, Step, Result<(), RewritingError>>;

/// A rewriting and what it has produced.
pub(super) struct Rewriting {
    fiber: Fiber,
    output: Rc<RefCell<Vec<u8>>>,
}

/// How a rewriting has gone on.
pub(super) enum Progress {
    /// It has taken the chunk, or is at its end.
    Ready,
    Token(Box<Token>),
    Failed(RewritingError),
}

impl Rewriting {
    /// Begins a rewriting.
    ///
    /// # Errors
    /// When there is no memory for its stack.
    pub fn start(
        handlers: Vec<(Option<Selector>, Handlers)>,
        encoding: AsciiCompatibleEncoding,
    ) -> std::io::Result<Rewriting> {
        let output = Rc::new(RefCell::new(Vec::new()));
        let sink = output.clone();
        let stack = DefaultStack::new(STACK)?;
        let fiber = Coroutine::with_stack(stack, move |yielder: &Yielder<Input, Step>, first| {
            let line = Line(Rc::new(Cell::new(Some(NonNull::from(yielder)))));
            let result = run(yielder, first, settings(handlers, encoding, &line), sink);
            line.0.set(None);
            result
        });
        Ok(Rewriting { fiber, output })
    }

    /// Lets the rewriting go on with `input`.
    pub fn resume(&mut self, input: Input) -> Progress {
        if self.fiber.done() {
            return Progress::Ready;
        }
        match self.fiber.resume(input) {
            CoroutineResult::Yield(Step::Ready) | CoroutineResult::Return(Ok(())) => Progress::Ready,
            CoroutineResult::Yield(Step::Token(token)) => Progress::Token(token),
            CoroutineResult::Return(Err(error)) => Progress::Failed(error),
        }
    }

    /// The output that has come since the last call.
    pub fn take(&self) -> Vec<u8> {
        self.output.take()
    }
}

fn run(
    yielder: &Yielder<Input, Step>,
    first: Input,
    settings: Settings<'static, 'static>,
    output: Rc<RefCell<Vec<u8>>>,
) -> Result<(), RewritingError> {
    let mut rewriter =
        HtmlRewriter::new(settings, |bytes: &[u8]| output.borrow_mut().extend_from_slice(bytes));
    let mut input = first;
    loop {
        match input {
            Input::Chunk(bytes) => rewriter.write(&bytes)?,
            Input::End => return rewriter.end(),
            // No token is out: JavaScript has nothing to answer.
            Input::Edits(_) => {}
        }
        input = yielder.suspend(Step::Ready);
    }
}

/// Where the fiber gives its steps away, while it runs.
type Way = Option<NonNull<Yielder<Input, Step>>>;

/// The way from a handler to JavaScript and back.
///
/// `lol_html` wants handlers that own what they use, but the end of the coroutine by which they suspend it is only lent.
#[derive(Clone)]
struct Line(Rc<Cell<Way>>);

impl Line {
    /// Shows the token to JavaScript; returns what it did to it.
    fn show(&self, token: Token) -> Vec<Edit> {
        let Some(yielder) = self.0.get() else { return Vec::new() };
        // SAFETY: the yielder lives as long as the coroutine's function runs, which owns the rewriter and takes the pointer away
        // before it returns; only the rewriter calls handlers, so this code runs within that function, on its stack.
        let yielder = unsafe { yielder.as_ref() };
        match yielder.suspend(Step::Token(Box::new(token))) {
            Input::Edits(edits) => edits,
            Input::Chunk(_) | Input::End => Vec::new(),
        }
    }
}

fn settings(
    handlers: Vec<(Option<Selector>, Handlers)>,
    encoding: AsciiCompatibleEncoding,
    line: &Line,
) -> Settings<'static, 'static> {
    let mut settings = Settings::new()
        .with_encoding(encoding)
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MEMORY));
    for (number, (selector, handlers)) in handlers.into_iter().enumerate() {
        let number = number as u32;
        settings = match selector {
            Some(selector) => {
                let handlers = element_handlers(number, &handlers, line);
                settings.append_element_content_handler((Cow::Owned(selector), handlers))
            }
            None => settings.append_document_content_handler(document_handlers(number, &handlers, line)),
        };
    }
    settings
}

fn on_comment(number: u32, line: Line) -> impl FnMut(&mut Comment<'_>) -> HandlerResult {
    move |comment| {
        let edits = line.show(Token::comment(number, comment));
        edits.iter().try_for_each(|edit| edit.apply_to_comment(comment))
    }
}

fn on_text(number: u32, line: Line) -> impl FnMut(&mut TextChunk<'_>) -> HandlerResult {
    move |chunk| {
        let edits = line.show(Token::text(number, chunk));
        edits.iter().for_each(|edit| edit.apply_to_text(chunk));
        Ok(())
    }
}

fn element_handlers(number: u32, wanted: &Handlers, line: &Line) -> ElementContentHandlers<'static> {
    let mut handlers = ElementContentHandlers::default();
    if wanted.element {
        let line = line.clone();
        handlers = handlers.element(move |element: &mut Element<'_, '_>| {
            for edit in line.show(Token::element(number, element)) {
                edit.apply_to_element(element, |element, handler| {
                    let line = line.clone();
                    element.on_end_tag(Box::new(move |tag| {
                        let edits = line.show(Token::end_tag(handler, tag));
                        edits.iter().for_each(|edit| edit.apply_to_end_tag(tag));
                        Ok(())
                    }))
                })?;
            }
            Ok(())
        });
    }
    if wanted.comments {
        handlers = handlers.comments(on_comment(number, line.clone()));
    }
    if wanted.text {
        handlers = handlers.text(on_text(number, line.clone()));
    }
    handlers
}

fn document_handlers(number: u32, wanted: &Handlers, line: &Line) -> DocumentContentHandlers<'static> {
    let mut handlers = DocumentContentHandlers::default();
    if wanted.doctype {
        let line = line.clone();
        handlers = handlers.doctype(move |doctype: &mut lol_html::html_content::Doctype<'_>| {
            let edits = line.show(Token::doctype(number, doctype));
            edits.iter().for_each(|edit| edit.apply_to_doctype(doctype));
            Ok(())
        });
    }
    if wanted.comments {
        handlers = handlers.comments(on_comment(number, line.clone()));
    }
    if wanted.text {
        handlers = handlers.text(on_text(number, line.clone()));
    }
    if wanted.end {
        let line = line.clone();
        handlers = handlers.end(move |end: &mut lol_html::html_content::DocumentEnd<'_>| {
            let edits = line.show(Token::end(number));
            edits.iter().for_each(|edit| edit.apply_to_end(end));
            Ok(())
        });
    }
    handlers
}

impl Handlers {
    /// The parsed selector, or none for the document.
    ///
    /// # Errors
    /// What is wrong with the selector.
    pub fn parse_selector(&self) -> Result<Option<Selector>, String> {
        self.selector.as_deref().map(parse_selector).transpose()
    }
}

/// How deep parentheses may nest in a selector: the parser is recursive.
const DEPTH: usize = 64;

/// Parses a selector; the error says what is wrong with it.
pub(super) fn parse_selector(text: &str) -> Result<Selector, String> {
    let mut depth = 0usize;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH {
            return Err("The selector is nested too deeply.".to_owned());
        }
    }
    text.parse().map_err(|error: lol_html::errors::SelectorError| error.to_string())
}
