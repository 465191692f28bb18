//! Tests of the thread pool: bounded queue, cancelled callers, panics, stopping.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use tokio::{
    task::{JoinHandle, yield_now},
    time::timeout,
};

use super::*;

/// Only a failing test waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);
const CHEAP: KdfParameters = KdfParameters {
    algorithm: PowAlgorithm::Pbkdf2Sha256,
    cost: 1,
    memory_cost: 0,
    parallelism: 0,
    key_length: 32,
};

fn pow(threads: usize, queue_length: usize) -> Arc<Pow> {
    Arc::new(Pow::start(threads, queue_length).unwrap())
}

/// A job that runs until its gate opens.
struct BlockedJob {
    caller: JoinHandle<Result<(), PowError>>,
    gate: mpsc::Sender<()>,
}

impl BlockedJob {
    /// Starts the job and returns when a thread runs it.
    async fn start(pow: &Arc<Pow>) -> Self {
        let (gate, closed) = mpsc::channel();
        let (started, running) = oneshot::channel();
        let pow = Arc::clone(pow);
        let job = move || {
            let _ = started.send(());
            let _ = closed.recv();
        };
        let caller = tokio::spawn(async move { pow.run(job).await });
        timeout(PATIENCE, running).await.expect("a thread takes the job").unwrap();
        Self { caller, gate }
    }
}

/// Queues a job. Returns its caller, and whether it has run.
async fn queued(pow: &Arc<Pow>) -> (JoinHandle<Result<(), PowError>>, Arc<AtomicBool>) {
    let ran = Arc::new(AtomicBool::new(false));
    let (queued, before) = (pow.queued(), Arc::clone(&ran));
    let shared = Arc::clone(pow);
    let caller = tokio::spawn(async move { shared.run(move || before.store(true, Ordering::Release)).await });
    let waits = async {
        while pow.queued() <= queued {
            yield_now().await;
        }
    };
    timeout(PATIENCE, waits).await.expect("the job waits");
    (caller, ran)
}

async fn cheap(pow: &Pow) -> Result<Vec<u8>, PowError> {
    pow.derive(CHEAP, b"password".to_vec(), b"salt".to_vec()).await
}

fn assert_busy<T: fmt::Debug>(result: Result<T, PowError>) {
    assert!(matches!(result, Err(PowError::Busy { retry_after: RETRY_AFTER_SECONDS })), "{result:?}");
}

#[tokio::test]
async fn full_queue_is_busy_at_once() {
    let pow = pow(1, 1);
    let blocked = BlockedJob::start(&pow).await;
    let (waiting, _) = queued(&pow).await;
    assert_busy(cheap(&pow).await);
    blocked.gate.send(()).unwrap();
    blocked.caller.await.unwrap().unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(cheap(&pow).await.unwrap().len(), 32);
}

#[tokio::test]
async fn quick_derivation_waits_for_no_thread() {
    let pow = pow(1, 0);
    let blocked = BlockedJob::start(&pow).await;
    let quick = KdfParameters { algorithm: PowAlgorithm::Sha256, ..CHEAP };
    let derived = pow.derive(quick, b"password".to_vec(), b"salt".to_vec()).await.unwrap();
    assert_eq!(derived.len(), 32);
    let long = KdfParameters { cost: 1000, ..quick };
    assert_busy(pow.derive(long, b"password".to_vec(), b"salt".to_vec()).await);
    blocked.gate.send(()).unwrap();
    blocked.caller.await.unwrap().unwrap();
}

#[tokio::test]
async fn caller_with_result_finds_thread_free() {
    let pow = pow(1, 0);
    let spec = ChallengeSpec { parameters: CHEAP, counter_max: 1 };
    for _ in 0..2000 {
        pow.mint(spec).await.unwrap();
        cheap(&pow).await.unwrap();
    }
}

