//! The servers that this program is when it measures itself.

use bulkhead::{
    services::captcha::http::{CaptchaState, router},
    telemetry,
};

use crate::{
    measures::{captcha, swap},
    noop,
};
use bulkhead_tests::parts::Parts;

/// Serves until it is killed; the first line on standard output is the address.
pub fn serve(kind: &str, workers: usize) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if workers > 0 {
        runtime.worker_threads(workers);
    }
    runtime.enable_all().build().unwrap().block_on(async {
        match kind {
            "native" => native().await,
            "fresh" => component(false).await,
            "reuse" => component(true).await,
            "memory" => captcha_service().await,
            "swap" => swap::serve().await,
            _ => panic!("no server is called {kind:?}"),
        }
    });
}

async fn native() {
    let parts = parts(&noop::config(false));
    parts.serve(noop::native()).await;
}

async fn component(reuse: bool) {
    let parts = parts(&noop::config(reuse));
    let slot = noop::slot(&parts).await;
    parts.serve(noop::component(slot)).await;
}

async fn captcha_service() {
    let parts = parts(&format!("{}{}", captcha::QUIET, captcha::SITES));
    let service = captcha::service(&parts).await;
    let settings = parts.config.table().unwrap();
    let state = CaptchaState::new(service.into(), settings, &parts.config.server, "").unwrap();
    parts.serve(router(state)).await;
}

fn parts(config: &str) -> Parts {
    let parts = Parts::new(config);
    telemetry::logs::init(parts.config.log).unwrap();
    parts
}
