//! `HTMLRewriter`: `lol_html` calls its handlers and wants their answer before it goes on, a handler of a Worker may take its time.
//! So a rewriting runs on a stack of its own, which is suspended while JavaScript has a token.
//!
//! JavaScript never touches `lol_html`'s tokens: it gets what a token says ([`Token`]) and gives back what to do with it ([`Edit`]).

mod edit;
mod fiber;
mod ops;
mod token;

pub(crate) use ops::{
    op_rewriter_check, op_rewriter_check_selector, op_rewriter_close, op_rewriter_end, op_rewriter_new,
    op_rewriter_resume, op_rewriter_take, op_rewriter_write,
};
