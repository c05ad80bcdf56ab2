//! What JavaScript does to a token.

use std::error::Error;

use lol_html::html_content::{Comment, ContentType, Doctype, DocumentEnd, Element, EndTag, TextChunk};
use serde::Deserialize;

/// One call of a method of a token, or one assignment.
#[derive(Debug, Deserialize)]
pub(crate) struct Edit {
    op: Op,
    /// Content, a name, or a comment's text.
    #[serde(default)]
    text: String,
    /// The value of an attribute.
    #[serde(default)]
    value: String,
    /// The content is HTML, not text.
    #[serde(default)]
    html: bool,
    /// The number of an end tag handler.
    #[serde(default)]
    handler: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Op {
    After,
    Append,
    Before,
    OnEndTag,
    Prepend,
    Remove,
    RemoveAndKeepContent,
    RemoveAttribute,
    Replace,
    SetAttribute,
    SetInnerContent,
    SetName,
    SetText,
}

/// Why an edit cannot be made. JavaScript checks names and texts when they are given, so only what the document's encoding cannot
/// express gets here.
type Failure = Box<dyn Error + Send + Sync>;

impl Edit {
    fn content_type(&self) -> ContentType {
        if self.html { ContentType::Html } else { ContentType::Text }
    }

    /// Applies the edit; `on_end_tag` registers the end tag handler of a number.
    pub fn apply_to_element(
        &self,
        element: &mut Element<'_, '_>,
        on_end_tag: impl FnOnce(&mut Element<'_, '_>, u32) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (text, kind) = (self.text.as_str(), self.content_type());
        match self.op {
            Op::After => element.after(text, kind),
            Op::Append => element.append(text, kind),
            Op::Before => element.before(text, kind),
            Op::OnEndTag => on_end_tag(element, self.handler)?,
            Op::Prepend => element.prepend(text, kind),
            Op::Remove => element.remove(),
            Op::RemoveAndKeepContent => element.remove_and_keep_content(),
            Op::RemoveAttribute => element.remove_attribute(text),
            Op::Replace => element.replace(text, kind),
            Op::SetAttribute => element.set_attribute(text, &self.value)?,
            Op::SetInnerContent => element.set_inner_content(text, kind),
            Op::SetName => element.set_tag_name(text)?,
            Op::SetText => {}
        }
        Ok(())
    }

    pub fn apply_to_end_tag(&self, tag: &mut EndTag<'_>) {
        let (text, kind) = (self.text.as_str(), self.content_type());
        match self.op {
            Op::After => tag.after(text, kind),
            Op::Before => tag.before(text, kind),
            Op::Remove => tag.remove(),
            Op::Replace => tag.replace(text, kind),
            Op::SetName => tag.set_name_str(text.to_owned()),
            _ => {}
        }
    }

    pub fn apply_to_comment(&self, comment: &mut Comment<'_>) -> Result<(), Failure> {
        let (text, kind) = (self.text.as_str(), self.content_type());
        match self.op {
            Op::After => comment.after(text, kind),
            Op::Before => comment.before(text, kind),
            Op::Remove => comment.remove(),
            Op::Replace => comment.replace(text, kind),
            Op::SetText => comment.set_text(text)?,
            _ => {}
        }
        Ok(())
    }

    pub fn apply_to_text(&self, chunk: &mut TextChunk<'_>) {
        let (text, kind) = (self.text.as_str(), self.content_type());
        match self.op {
            Op::After => chunk.after(text, kind),
            Op::Before => chunk.before(text, kind),
            Op::Remove => chunk.remove(),
            Op::Replace => chunk.replace(text, kind),
            _ => {}
        }
    }

    pub fn apply_to_doctype(&self, doctype: &mut Doctype<'_>) {
        if self.op == Op::Remove {
            doctype.remove();
        }
    }

    pub fn apply_to_end(&self, end: &mut DocumentEnd<'_>) {
        if self.op == Op::Append {
            end.append(&self.text, self.content_type());
        }
    }
}
