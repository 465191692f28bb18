//! Pushes that go on after their request: `Prefer: respond-async` starts a job, and `GET /v1/jobs/{job}` says how far it
//! has come. Jobs are kept in memory only.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderName},
};
use bulkhead_rollout::{Pushed, Stage, StageReporter};
use bulkhead_telemetry::timestamp::rfc3339_millis;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Api, ApiError};

/// Jobs that are remembered: those that run, of which there are few, and the last ones that have ended.
pub(super) const JOBS: usize = 32;

/// Asks for a job in place of an answer that takes long (RFC 7240).
pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
/// Says that a job was started because the request has asked for it.
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// The preference.
pub(super) const RESPOND_ASYNC: &str = "respond-async";

/// Whether a request prefers a job.
pub(super) fn is_preferred(headers: &HeaderMap) -> bool {
    let values = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let name = |preference: &str| preference.split([';', '=']).next().unwrap_or_default().trim().to_owned();
    values.flat_map(|value| value.split(',')).any(|one| name(one).eq_ignore_ascii_case(RESPOND_ASYNC))
}

/// The jobs of this host.
#[derive(Default)]
pub(super) struct Jobs(Mutex<Vec<Arc<Job>>>);

/// A push that goes on after its request.
pub(super) struct Job {
    id: String,
    slot: &'static str,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    stages: Vec<Passed>,
    outcome: Option<Result<Pushed, Value>>,
}

/// A stage, and when the component came to it.
#[derive(Clone, Copy, Serialize)]
struct Passed {
    stage: Stage,
    #[serde(serialize_with = "as_text")]
    at: SystemTime,
}

fn as_text<S: serde::Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339_millis(*at))
}

impl Jobs {
    /// Starts a job. The oldest one that has ended is forgotten where there are too many.
    pub(super) fn start(&self, slot: &'static str) -> Result<Arc<Job>, ApiError> {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.len() >= JOBS {
            let oldest = jobs.iter().position(|job| job.has_ended()).ok_or_else(ApiError::receiving)?;
            jobs.remove(oldest);
        }
        let job = Arc::new(Job { id: Uuid::new_v4().to_string(), slot, progress: Mutex::default() });
        jobs.push(Arc::clone(&job));
        Ok(job)
    }

    fn find(&self, id: &str) -> Option<Arc<Job>> {
        let jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().find(|job| job.id == id).cloned()
    }
}

impl Job {
    /// The path that it is asked for at.
    pub(super) fn path(&self) -> String {
        format!("/v1/jobs/{}", self.id)
    }

    /// Takes down each stage of its push.
    pub(super) fn report(self: &Arc<Self>) -> StageReporter {
        let job = Arc::clone(self);
        Arc::new(move |stage| {
            let mut progress = job.progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.stages.push(Passed { stage, at: SystemTime::now() });
        })
    }

    /// Ends it with what the request would have been answered.
    pub(super) fn end(&self, outcome: Result<Pushed, ApiError>) {
        let outcome = outcome.map_err(|error| error.described());
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).outcome = Some(outcome);
    }

    fn has_ended(&self) -> bool {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).outcome.is_some()
    }

    /// How far it has come.
    pub(super) fn view(&self) -> Value {
        let Progress { stages, outcome } = &*self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, version, error) = match outcome {
            None => ("running", None, None),
            Some(Ok(pushed)) => ("succeeded", Some(pushed), None),
            Some(Err(error)) => ("failed", None, Some(error)),
        };
        let (id, slot) = (&self.id, self.slot);
        json!({ "id": id, "slot": slot, "state": state, "stages": stages, "version": version, "error": error })
    }
}

/// How far a job has come.
pub(super) async fn show(
    State(api): State<Arc<Api>>,
    Path(job): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let job = api.jobs.find(&job).ok_or_else(ApiError::unknown_job)?;
    Ok(Json(job.view()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    #[test]
    fn a_preference_is_read_whatever_stands_beside_it() {
        for (fields, is_preferred) in [
            (&["respond-async"][..], true),
            (&["Respond-Async; wait=10"], true),
            (&["wait=10, respond-async"], true),
            (&["return=minimal", "respond-async"], true),
            (&["respond-asynchronously"], false),
            (&["wait=respond-async"], false),
            (&[], false),
        ] {
            let fields = fields.iter().map(|field| (PREFER, field.parse().unwrap()));
            let headers: HeaderMap = fields.collect();
            assert_eq!(super::is_preferred(&headers), is_preferred, "{headers:?}");
        }
    }

    #[test]
    fn preference_steps_grow_with_header() {
        let with = |unit: &str, bytes| {
            HeaderMap::from_iter([(PREFER, repeated("", unit, "", bytes).parse().unwrap())])
        };
        let shapes: [Shape<'_, HeaderMap>; 4] = [
            ("preferences", &|bytes| with("wait=10,", bytes)),
            ("parameters", &|bytes| with("wait;a=b;", bytes)),
            ("commas", &|bytes| with(",", bytes)),
            ("spaces", &|bytes| with(" ", bytes)),
        ];
        let test = concat!(module_path!(), "::preference_steps_grow_with_header");
        assert_linear(test, 1 << 20, &shapes, is_preferred);
    }

    #[test]
    fn old_jobs_go_and_running_ones_stay() {
        let jobs = Jobs::default();
        let running = jobs.start("captcha").unwrap();
        let ended: Vec<Arc<Job>> = (0..JOBS)
            .map(|_| {
                let job = jobs.start("captcha").unwrap();
                job.end(Err(ApiError::stopping()));
                job
            })
            .collect();
        assert!(jobs.find(&running.id).is_some());
        assert!(jobs.find(&ended[0].id).is_none(), "the oldest that has ended");
        assert!(ended[1..].iter().all(|job| jobs.find(&job.id).is_some()));
        assert_eq!(jobs.0.lock().unwrap().len(), JOBS);
    }

    #[test]
    fn too_many_running_jobs_refuse_another() {
        let jobs = Jobs::default();
        let running: Vec<Arc<Job>> = (0..JOBS).map(|_| jobs.start("captcha").unwrap()).collect();
        assert_eq!(jobs.start("captcha").err().unwrap().code(), "busy");
        running[3].end(Err(ApiError::stopping()));
        jobs.start("captcha").unwrap();
        assert!(jobs.find(&running[3].id).is_none());
    }

    #[test]
    fn a_view_says_stages_and_the_error() {
        let job = Jobs::default().start("captcha").unwrap();
        let report = job.report();
        [Stage::Received, Stage::Refused].into_iter().for_each(|stage| report(stage));
        assert_eq!(job.view()["state"], "running");
        job.end(Err(ApiError::invalid("no")));
        let view = job.view();
        assert_eq!((&view["state"], &view["version"]), (&json!("failed"), &Value::Null));
        assert_eq!(
            (&view["stages"][0]["stage"], &view["stages"][1]["stage"]),
            (&json!("received"), &json!("refused"))
        );
        assert_eq!(view["error"], json!({ "status": 400, "error": "invalid-request", "message": "no" }));
    }
}
