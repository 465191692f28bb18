//! Parses the text fields of a `multipart/form-data` body (RFC 7578).

use super::error::CaptchaApiError;

/// Longest boundary, characters (RFC 2046, section 5.1.1).
const BOUNDARY_CHARS: usize = 70;

/// Returns the boundary of a content type, if the type is `multipart/form-data`.
pub fn boundary(content_type: &str) -> Option<String> {
    let (essence, parameters) = content_type.split_once(';')?;
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameter(parameters, "boundary")?;
    let fits = (1..=BOUNDARY_CHARS).contains(&boundary.len()) && boundary.bytes().all(|byte| byte.is_ascii());
    fits.then(|| boundary.to_owned())
}

/// Returns names and values of a body's fields, in order.
pub fn fields<'a>(body: &'a str, boundary: &str) -> Result<Vec<(&'a str, &'a str)>, CaptchaApiError> {
    let malformed =
        || CaptchaApiError::bad_request("invalid-multipart", "the body is not multipart/form-data");
    let delimiter = format!("--{boundary}");
    // Text before the first delimiter is a preamble.
    let mut rest = match body.strip_prefix(&*delimiter) {
        Some(rest) => rest,
        None => body.split_once(&*format!("\r\n{delimiter}")).ok_or_else(malformed)?.1,
    };
    let delimiter = format!("\r\n{delimiter}");
    let mut fields = Vec::new();
    loop {
        if rest.starts_with("--") {
            return Ok(fields);
        }
        // Blanks may follow a delimiter.
        let part = rest.trim_start_matches([' ', '\t']).strip_prefix("\r\n").ok_or_else(malformed)?;
        let (part, next) = part.split_once(&*delimiter).ok_or_else(malformed)?;
        let (head, value) = part.split_once("\r\n\r\n").ok_or_else(malformed)?;
        fields.push((name(head).ok_or_else(malformed)?, value));
        rest = next;
    }
}

/// Returns the field name in a part's `Content-Disposition`.
fn name(head: &str) -> Option<&str> {
    let disposition = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-disposition").then_some(value)
    })?;
    let (kind, parameters) = disposition.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return None;
    }
    parameter(parameters, "name")
}

/// Returns the value of a parameter, with or without quotes. Values that contain a quote or a semicolon are not
/// supported.
fn parameter<'a>(parameters: &'a str, wanted: &str) -> Option<&'a str> {
    parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim();
        let value = value.strip_prefix('"').map_or(Some(value), |quoted| quoted.strip_suffix('"'))?;
        name.trim().eq_ignore_ascii_case(wanted).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    const BODY: &str = "--b-1\r\nContent-Disposition: form-data; name=\"secret\"\r\n\r\ncaf\u{e9}\r\n\
                        --b-1 \r\ncontent-disposition: form-data; name=response\r\ncontent-type: text/plain\r\n\r\n\
                        a\r\n\r\n--b\r\n--b-1--\r\nepilogue";

    #[test]
    fn boundary_needs_multipart_form_data() {
        for (content_type, expected) in [
            ("multipart/form-data; boundary=b-1", Some("b-1")),
            ("Multipart/Form-Data;charset=utf-8; Boundary=\"b 1\"", Some("b 1")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/form-data; boundary=\"b", None),
            ("multipart/mixed; boundary=b", None),
        ] {
            assert_eq!(boundary(content_type).as_deref(), expected, "{content_type}");
        }
        assert_eq!(boundary(&format!("multipart/form-data; boundary={}", "b".repeat(71))), None);
    }

    #[test]
    fn fields_are_read_in_order() {
        let expected = vec![("secret", "caf\u{e9}"), ("response", "a\r\n\r\n--b")];
        assert_eq!(fields(BODY, "b-1").unwrap(), expected);
        assert_eq!(fields(&format!("preamble\r\n{BODY}"), "b-1").unwrap(), expected);
        assert_eq!(fields("--b--", "b").unwrap(), []);
    }

    #[test]
    fn broken_bodies_are_refused() {
        for body in [
            "",
            "--b",
            "--b\r\n",
            "--c--",
            "--b\r\ncontent-disposition: form-data; name=a\r\n\r\nunfinished",
            "--b\r\ncontent-disposition: form-data; name=a\r\nno blank line\r\n--b--",
            "--b\r\ncontent-disposition: form-data\r\n\r\nnameless\r\n--b--",
            "--b\r\ncontent-disposition: attachment; name=a\r\n\r\nx\r\n--b--",
            "--b\r\ncontent-type: text/plain\r\n\r\nx\r\n--b--",
        ] {
            assert_eq!(fields(body, "b").unwrap_err().status, 400, "{body:?}");
        }
    }

    #[test]
    fn multipart_steps_grow_with_its_length() {
        let part = "\r\ncontent-disposition: form-data; name=a\r\n\r\nx\r\n--b";
        let shapes: [Shape<'_, String>; 4] = [
            ("parts", &|bytes| repeated("--b", part, "--", bytes)),
            ("half delimiters", &|bytes| repeated("--b\r\n", "\r\n--", "\r\n--b--", bytes)),
            ("header lines", &|bytes| repeated("--b\r\n", "a:b\r\n", "\r\n\r\n--b--", bytes)),
            ("blanks", &|bytes| repeated("--b", " ", "\r\n", bytes)),
        ];
        let test = concat!(module_path!(), "::multipart_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |text| fields(text, "b").is_ok());
    }
}