#[tokio::test]
async fn running_job_survives_its_cancelled_caller() {
    let pow = pow(1, 0);
    let blocked = BlockedJob::start(&pow).await;
    blocked.caller.abort();
    blocked.caller.await.unwrap_err();
    assert_busy(cheap(&pow).await);
    blocked.gate.send(()).unwrap();
    let free = async {
        while let Err(error) = cheap(&pow).await {
            assert_busy(Err::<(), _>(error));
            yield_now().await;
        }
    };
    timeout(PATIENCE, free).await.expect("the thread is free again");
}

#[tokio::test]
async fn queued_job_is_dropped_with_its_caller() {
    let pow = pow(1, 2);
    let blocked = BlockedJob::start(&pow).await;
    let (leaving, left) = queued(&pow).await;
    let (staying, stayed) = queued(&pow).await;
    leaving.abort();
    leaving.await.unwrap_err();
    blocked.gate.send(()).unwrap();
    staying.await.unwrap().unwrap();
    assert!(stayed.load(Ordering::Acquire) && !left.load(Ordering::Acquire));
}

/// Threads that mint do not take jobs, so the queue must not grow meanwhile.
#[tokio::test]
async fn queue_is_bounded_while_threads_mint() {
    let pow = pow(2, 3);
    let minting = [BlockedJob::start(&pow).await, BlockedJob::start(&pow).await];
    pow.shared.lock().busy = 0;
    for _ in 0..5 {
        queued(&pow).await;
    }
    assert_busy(cheap(&pow).await);
    pow.shared.lock().busy = 2;
    minting.iter().for_each(|blocked| blocked.gate.send(()).unwrap());
}

#[tokio::test]
async fn parameters_over_cap_are_refused_before_queueing() {
    let pow = pow(1, 0);
    let _blocked = BlockedJob::start(&pow).await.gate;
    let endless = KdfParameters { cost: u32::MAX, ..CHEAP };
    let refused = pow.derive(endless, vec![1], vec![]).await;
    assert!(matches!(refused, Err(PowError::Refused(_))), "{refused:?}");
    let refused = pow.mint(ChallengeSpec { parameters: endless, counter_max: 1 }).await;
    assert!(matches!(refused, Err(PowError::Refused(_))), "{refused:?}");
}

#[tokio::test]
async fn panicking_job_costs_no_thread() {
    let pow = pow(1, 1);
    for _ in 0..3 {
        let job = || -> () { panic!("a defect in a derivation") };
        let stopped = pow.run(job).await;
        assert!(matches!(stopped, Err(PowError::Stopped)), "{stopped:?}");
    }
    cheap(&pow).await.unwrap();
}

#[tokio::test]
async fn stopping_drops_queued_jobs() {
    let pow = pow(1, 1);
    let blocked = BlockedJob::start(&pow).await;
    let (waiting, ran) = queued(&pow).await;
    let jobs = {
        let mut state = pow.shared.lock();
        state.stopped = true;
        std::mem::take(&mut state.jobs)
    };
    drop(jobs);
    assert!(matches!(waiting.await.unwrap(), Err(PowError::Stopped)));
    assert!(matches!(cheap(&pow).await, Err(PowError::Stopped)));
    blocked.gate.send(()).unwrap();
    blocked.caller.await.unwrap().unwrap();
    assert!(!ran.load(Ordering::Acquire));
}

#[tokio::test]
async fn idle_threads_mint_valid_challenges() {
    let pow = pow(1, 4);
    let spec = ChallengeSpec { parameters: CHEAP, counter_max: 3 };
    for _ in 0..20 {
        let minted = pow.mint(spec).await.unwrap();
        assert!((1..=3).contains(&minted.counter));
        let password = [minted.nonce.as_slice(), &minted.counter.to_be_bytes()].concat();
        let key = pow.derive(CHEAP, password, minted.salt).await.unwrap();
        assert_eq!(key, minted.derived_key);
    }
    for _ in 0..1000 {
        if pow.shared.lock().challenges.take(spec).is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no challenge has been minted in advance");
}
