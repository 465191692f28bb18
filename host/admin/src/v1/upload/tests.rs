//! Tests of uploads: which permit a push holds, and for how long.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use axum::http::HeaderValue;
use bulkhead_config::{
    self, HostSpec, Sources,
    slots::{SlotId, SlotSettings},
    tokens::Scope,
};
use bulkhead_registry::Registries;
use bulkhead_rollout::{
    Change, Deploy, DeployError, DeploymentRegistry, Expected, Exported, LocalStore, PreparedChange, Pushed,
    Reloader, ShadowView, SharedView, SlotView, StageReporter, VersionDiff, VersionRecord,
};
use bulkhead_runtime::capabilities::LogLine;
use bulkhead_telemetry::Metrics;
use futures_util::{future::BoxFuture, stream};
use tokio::{
    runtime::Handle,
    sync::{Notify, Semaphore},
    task::JoinHandle,
    time::timeout,
};

use super::*;
use crate::{
    refusals::RefusalLog,
    v1::{
        EXPORTS, OperatorContext, PULLS, UPLOADS, access::Authorizer, jobs::PushJobs,
        statistics::StatisticsRecorder,
    },
};

/// Only a failing test waits for so long.
const PATIENCE: Duration = Duration::from_secs(10);

/// A slot whose pushes last until a test ends them.
#[derive(Default)]
struct SlowSlot {
    entered: Notify,
    end: Notify,
}

impl Deploy for SlowSlot {
    fn slot(&self) -> SlotId {
        SlotId::new("captcha")
    }

    fn push(
        self: Arc<Self>,
        _: Arc<[u8]>,
        _: String,
        _: Proof,
        _: String,
        _: StageReporter,
    ) -> BoxFuture<'static, Result<Pushed, DeployError>> {
        Box::pin(async move {
            self.entered.notify_one();
            self.end.notified().await;
            Err(DeployError::Stopping)
        })
    }

    fn view(&self) -> SlotView {
        panic!("not called")
    }
    fn shared(&self) -> Option<SharedView> {
        panic!("not called")
    }
    fn fallback_reason(&self) -> Option<String> {
        panic!("not called")
    }
    fn file_fault(&self) -> Option<String> {
        panic!("not called")
    }
    fn shadow(&self) -> Option<ShadowView> {
        panic!("not called")
    }
    fn history(&self) -> Vec<VersionRecord> {
        panic!("not called")
    }
    fn diff(self: Arc<Self>, _: String, _: String) -> BoxFuture<'static, Result<VersionDiff, DeployError>> {
        panic!("not called")
    }
    fn dry_run(
        self: Arc<Self>,
        _: SlotSettings,
    ) -> BoxFuture<'static, Result<Box<dyn PreparedChange>, DeployError>> {
        panic!("not called")
    }
    fn settings(&self) -> Arc<SlotSettings> {
        panic!("not called")
    }
    fn longest_call(&self) -> Duration {
        panic!("not called")
    }
    fn precompile(self: Arc<Self>) -> BoxFuture<'static, ()> {
        panic!("not called")
    }
    fn unsaved_reason(&self) -> Option<String> {
        panic!("not called")
    }
    fn uncompiled_reason(&self) -> Option<String> {
        panic!("not called")
    }
    fn hold_predecessor(&self) {
        panic!("not called")
    }
    fn export(self: Arc<Self>, _: String) -> BoxFuture<'static, Result<Exported, DeployError>> {
        panic!("not called")
    }
    fn empty_reason(&self) -> Option<String> {
        panic!("not called")
    }
    fn logs(&self, _: usize) -> Vec<LogLine> {
        panic!("not called")
    }
    fn change(self: Arc<Self>, _: Change, _: Expected) -> BoxFuture<'static, Result<SlotView, DeployError>> {
        panic!("not called")
    }
    fn stop(self: Arc<Self>) -> BoxFuture<'static, ()> {
        panic!("not called")
    }
}

/// Returns an API over one slot, whose folder is never written to.
fn api(slot: Arc<dyn Deploy>) -> Arc<Api> {
    let sources = Sources { root: true, ..Sources::default() };
    let loaded = bulkhead_config::load(sources, &HostSpec::default()).unwrap();
    let deployments = Arc::new(DeploymentRegistry::new(Arc::new(LocalStore::new("unused".into())), None));
    deployments.add(slot);
    deployments.mark_complete();
    let reloader = Arc::new(Reloader::new(&loaded, None, Arc::clone(&deployments)));
    let metrics = Arc::new(Metrics::new("unused".into(), []).unwrap());
    let operators = OperatorContext {
        deployments: Arc::clone(&deployments),
        reloader: Arc::clone(&reloader),
        runtime: Handle::current(),
        registries: Arc::new(Registries::new(Vec::new(), 1024, "unused".into())),
        component_bytes: 1024,
        metrics: Arc::clone(&metrics),
    };
    Arc::new(Api {
        authorizer: Authorizer::new(reloader.tokens(), Arc::new(RefusalLog::new(Arc::clone(&deployments)))),
        recorder: Arc::new(StatisticsRecorder::new(metrics)),
        operators,
        uploads: Arc::new(Semaphore::new(UPLOADS)),
        pulls: Arc::new(Semaphore::new(PULLS)),
        exports: Arc::new(Semaphore::new(EXPORTS)),
        jobs: PushJobs::default(),
    })
}

/// Sends a push of `body`; aborting the task is what happens when the client disconnects.
fn send(api: &Arc<Api>, body: Body) -> JoinHandle<Result<Response, AdminApiError>> {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/wasm"))]);
    let actor = Extension(Actor("ops".to_owned(), Scope::Deploy));
    let none = Ok(Query(HashMap::new()));
    tokio::spawn(push(State(Arc::clone(api)), Path("captcha".to_owned()), actor, none, headers, body))
}

async fn all_permits(api: &Api) {
    let all = api.uploads.acquire_many(u32::try_from(UPLOADS).unwrap());
    drop(timeout(PATIENCE, all).await.unwrap().unwrap());
}

#[tokio::test]
async fn push_keeps_permit_after_client_disconnects() {
    let slot = Arc::new(SlowSlot::default());
    let api = api(slot.clone());
    for _ in 0..UPLOADS {
        let client = send(&api, Body::from("component"));
        timeout(PATIENCE, slot.entered.notified()).await.unwrap();
        client.abort();
        assert!(client.await.unwrap_err().is_cancelled());
    }
    assert_eq!(api.uploads.available_permits(), 0, "the pushes continue");
    let refused = send(&api, Body::from("component")).await.unwrap().unwrap_err();
    assert_eq!(refused.code(), "busy");
    // Both pushes have begun and wait for their end.
    slot.end.notify_waiters();
    all_permits(&api).await;
}

#[tokio::test]
async fn unfinished_upload_releases_permit_on_disconnect() {
    let api = api(Arc::new(SlowSlot::default()));
    let endless = Body::from_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let client = send(&api, endless);
    let begun = async {
        while api.uploads.available_permits() == UPLOADS {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, begun).await.unwrap();
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled());
    all_permits(&api).await;
}
