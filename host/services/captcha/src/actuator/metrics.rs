//! `/actuator/metrics` as JSON or text, `/actuator/scrape` and `/actuator/prometheus` as text.

use std::sync::Arc;

use axum::{
    extract::{Path, Query, State, rejection::PathRejection},
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use bulkhead_telemetry::exposition::Format;
use prometheus::proto::{MetricFamily, MetricType};
use serde_json::json;

use super::{
    ActuatorState,
    media::{self, JSON},
    meters::{self, Tag},
    problem::ActuatorProblem,
};

const TEXTS: [&str; 2] = [Format::Text.content_type(), Format::OpenMetrics.content_type()];
/// The media types of `/actuator/metrics`. JSON is the default, as for Spring's endpoint of that name.
const ALL: [&str; 5] = {
    let ([v3, v2, plain], [text, openmetrics]) = (JSON, TEXTS);
    [v3, v2, plain, text, openmetrics]
};

/// `GET /actuator/metrics`: the meters' names, or all metrics as text for a client that prefers text.
pub(super) async fn list(
    State(state): State<Arc<ActuatorState>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ActuatorProblem> {
    let media_type = media::select(&headers, &uri, &ALL)?;
    if TEXTS.contains(&media_type) {
        return text(&state, &uri, media_type);
    }
    let names = meters::names(&state.metrics.families(), &state.metrics.gather());
    Ok(media::typed(media_type, json!({ "names": names }).to_string()))
}

/// `GET /actuator/metrics/{name}`: one meter, over the series that have every `tag=NAME:VALUE`.
pub(super) async fn one(
    State(state): State<Arc<ActuatorState>>,
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ActuatorProblem> {
    let tags = tags(&uri)?;
    let metrics = &state.metrics;
    let meter =
        name.ok().and_then(|Path(name)| meters::meter(&metrics.families(), &metrics.gather(), &name, &tags));
    match meter {
        Some(meter) => media::json(&headers, &uri, &meter),
        None => Ok(StatusCode::NOT_FOUND.into_response()),
    }
}

/// Parses the tags as Spring reads a list: splits a single parameter at its commas, takes several unchanged.
fn tags(uri: &Uri) -> Result<Vec<Tag>, ActuatorProblem> {
    let texts = query(uri, "tag")?;
    let tags: Option<Vec<Tag>> = match texts.as_slice() {
        [list] => list.split(',').map(Tag::parse).collect(),
        tags => tags.iter().map(|tag| Tag::parse(tag)).collect(),
    };
    tags.ok_or_else(|| {
        ActuatorProblem::bad_request(
            uri,
            "write tags as tag=name:value, several with a comma between them or a tag= before each",
        )
    })
}

/// `GET /actuator/scrape` and `GET /actuator/prometheus`.
pub(super) async fn scrape(
    State(state): State<Arc<ActuatorState>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, ActuatorProblem> {
    text(&state, &uri, media::select(&headers, &uri, &TEXTS)?)
}

/// Returns all families, or those that `includedNames=A,B` names, in a text format.
fn text(state: &ActuatorState, uri: &Uri, content_type: &'static str) -> Result<Response, ActuatorProblem> {
    let mut families = state.metrics.gather();
    retain_included(&mut families, uri)?;
    let format =
        if content_type == Format::OpenMetrics.content_type() { Format::OpenMetrics } else { Format::Text };
    let body = format.encode(&families).map_err(|error| {
        tracing::error!(%error, "metrics could not be written");
        let message = "metrics could not be written";
        ActuatorProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message, uri)
    })?;
    Ok(media::typed(content_type, body))
}

/// Keeps the families that `includedNames=A,B` names, or all without it.
fn retain_included(families: &mut Vec<MetricFamily>, uri: &Uri) -> Result<(), ActuatorProblem> {
    let included = query(uri, "includedNames")?;
    let names: Vec<&str> = included.iter().flat_map(|list| list.split(',')).collect();
    if !names.is_empty() {
        families.retain(|family| names.iter().any(|name| names_family(name, family)));
    }
    Ok(())
}

/// Checks whether `name` is a family's name, with or without `_total`, or the name of one of its samples.
fn names_family(name: &str, family: &MetricFamily) -> bool {
    let own = family.name();
    name == own
        || match family.get_field_type() {
            MetricType::COUNTER => own.strip_suffix("_total") == Some(name),
            MetricType::HISTOGRAM | MetricType::SUMMARY => {
                ["_count", "_sum", "_bucket"].iter().any(|end| name.strip_suffix(end) == Some(own))
            }
            MetricType::GAUGE | MetricType::UNTYPED => false,
        }
}

/// Returns the values of a query parameter, in order.
fn query(uri: &Uri, name: &str) -> Result<Vec<String>, ActuatorProblem> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|_| ActuatorProblem::bad_request(uri, "the query is not form-encoded text"))?;
    Ok(pairs.into_iter().filter(|(key, _)| key == name).map(|(_, value)| value).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_steps::{Shape, assert_linear, repeated};
    use bulkhead_telemetry::Metrics;

    use super::*;
    use crate::metrics::CaptchaMetrics;

    /// Length of the longest request target, bytes.
    const BYTES: usize = 65_000;

    fn target(head: &str, unit: &str, bytes: usize) -> Uri {
        repeated(&format!("/actuator/metrics?{head}"), unit, "", bytes).parse().unwrap()
    }

    #[test]
    fn query_steps_grow_with_target() {
        let shapes: [Shape<'_, Uri>; 6] = [
            ("names", &|bytes| target("includedNames=", "a,", bytes)),
            ("commas", &|bytes| target("includedNames=", ",", bytes)),
            ("lists", &|bytes| target("", "includedNames=a&", bytes)),
            ("escapes", &|bytes| target("includedNames=", "%2c", bytes)),
            ("tags", &|bytes| target("", "tag=a:b&", bytes)),
            ("tags of one list", &|bytes| target("tag=", "a:b,", bytes)),
        ];
        let metrics = Metrics::new("/".into(), []).unwrap();
        metrics.set::<CaptchaMetrics>().unwrap();
        let (listed, families) = (metrics.families(), metrics.gather());
        let name = meters::names(&listed, &families).into_iter().next().unwrap();
        let test = concat!(module_path!(), "::query_steps_grow_with_target");
        assert_linear(test, BYTES, &shapes, |uri| {
            let mut included = families.clone();
            let meter = tags(uri).ok().and_then(|tags| meters::meter(&listed, &families, &name, &tags));
            (retain_included(&mut included, uri).is_ok(), meter)
        });
    }
}
