//! Takes comments and indentation out of a source. V8 keeps the text of everything that a snapshot has evaluated, in every isolate that
//! starts from it.

use deno_ast::swc::parser::token::Token;
use deno_ast::{MediaType, ParseParams, SourceRangedForSpanned};
use deno_core::url::Url;
use deno_error::JsErrorBox;

/// What is open at a token.
#[derive(PartialEq, Eq)]
enum Open {
    Template,
    Brace,
}

/// The tokens of `text` as they are. Between two of them stands a line break if there was one, else a space if there was anything.
///
/// # Errors
/// A syntax error, or a token whose extent is not what it was when this was written.
pub fn compact(specifier: &str, text: String) -> Result<String, JsErrorBox> {
    let fail = |error: &dyn std::fmt::Display| JsErrorBox::generic(format!("{specifier}: {error}"));
    let parsed = deno_ast::parse_program(ParseParams {
        specifier: Url::parse(specifier).map_err(|error| fail(&error))?,
        text: text.as_str().into(),
        media_type: MediaType::JavaScript,
        capture_tokens: true,
        scope_analysis: false,
        maybe_syntax: None,
    })
    .map_err(|error| fail(&error))?;
    let start = parsed.range().start;
    let mut compacted = String::with_capacity(text.len());
    let mut end = 0;
    let mut open = Vec::new();
    for token in parsed.tokens() {
        let range = token.range().as_byte_range(start);
        let (gap, word) = (&text[end..range.start], &text[range.clone()]);
        end = range.end;
        // The white space of a template is a part of its tokens.
        let is_in_template = open.last() == Some(&Open::Template);
        let is_gap = gap.is_empty() || gap.starts_with([' ', '\n', '/']);
        if !is_gap || is_in_template && !gap.is_empty() {
            return Err(fail(&format!("the text {gap:?} before the token {word:?} is not understood")));
        }
        match token.token {
            Token::BackQuote if is_in_template => drop(open.pop()),
            Token::BackQuote => open.push(Open::Template),
            Token::LBrace | Token::DollarLBrace => open.push(Open::Brace),
            Token::RBrace => drop(open.pop()),
            _ => {}
        }
        if gap.contains('\n') && !compacted.is_empty() {
            compacted.push('\n');
        } else if !gap.is_empty() {
            compacted.push(' ');
        }
        compacted.push_str(word);
    }
    compacted.push('\n');
    Ok(compacted)
}
