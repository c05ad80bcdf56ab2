//! What JavaScript is told of a token.

use lol_html::html_content::{Comment, Doctype, Element, EndTag, TextChunk};
use serde::Serialize;

/// A token for a handler, as `tokenFor` in `js/web/rewriter.js` takes it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Token {
    /// The name of the handler's function.
    pub kind: &'static str,
    /// The handlers object, or the end tag handler, by number.
    pub handler: u32,
    /// Tag name, or the name of a doctype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The text of a comment or a chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Vec<(String, String)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<&'static str>,
    #[serde(rename = "publicId", skip_serializing_if = "Option::is_none")]
    pub public_id: Option<String>,
    #[serde(rename = "systemId", skip_serializing_if = "Option::is_none")]
    pub system_id: Option<String>,
    /// The chunk is the last of its text node; the element can have content, hence an end tag.
    pub flag: bool,
    /// An earlier handler has removed it.
    pub removed: bool,
}

impl Token {
    pub fn element(handler: u32, element: &Element<'_, '_>) -> Token {
        let attributes = element.attributes().iter().map(|each| (each.name(), each.value())).collect();
        Token {
            kind: "element",
            handler,
            name: Some(element.tag_name()),
            attributes: Some(attributes),
            namespace: Some(element.namespace_uri()),
            flag: element.can_have_content(),
            removed: element.removed(),
            ..Token::default()
        }
    }

    pub fn end_tag(handler: u32, tag: &EndTag<'_>) -> Token {
        Token { kind: "endTag", handler, name: Some(tag.name()), removed: tag.removed(), ..Token::default() }
    }

    pub fn comment(handler: u32, comment: &Comment<'_>) -> Token {
        let (text, removed) = (Some(comment.text()), comment.removed());
        Token { kind: "comments", handler, text, removed, ..Token::default() }
    }

    pub fn text(handler: u32, chunk: &TextChunk<'_>) -> Token {
        let (text, removed) = (Some(chunk.as_str().to_owned()), chunk.removed());
        Token { kind: "text", handler, text, removed, flag: chunk.last_in_text_node(), ..Token::default() }
    }

    pub fn doctype(handler: u32, doctype: &Doctype<'_>) -> Token {
        Token {
            kind: "doctype",
            handler,
            name: doctype.name(),
            public_id: doctype.public_id(),
            system_id: doctype.system_id(),
            removed: doctype.removed(),
            ..Token::default()
        }
    }

    pub fn end(handler: u32) -> Token {
        Token { kind: "end", handler, ..Token::default() }
    }
}
