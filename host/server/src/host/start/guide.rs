//! Makes a page of a guide, which is written in Markdown.

use std::{collections::BTreeSet, iter};

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A guide.
#[derive(Clone, Debug)]
pub struct Guide {
    /// Its path in the repository, which ends in `.md`: links between guides are relative to it.
    pub source: String,
    /// Its title.
    pub title: &'static str,
    /// Its text in Markdown.
    pub text: &'static str,
}

impl Guide {
    /// Returns the path of its page below the folder of all guides.
    pub fn page(&self) -> String {
        page_of(&self.source)
    }

    /// Returns its page, whose links to the guides of `sources` lead to their pages. Of other links within the repository only the
    /// text is left. `name` is that of the product.
    pub fn html(&self, name: &str, sources: &BTreeSet<String>) -> String {
        let mut text = String::with_capacity(self.text.len() * 2);
        html::push_html(&mut text, self.events(sources).into_iter());
        let (name, title) = (escaped(name), escaped(self.title));
        let folder = "../".repeat(1 + self.source.matches('/').count());
        format!(include_str!("page/guide.html"), name = name, folder = folder, title = title, text = text)
    }

    fn events(&self, sources: &BTreeSet<String>) -> Vec<Event<'static>> {
        let mut events: Vec<Event<'static>> = Vec::new();
        let mut is_link_kept = true;
        // Where the last heading begins, and its text.
        let (mut begin, mut heading) = (0, String::new());
        for event in Parser::new_ext(self.text, Options::ENABLE_TABLES) {
            match &event {
                Event::Start(Tag::Heading { .. }) => {
                    begin = events.len();
                    heading.clear();
                }
                Event::Text(text) | Event::Code(text) => heading.push_str(text),
                Event::End(TagEnd::Heading(_)) => {
                    if let Some(Event::Start(Tag::Heading { id, .. })) = events.get_mut(begin) {
                        *id = Some(anchor(&heading).into());
                    }
                }
                Event::Start(Tag::Link { dest_url, .. }) => {
                    is_link_kept = self.target(dest_url, sources).is_some();
                    if !is_link_kept {
                        continue;
                    }
                }
                Event::End(TagEnd::Link) if !is_link_kept => continue,
                _ => {}
            }
            events.push(match event {
                Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                    let dest_url = self.target(&dest_url, sources).map_or(dest_url, CowStr::from);
                    Event::Start(Tag::Link { link_type, dest_url, title, id })
                }
                event => event,
            });
        }
        events
    }

    /// Returns where a link leads on the page, or `None` if what it leads to is not served.
    fn target(&self, link: &str, sources: &BTreeSet<String>) -> Option<String> {
        if link.starts_with('#') || link.contains("://") {
            return Some(link.to_owned());
        }
        let path = link.split('#').next().unwrap_or_default();
        let rest = link.get(path.len()..).unwrap_or_default();
        let mut parts: Vec<&str> = self.source.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            if part == ".." {
                parts.pop();
            } else {
                parts.push(part);
            }
        }
        sources.contains(&parts.join("/")).then(|| page_of(path) + rest)
    }
}

/// Returns a text for a place in HTML.
pub fn escaped(text: &str) -> String {
    let mut html = String::new();
    html::push_html(&mut html, iter::once(Event::Text(text.into())));
    html
}

/// Returns the path of the page of a guide from that of its text.
fn page_of(source: &str) -> String {
    format!("{}.html", source.strip_suffix(".md").unwrap_or(source))
}

/// Returns the anchor of a heading, as on the web.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A & B\n\n## What is `it`?\n\n| a | b |\n| --- | --- |\n| 1 | [two](../c.md#d-e) |\n\n\
        [here](#a--b), [there](https://example.org/x.md), [not](e.md) and [no](../decisions).\n";

    fn page() -> String {
        let sources = BTreeSet::from(["a/b.md", "c.md"].map(str::to_owned));
        let guide = Guide { source: "a/b.md".to_owned(), title: "A & B", text: TEXT };
        assert_eq!(guide.page(), "a/b.html");
        guide.html("C & D", &sources)
    }

    #[test]
    fn guide_becomes_headings_and_tables() {
        let page = page();
        for part in [
            "<title>A &amp; B</title>",
            "<strong>C &amp; D</strong>",
            "href=\"../../start.css\"",
            "<h1 id=\"a--b\">A &amp; B</h1>",
            "<h2 id=\"what-is-it\">What is <code>it</code>?</h2>",
            "<td>1</td>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn links_lead_to_served_guides_only() {
        let page = page();
        for part in [
            "<a href=\"../c.html#d-e\">two</a>",
            "<a href=\"#a--b\">here</a>",
            "<a href=\"https://example.org/x.md\">there</a>, not and no.",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
