//! Parses text formats that keys of several tables share.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use url::Url;

/// Parses an address with a port.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.trim().parse().map_err(|_| {
        format!("must be an IP address with a port such as 127.0.0.1:8080 or [::1]:8080, not `{text}`")
    })
}

/// Parses a DNS name; the result is in lower case and has no final dot.
pub fn host_name(text: &str) -> Result<String, String> {
    let name = text.trim().trim_end_matches('.').to_ascii_lowercase();
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if name.len() <= 253 && name.split('.').all(label) && name.parse::<IpAddr>().is_err() {
        return Ok(name);
    }
    Err(format!("must be a host name without scheme and port, such as bulkhead.example, not `{text}`"))
}

/// Parses a CIDR, or one address, which is a network of its own.
pub fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let single = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse()
        .or_else(|_| single())
        .map_err(|_| format!("must be an IP address or a network such as 10.0.0.0/8, not `{text}`"))
}

/// Parses a path prefix: empty, or one or more `/segment` without a final slash.
pub fn path_prefix(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let segment = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(plain);
    let fits = match text.strip_prefix('/') {
        None => text.is_empty(),
        Some(rest) => rest.split('/').all(segment),
    };
    if fits {
        return Ok(text.to_owned());
    }
    Err(format!(
        "must be empty or like /captcha, of letters, digits and -._~ and without a slash at the \
         end, not `{text}`"
    ))
}

/// Parses an `http` or `https` URL.
pub fn web_url(text: &str) -> Result<Url, String> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        _ => Err(format!("must be a URL that begins with https:// or http://, not `{text}`")),
    }
}

/// Parses the URL of a service: `http` or `https`, without user, query and fragment.
pub fn service_url(text: &str) -> Result<Url, String> {
    let url = web_url(text)?;
    let bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    match bare && url.fragment().is_none() {
        true => Ok(url),
        // Not quoted: it may contain a password.
        false => Err("must be a URL without a user, a query and a fragment".to_owned()),
    }
}

/// Returns whether `url` is one of `prefixes` or below one: same scheme, host and port, and whole path segments.
pub fn is_below(prefixes: &[Url], url: &Url) -> bool {
    let below = |prefix: &Url| {
        let rest = url.path().strip_prefix(prefix.path().trim_end_matches('/'));
        prefix.origin() == url.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    prefixes.iter().any(below)
}

/// Parses a web origin as browsers send it, or `*`.
pub fn web_origin(text: &str) -> Result<String, String> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let wrong = || format!("must be an origin such as https://www.example.org, or *, not `{text}`");
    let origin = web_url(text).map_err(|_| wrong())?.origin().ascii_serialization();
    // Part of a name cannot be left open.
    if origin.contains('*') {
        return Err(wrong());
    }
    if origin == text {
        return Ok(origin);
    }
    Err(format!("must be an origin without path; write it as {origin}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn prefixes_match_whole_segments_of_one_origin() {
        let url = |text: &str| Url::parse(text).unwrap();
        let allowed = [url("https://llm.example.org/v1"), url("http://127.0.0.1:8000")];
        for text in
            ["https://llm.example.org/v1", "https://llm.example.org:443/v1/", "http://127.0.0.1:8000/any"]
        {
            assert!(is_below(&allowed, &url(text)), "{text}");
        }
        for text in [
            "http://llm.example.org/v1",
            "https://llm.example.org/v12",
            "https://llm.example.org/v1/../v2",
            "https://llm.example.org.evil.example/v1",
            "https://evil.example/v1",
            "http://127.0.0.1:8001/",
        ] {
            assert!(!is_below(&allowed, &url(text)), "{text}");
        }
        assert!(!is_below(&[], &url("https://llm.example.org/v1")));
    }

    #[test]
    fn host_name_has_neither_scheme_nor_port() {
        assert_eq!(host_name("Ops.Example."), Ok("ops.example".to_owned()));
        assert_eq!(host_name("bulkhead_admin"), Ok("bulkhead_admin".to_owned()));
        for text in
            ["", ".", "a..b", "ops.example:9901", "https://ops.example", "*.example", "192.0.2.1", "[::1]"]
        {
            assert!(host_name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn service_url_has_neither_password_nor_query() {
        assert!(service_url("https://llm.example.org/v1").is_ok());
        for text in [
            "https://eva:secret@llm.example.org",
            "https://x.example/?key=secret",
            "https://x.example/#secret",
        ] {
            let refused = service_url(text).unwrap_err();
            assert!(!refused.contains("secret"), "{refused}");
        }
        assert!(service_url("ftp://x.example").is_err());
    }
}
