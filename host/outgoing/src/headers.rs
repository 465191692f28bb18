//! Header fields that are between a client and its server alone, and not for those behind them.

use http::{
    HeaderMap, HeaderName,
    header::{
        CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
        UPGRADE,
    },
};

/// Those that no standard constant names.
const FURTHER: [&str; 3] = ["keep-alive", "proxy-connection", "http2-settings"];

/// Returns whether a field belongs to one connection (RFC 9110, section 7.6.1).
pub(crate) fn is_hop_by_hop(name: &HeaderName) -> bool {
    [CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE].contains(name)
        || FURTHER.contains(&name.as_str())
}

/// Returns whether the configuration must not set a field: the host sets it, or the connection does.
pub(crate) fn is_reserved(name: &HeaderName) -> bool {
    is_hop_by_hop(name) || *name == HOST || *name == CONTENT_LENGTH
}

/// Returns a field of a guest's request that the host does not send.
pub(crate) fn refused(headers: &HeaderMap) -> Option<HeaderName> {
    if headers.get_all(CONTENT_LENGTH).iter().nth(1).is_some() {
        return Some(CONTENT_LENGTH);
    }
    headers.keys().find(|name| is_hop_by_hop(name)).cloned()
}

/// Removes the fields of the connection from a response.
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let own = headers.keys().filter(|name| is_hop_by_hop(name)).cloned();
    for name in own.chain(named).collect::<Vec<_>>() {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn fields_of_the_connection_are_refused() {
        for name in ["connection", "keep-alive", "te", "transfer-encoding", "upgrade", "proxy-authorization"]
        {
            assert_eq!(
                refused(&headers(&[("accept", "*/*"), (name, "x")])),
                Some(HeaderName::from_static(name))
            );
        }
        assert_eq!(
            refused(&headers(&[("content-length", "1"), ("content-length", "2")])),
            Some(CONTENT_LENGTH)
        );
        assert_eq!(refused(&headers(&[("content-length", "1"), ("authorization", "x")])), None);
    }

    #[test]
    fn response_loses_fields_of_the_connection() {
        let mut kept = headers(&[
            ("connection", "x-hop, keep-alive"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("etag", "1"),
        ]);
        remove_hop_by_hop(&mut kept);
        assert_eq!(kept, headers(&[("etag", "1")]));
    }
}
