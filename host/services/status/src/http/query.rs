//! The query of a status request.

use axum::{
    extract::Query,
    http::{HeaderMap, Uri},
};

use super::{error::StatusApiError, gql::Selection};

const COMPRESS: &str = "x-jsoncompresslevel";

/// The options of a status request. Unknown parameters are ignored, as is `resolveReferences`.
#[derive(Debug)]
pub struct StatusQuery {
    /// `includeProcessStats`.
    pub statistics: bool,
    /// `gql`, and its text.
    pub selection: Option<(Selection, String)>,
    /// `compress`, or the header that overrides it.
    pub compress: bool,
}

impl StatusQuery {
    /// Reads query and headers. The last of duplicate parameters is used.
    pub fn read(uri: &Uri, headers: &HeaderMap) -> Result<Self, StatusApiError> {
        let Query(pairs) =
            Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|_| StatusApiError::bad_query())?;
        let last = |name: &str| {
            let found = pairs.iter().rev().find(|(key, _)| key == name);
            found.map(|(_, value)| value.chars().filter(|c| !c.is_control()).collect::<String>())
        };
        let statistics = match last("includeProcessStats").as_deref().map(str::trim) {
            None | Some("1") => true,
            Some("0") => false,
            Some(_) => return Err(StatusApiError::bad_statistics()),
        };
        let selection = match last("gql") {
            None => None,
            Some(text) => Some((Selection::parse(&text)?, text)),
        };
        let level = |text: &str| text.trim().parse::<u32>().unwrap_or(0);
        let header = headers.get(COMPRESS).and_then(|value| value.to_str().ok()).map_or(0, level);
        let compress = header >= 1 || last("compress").is_some_and(|text| level(&text) >= 1);
        Ok(Self { statistics, selection, compress })
    }

    /// Returns a text that differs between queries with different responses.
    pub fn key(&self) -> String {
        let selection = self.selection.as_ref().map_or("", |(_, text)| text);
        format!("{} {} {selection}", self.statistics, self.compress)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn read(query: &str) -> Result<StatusQuery, StatusApiError> {
        StatusQuery::read(&format!("/status/?{query}").parse().unwrap(), &HeaderMap::new())
    }

    #[test]
    fn statistics_parameter_is_1_or_0() {
        for query in [
            "",
            "includeProcessStats=1",
            "includeProcessStats=+1%20",
            "includeProcessStats=0&includeProcessStats=1",
            "resolveReferences=2",
        ] {
            assert!(read(query).unwrap().statistics, "{query}");
        }
        assert!(!read("includeProcessStats=0").unwrap().statistics);
        for value in ["", "2", "-1", "%2B1", "abc", "false", "true", "no", "01", "0.0"] {
            let error = read(&format!("includeProcessStats={value}")).unwrap_err();
            assert_eq!(error, StatusApiError::bad_statistics(), "{value}");
        }
        // PHP's way to write an array, which is another name.
        assert!(read("includeProcessStats[]=0").unwrap().statistics);
    }

    #[test]
    fn header_overrides_parameter() {
        let with = |query: &str, header: &str| {
            let headers = HeaderMap::from_iter([(COMPRESS.parse().unwrap(), header.parse().unwrap())]);
            StatusQuery::read(&format!("/?{query}").parse().unwrap(), &headers).unwrap().compress
        };
        assert!(with("", "1") && with("compress=0", "3") && with("compress=1", "0"));
        assert!(!with("compress=0", "0") && !with("compress=x", "y"));
    }

    #[test]
    fn query_steps_grow_with_its_length() {
        let with = |unit: &str, bytes| repeated("/status/?", unit, "", bytes).parse().unwrap();
        // No URI is longer than 65,534 bytes.
        let shapes: [Shape<'_, Uri>; 4] = [
            ("parameters", &|bytes| with("a&", bytes)),
            ("selections", &|bytes| with("gql=%7Ba%7D&", bytes)),
            ("escapes", &|bytes| with("%C3%A9", bytes)),
            ("one selection", &|bytes| with("gql=+", bytes)),
        ];
        let test = concat!(module_path!(), "::query_steps_grow_with_its_length");
        assert_linear(test, 65_534, &shapes, |uri| StatusQuery::read(uri, &HeaderMap::new()).is_ok());
    }
}
