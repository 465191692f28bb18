//! Picks a media type by an `Accept` header (RFC 9110, section 12.5.1).

use std::cmp::Reverse;

/// Returns the offer that the client prefers; of equally preferred ones the earliest.
///
/// No header, or a blank one, takes the first offer; `None` when no offer is accepted. Of the media types' parameters
/// only `version` counts, because no other one distinguishes our offers.
pub fn negotiate<'a>(accept: Option<&str>, offers: &[&'a str]) -> Option<&'a str> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return offers.first().copied();
    };
    let ranges: Vec<Range<'_>> = accept.split(',').filter_map(Range::parse).collect();
    let mut best: Option<(Rank, &str)> = None;
    for offer in offers {
        let rank = rank(&ranges, offer);
        if rank.is_some_and(|rank| best.is_none_or(|(other, _)| rank > other)) {
            best = rank.map(|rank| (rank, *offer));
        }
    }
    best.map(|(_, offer)| offer)
}

/// Thousandths of quality, then how exactly the client named the offer, then how early.
type Rank = (u16, u8, Reverse<usize>);

/// Returns the rank that the most exact range gives to `offer`; `None` when it is not accepted.
fn rank(ranges: &[Range<'_>], offer: &str) -> Option<Rank> {
    let matching = ranges.iter().enumerate().filter(|(_, range)| range.covers(offer));
    let (_, Reverse(at), range) = matching
        .map(|(at, range)| (range.exactness(), Reverse(at), range))
        .max_by_key(|(exactness, at, _)| (*exactness, *at))?;
    (range.quality > 0).then(|| (range.quality, range.exactness(), Reverse(at)))
}

struct Range<'a> {
    kind: &'a str,
    subtype: &'a str,
    version: Option<&'a str>,
    quality: u16,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (kind, subtype) = match parts.next()? {
            "*" => ("*", "*"),
            name => name.split_once('/')?,
        };
        let mut range = Self { kind, subtype, version: None, quality: 1_000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim() {
                "q" | "Q" => range.quality = quality(value.trim())?,
                "version" => range.version = Some(value.trim().trim_matches('"')),
                _ => {}
            }
        }
        Some(range)
    }

    fn covers(&self, offer: &'a str) -> bool {
        let Some(offer) = Range::parse(offer) else { return false };
        let fits = |range: &str, offered: &str| range == "*" || range.eq_ignore_ascii_case(offered);
        let version = match (self.version, offer.version) {
            (Some(wanted), Some(offered)) => wanted == offered,
            _ => true,
        };
        version && fits(self.kind, offer.kind) && fits(self.subtype, offer.subtype)
    }

    fn exactness(&self) -> u8 {
        u8::from(self.kind != "*") + u8::from(self.subtype != "*") + u8::from(self.version.is_some())
    }
}

/// Parses `0` to `1` with up to three decimals, in thousandths.
fn quality(text: &str) -> Option<u16> {
    let value: f32 = text.parse().ok()?;
    (0.0..=1.0).contains(&value).then(|| (value * 1_000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    const OFFERS: [&str; 3] =
        ["application/json", "text/plain; version=0.0.4", "application/openmetrics-text; version=1.0.0"];

    fn picked(accept: &str) -> Option<&'static str> {
        negotiate(Some(accept), &OFFERS)
    }

    #[test]
    fn missing_header_takes_the_first_offer() {
        assert_eq!(negotiate(None, &OFFERS), Some(OFFERS[0]));
        for accept in ["", " ", "*/*", "*", "text/html, */*;q=0.8", "application/*"] {
            assert_eq!(picked(accept), Some(OFFERS[0]), "{accept}");
        }
    }

    #[test]
    fn quality_then_order_of_the_header() {
        assert_eq!(picked("text/plain"), Some(OFFERS[1]));
        assert_eq!(picked("TEXT/*"), Some(OFFERS[1]));
        assert_eq!(picked("application/json;q=0.2, text/plain;q=0.3"), Some(OFFERS[1]));
        assert_eq!(picked("text/plain, application/json"), Some(OFFERS[1]));
        assert_eq!(picked("*/*, text/plain"), Some(OFFERS[1]));
        assert_eq!(picked("application/json;q=0, */*"), Some(OFFERS[1]));
    }

    #[test]
    fn what_a_scraper_sends() {
        let accept = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
             application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert_eq!(picked(accept), Some(OFFERS[2]));
        assert_eq!(picked("application/openmetrics-text;version=0.0.1"), None);
        assert_eq!(picked("text/plain;version=\"0.0.4\""), Some(OFFERS[1]));
    }

    #[test]
    fn nothing_accepted() {
        for accept in ["image/png", "nonsense", "*/*;q=0", "application/json;q=2", ";", ","] {
            assert_eq!(picked(accept), None, "{accept}");
        }
    }

    #[test]
    fn accept_steps_grow_with_its_length() {
        let shapes: [Shape<'_, String>; 3] = [
            ("ranges", &|bytes| repeated("", "*/*;q=0.1,", "", bytes)),
            ("parameters", &|bytes| repeated("text/plain", ";a=b", "", bytes)),
            ("commas", &|bytes| repeated("", ",", "", bytes)),
        ];
        let test = concat!(module_path!(), "::accept_steps_grow_with_its_length");
        assert_linear(test, 1 << 20, &shapes, |accept| negotiate(Some(accept), &OFFERS).is_some());
    }
}
