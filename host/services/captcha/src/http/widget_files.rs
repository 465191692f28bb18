//! Serves the widget's files from a folder: `GET /widget/files` lists them with their integrity hashes, and
//! `GET /widget/files/{release}/{path}` serves an immutable file, since `release` is a digest of the whole folder.
//! Without
//! `{release}/` clients must revalidate.
//!
//! They are public: pages of any origin may load them.

mod folder;

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::json;

pub use self::folder::{WidgetFiles, WidgetFilesError};
use super::{BASE, CaptchaState, error::CaptchaApiError};

/// Path of the files, below the service's paths.
const FILES: &str = "/widget/files";
/// Caching for a year, the longest useful time.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const REVALIDATED: HeaderValue = HeaderValue::from_static("no-cache");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Returns the routes, which answer 404 without `captcha.widget_dir`.
pub fn router() -> Router<Arc<CaptchaState>> {
    Router::new()
        .route(&format!("{BASE}{FILES}"), get(list))
        .route(&format!("{BASE}{FILES}/{{*path}}"), get(file))
}

async fn list(State(state): State<Arc<CaptchaState>>) -> Result<Response, CaptchaApiError> {
    let folder = state.widget_files.as_ref().ok_or_else(CaptchaApiError::not_found)?;
    let release = folder.release();
    let files: Vec<_> = folder
        .files()
        .map(|(path, file)| {
            json!({
                "path": path,
                "url": format!("{}{BASE}{FILES}/{release}/{path}", state.path_prefix),
                "integrity": file.integrity,
                "bytes": file.bytes.len(),
            })
        })
        .collect();
    let mut response = Json(json!({ "release": release, "files": files })).into_response();
    allow_all(response.headers_mut());
    Ok(response)
}

async fn file(
    State(state): State<Arc<CaptchaState>>,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, CaptchaApiError> {
    let folder = state.widget_files.as_ref().ok_or_else(CaptchaApiError::not_found)?;
    let Path(path) = path.map_err(|_| CaptchaApiError::not_found())?;
    let of_release = path.split_once('/').filter(|(release, _)| *release == folder.release());
    let (path, caching) = match of_release {
        Some((_, path)) => (path, IMMUTABLE),
        None => (path.as_str(), REVALIDATED),
    };
    let file = folder.file(path).ok_or_else(CaptchaApiError::not_found)?;
    let mut response = match is_cached(&headers, &file.etag) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => {
            let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type))];
            (content_type, file.bytes.clone()).into_response()
        }
    };
    let answer = response.headers_mut();
    answer.insert(header::CACHE_CONTROL, caching);
    answer.insert(header::ETAG, file.etag.clone());
    allow_all(answer);
    Ok(response)
}

/// Allows pages of every origin to load the file with an integrity hash or as a module.
fn allow_all(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
}

/// Checks whether the client has the file (RFC 9110, section 13.1.2).
fn is_cached(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let lines = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut tags = lines.flat_map(|line| line.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.as_bytes() == etag.as_bytes())
}
