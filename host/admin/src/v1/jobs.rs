//! Asynchronous pushes: `Prefer: respond-async` starts a job, and `GET /v1/jobs/{job}` returns its progress. Jobs are
//! kept in memory only.

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

use super::{AdminApiError, Api, MAX_JOBS};

/// The header that asks for a job in place of a slow answer (RFC 7240).
pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The header that confirms that a job was started.
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// The preference for a job.
pub(super) const RESPOND_ASYNC: &str = "respond-async";

/// Checks whether a request prefers a job.
pub(super) fn is_preferred(headers: &HeaderMap) -> bool {
    let values = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let name = |preference: &str| preference.split([';', '=']).next().unwrap_or_default().trim().to_owned();
    values.flat_map(|value| value.split(',')).any(|one| name(one).eq_ignore_ascii_case(RESPOND_ASYNC))
}

/// The jobs of this host.
#[derive(Default)]
pub(super) struct PushJobs(Mutex<Vec<Arc<PushJob>>>);

/// A push that continues after its request.
pub(super) struct PushJob {
    id: String,
    slot: &'static str,
    progress: Mutex<JobProgress>,
}

/// The stages that a job has reached, and how it ended.
#[derive(Default)]
struct JobProgress {
    stages: Vec<StageEntry>,
    outcome: Option<Result<Pushed, Value>>,
}

/// A stage, and when the component reached it.
#[derive(Clone, Copy, Serialize)]
struct StageEntry {
    stage: Stage,
    #[serde(serialize_with = "as_text")]
    at: SystemTime,
}

fn as_text<S: serde::Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339_millis(*at))
}

impl PushJobs {
    /// Starts a job. Drops the oldest one that has ended where there are too many.
    pub(super) fn start(&self, slot: &'static str) -> Result<Arc<PushJob>, AdminApiError> {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.len() >= MAX_JOBS {
            let oldest = jobs.iter().position(|job| job.has_ended()).ok_or_else(AdminApiError::receiving)?;
            jobs.remove(oldest);
        }
        let job = Arc::new(PushJob { id: Uuid::new_v4().to_string(), slot, progress: Mutex::default() });
        jobs.push(Arc::clone(&job));
        Ok(job)
    }

    fn find(&self, id: &str) -> Option<Arc<PushJob>> {
        let jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().find(|job| job.id == id).cloned()
    }
}

impl PushJob {
    /// Returns the path of the job.
    pub(super) fn path(&self) -> String {
        format!("/v1/jobs/{}", self.id)
    }

    /// Returns a reporter that records the stages of the push.
    pub(super) fn reporter(self: &Arc<Self>) -> StageReporter {
        let job = Arc::clone(self);
        Arc::new(move |stage| {
            let mut progress = job.progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.stages.push(StageEntry { stage, at: SystemTime::now() });
        })
    }

    /// Ends the job with the answer that the request would have had.
    pub(super) fn end(&self, outcome: Result<Pushed, AdminApiError>) {
        let outcome = outcome.map_err(|error| error.to_json());
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).outcome = Some(outcome);
    }

    fn has_ended(&self) -> bool {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).outcome.is_some()
    }

    /// Returns the progress as JSON.
    pub(super) fn view(&self) -> Value {
        let JobProgress { stages, outcome } = &*self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, version, error) = match outcome {
            None => ("running", None, None),
            Some(Ok(pushed)) => ("succeeded", Some(pushed), None),
            Some(Err(error)) => ("failed", None, Some(error)),
        };
        let (id, slot) = (&self.id, self.slot);
        json!({ "id": id, "slot": slot, "state": state, "stages": stages, "version": version, "error": error })
    }
}

/// Returns the progress of a job.
pub(super) async fn show(
    State(api): State<Arc<Api>>,
    Path(job): Path<String>,
) -> Result<Json<Value>, AdminApiError> {
    let job = api.jobs.find(&job).ok_or_else(AdminApiError::unknown_job)?;
    Ok(Json(job.view()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    #[test]
    fn preference_is_found_among_others() {
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
    fn ended_jobs_are_dropped_before_running_ones() {
        let jobs = PushJobs::default();
        let running = jobs.start("captcha").unwrap();
        let ended: Vec<Arc<PushJob>> = (0..MAX_JOBS)
            .map(|_| {
                let job = jobs.start("captcha").unwrap();
                job.end(Err(AdminApiError::stopping()));
                job
            })
            .collect();
        assert!(jobs.find(&running.id).is_some());
        assert!(jobs.find(&ended[0].id).is_none(), "the oldest that has ended is dropped");
        assert!(ended[1..].iter().all(|job| jobs.find(&job.id).is_some()));
        assert_eq!(jobs.0.lock().unwrap().len(), MAX_JOBS);
    }

    #[test]
    fn new_job_is_refused_among_too_many() {
        let jobs = PushJobs::default();
        let running: Vec<Arc<PushJob>> = (0..MAX_JOBS).map(|_| jobs.start("captcha").unwrap()).collect();
        assert_eq!(jobs.start("captcha").err().unwrap().code(), "busy");
        running[3].end(Err(AdminApiError::stopping()));
        jobs.start("captcha").unwrap();
        assert!(jobs.find(&running[3].id).is_none());
    }

    #[test]
    fn view_has_stages_and_error() {
        let job = PushJobs::default().start("captcha").unwrap();
        let report = job.reporter();
        [Stage::Received, Stage::Refused].into_iter().for_each(|stage| report(stage));
        assert_eq!(job.view()["state"], "running");
        job.end(Err(AdminApiError::invalid("no")));
        let view = job.view();
        assert_eq!((&view["state"], &view["version"]), (&json!("failed"), &Value::Null));
        assert_eq!(
            (&view["stages"][0]["stage"], &view["stages"][1]["stage"]),
            (&json!("received"), &json!("refused"))
        );
        assert_eq!(view["error"], json!({ "status": 400, "error": "invalid-request", "message": "no" }));
    }
}
