//! Forms of text that keys of several tables share.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use url::Url;

/// An address with a port.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.trim().parse().map_err(|_| {
        format!("must be an IP address with a port such as 127.0.0.1:8080 or [::1]:8080, not `{text}`")
    })
}

/// A CIDR, or one address, which is a network of its own.
pub(super) fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let single = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse()
        .or_else(|_| single())
        .map_err(|_| format!("must be an IP address or a network such as 10.0.0.0/8, not `{text}`"))
}

/// Empty, or `/segment` once or more without a slash at the end.
pub(super) fn path_prefix(text: &str) -> Result<String, String> {
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

/// An `http` or `https` URL.
pub(super) fn web_url(text: &str) -> Result<Url, String> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        _ => Err(format!("must be a URL that begins with https://, not `{text}`")),
    }
}

/// A web origin as browsers send it, or `*`.
pub(super) fn web_origin(text: &str) -> Result<String, String> {
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
