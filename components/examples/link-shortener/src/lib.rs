//! An example component that shortens links: it keeps those that lead somewhere in a key-value store.

#[cfg(target_family = "wasm")]
mod guest;

/// Longest link, bytes.
pub const LONGEST_LINK: usize = 2000;
/// Characters of the code of a link.
const CODE_LENGTH: usize = 8;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRequest<'r> {
    /// To shorten the link in its body.
    Shorten,
    /// To follow the link of a code.
    Follow(&'r str),
    /// Something that is not offered.
    Other,
}

impl<'r> LinkRequest<'r> {
    /// Reads what a request with this path and query asks for.
    pub fn of(is_post: bool, path_with_query: &'r str) -> Self {
        let path = path_with_query.split_once('?').map_or(path_with_query, |(path, _)| path);
        match (is_post, path.trim_start_matches('/')) {
            (true, "") => Self::Shorten,
            (false, code) if is_code(code) => Self::Follow(code),
            _ => Self::Other,
        }
    }
}

fn is_code(text: &str) -> bool {
    text.len() == CODE_LENGTH && text.chars().all(|digit| digit.is_digit(32) && !digit.is_ascii_uppercase())
}

/// A link to a web page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'l> {
    /// The whole link.
    pub text: &'l str,
    /// Whether it is `https`.
    pub is_secure: bool,
    /// The host name, with a port if there is one.
    pub authority: &'l str,
    /// What follows the authority.
    rest: &'l str,
}

impl<'l> Link<'l> {
    /// Reads a link; `None` where the text has no address of the web.
    pub fn parse(text: &'l str) -> Option<Self> {
        let text = text.trim();
        let (is_secure, after) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(after), _) => (true, after),
            (None, Some(after)) => (false, after),
            (None, None) => return None,
        };
        let (authority, rest) = after.split_at(after.find(['/', '?', '#']).unwrap_or(after.len()));
        let is_plain = text.len() <= LONGEST_LINK && text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_link = is_plain && !authority.is_empty() && !authority.contains('@');
        is_link.then_some(Self { text, is_secure, authority, rest })
    }

    /// Returns the path and query that its server is asked for.
    pub fn path_with_query(&self) -> String {
        let target = self.rest.split_once('#').map_or(self.rest, |(target, _)| target);
        if target.starts_with('/') { target.to_owned() } else { format!("/{target}") }
    }

    /// Returns its code, which is the same for the same link.
    pub fn code(&self) -> String {
        // FNV-1a, of which 40 bits are used.
        let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = self.text.bytes().fold(0xcbf2_9ce4_8422_2325, add);
        let digit = |turn: u32| {
            let digit = u32::try_from(hash.rotate_left(turn) & 31).unwrap_or_default();
            char::from_digit(digit, 32).unwrap_or('0')
        };
        // A character for each five bits.
        (0..40).step_by(5).map(digit).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn request_asks_by_method_and_path() {
        for (is_post, path, asked) in [
            (true, "/", LinkRequest::Shorten),
            (true, "?a", LinkRequest::Shorten),
            (true, "/0123456v", LinkRequest::Other),
            (false, "/0123456v?a", LinkRequest::Follow("0123456v")),
            (false, "/0123456w", LinkRequest::Other),
            (false, "/0123456V", LinkRequest::Other),
            (false, "/0123456", LinkRequest::Other),
            (false, "/", LinkRequest::Other),
        ] {
            assert_eq!(LinkRequest::of(is_post, path), asked, "{path}");
        }
    }

    #[test]
    fn link_has_scheme_authority_and_path() {
        for (text, is_secure, authority, path) in [
            ("https://a.example", true, "a.example", "/"),
            (" http://a.example:80/b?c#d\n", false, "a.example:80", "/b?c"),
            ("https://a.example?c", true, "a.example", "/?c"),
        ] {
            let link = Link::parse(text).unwrap();
            assert_eq!((link.is_secure, link.authority), (is_secure, authority), "{text}");
            assert_eq!(link.path_with_query(), path, "{text}");
        }
        for text in
            ["", "a.example", "ftp://a.example", "https://", "https:///a", "https://a@b", "https://a b"]
        {
            assert_eq!(Link::parse(text), None, "{text}");
        }
    }

    #[test]
    fn code_is_the_links_own() {
        let code = |text| Link::parse(text).unwrap().code();
        let (one, other) = (code("https://a.example/1"), code("https://a.example/2"));
        assert!(is_code(&one) && is_code(&other));
        assert_ne!(one, other);
        assert_eq!(code("https://a.example/1"), one);
    }
}
