//! A no-op component call without HTTP.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bulkhead::{
    compile::ComponentDigest,
    services::list::{self, CAPTCHA},
};
use bulkhead_tests::parts::Parts;
use tokio::runtime::Runtime;

use super::captcha;
use crate::{
    noop,
    options::Options,
    report::{Report, Target},
};

pub fn measure(options: &Options, report: &mut Report) {
    report.section("calls without HTTP, microseconds from one to the next", "fresh", "reuse");
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    for threads in [1, cores] {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
        let bench = Bench { options, runtime, threads };
        let [fresh, reuse] = bench.noop();
        report.ratio(&format!("a no-op, {threads} threads"), &fresh, &reuse, Target::None);
        let [fresh, reuse] = bench.issue();
        report.ratio(&format!("a challenge (SHA-256), {threads} threads"), &fresh, &reuse, Target::None);
    }
    compilation(report);
    let scan = wasmtime::PoolingAllocationConfig::is_pagemap_scan_available();
    report.note(format_args!("this kernel tells which pages an instance wrote (PAGEMAP_SCAN): {scan}"));
}

struct Bench<'a> {
    options: &'a Options,
    runtime: Runtime,
    threads: usize,
}

impl Bench<'_> {
    /// Fresh, reuse.
    fn noop(&self) -> [Vec<f64>; 2] {
        let parts = [false, true].map(|reuse| Parts::new(&noop::config(reuse)));
        let slots = parts.each_ref().map(|parts| self.runtime.block_on(noop::slot(parts)));
        self.turns(&slots, |slot| async move { noop::call(&slot).await })
    }

    /// Fresh, reuse.
    fn issue(&self) -> [Vec<f64>; 2] {
        let config =
            |reuse| format!("{}{}[slots.captcha]\nreuse = {reuse}\n", captcha::QUIET, captcha::SITES);
        let parts = [false, true].map(|reuse| Parts::new(&config(reuse)));
        let service = |parts| Arc::new(self.runtime.block_on(captcha::service(parts)));
        let services = parts.each_ref().map(service);
        self.turns(&services, |service| async move {
            let site = service.site("compat").unwrap();
            service.issue(&site, [192, 0, 2, 1].into(), None).await.is_ok()
        })
    }

    fn turns<T, F>(
        &self,
        subjects: &[Arc<T>; 2],
        call: impl Fn(Arc<T>) -> F + Copy + Send + 'static,
    ) -> [Vec<f64>; 2]
    where
        T: Send + Sync + 'static,
        F: Future<Output = bool> + Send,
    {
        let mut turns = [Vec::new(), Vec::new()];
        // The first turn warms up and does not count.
        for round in 0..=self.options.rounds {
            for (subject, turns) in subjects.iter().zip(&mut turns) {
                let micros = self.runtime.block_on(self.micros(subject, call));
                if round > 0 {
                    turns.push(micros);
                }
            }
        }
        turns
    }

    /// Microseconds from one call to the next while every thread calls.
    async fn micros<T, F>(&self, subject: &Arc<T>, call: impl Fn(Arc<T>) -> F + Copy + Send + 'static) -> f64
    where
        T: Send + Sync + 'static,
        F: Future<Output = bool> + Send,
    {
        let (since, time): (_, Duration) = (Instant::now(), self.options.turn / 2);
        let task = |_| {
            let subject = Arc::clone(subject);
            tokio::spawn(async move {
                let mut calls = 0_u32;
                while since.elapsed() < time {
                    assert!(call(Arc::clone(&subject)).await);
                    calls += 1;
                }
                calls
            })
        };
        let tasks: Vec<_> = (0..self.threads).map(task).collect();
        let mut calls = 0;
        for task in tasks {
            calls += task.await.unwrap();
        }
        since.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    }
}

/// Size and compile time of the captcha component.
fn compilation(report: &mut Report) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let wasm = list::component(CAPTCHA).unwrap();
    let turns: Vec<_> = (0..3)
        .map(|_| {
            let parts = Parts::new("");
            let since = Instant::now();
            let digest = ComponentDigest::of(wasm);
            runtime.block_on(parts.context.compiler.compile(wasm.into(), digest)).unwrap();
            since.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    report.figure("the captcha component, kB", &[wasm.len() as f64 / 1e3], Target::None);
    report.figure("its compilation, ms", &turns, Target::None);
}
