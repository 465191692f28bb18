//! Markdown as plain text.

use pulldown_cmark::{Options, Parser};

use super::{Page, html};

/// Returns what a reader sees of `markdown`: rendered as its author sees it, HTML in it included.
pub(crate) fn render(markdown: &str) -> Page {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    let mut page = String::with_capacity(markdown.len() + markdown.len() / 4);
    pulldown_cmark::html::push_html(&mut page, Parser::new_ext(markdown, options));
    html::render(&page)
}
