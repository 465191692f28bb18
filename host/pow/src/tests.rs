//! The threads: who gets a place, who keeps it, who is told to come back.

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

/// Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);
const CHEAP: Parameters = Parameters {
    algorithm: Algorithm::Pbkdf2Sha256,
    cost: 1,
    memory_cost: 0,
    parallelism: 0,
    key_length: 32,
};

fn pow(threads: usize, queue_length: usize) -> Arc<Pow> {
    Arc::new(Pow::start(threads, queue_length).unwrap())
}

/// A job that runs until it is let go.
struct Held {
    caller: JoinHandle<Result<(), PowError>>,
    gate: mpsc::Sender<()>,
}

impl Held {
    /// Returns once a thread works on it.
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

/// A job that waits, once it does, and whether it has run.
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
async fn a_full_queue_is_busy_at_once() {
    let pow = pow(1, 1);
    let held = Held::start(&pow).await;
    let (waiting, _) = queued(&pow).await;
    assert_busy(cheap(&pow).await);
    held.gate.send(()).unwrap();
    held.caller.await.unwrap().unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(cheap(&pow).await.unwrap().len(), 32);
}

#[tokio::test]
async fn whoever_has_its_answer_finds_the_place_free() {
    let pow = pow(1, 0);
    let recipe = Recipe { parameters: CHEAP, counter_max: 1 };
    for _ in 0..2000 {
        pow.mint(recipe).await.unwrap();
        cheap(&pow).await.unwrap();
    }
}

#[tokio::test]
async fn a_running_derivation_keeps_its_place_when_its_caller_has_left() {
    let pow = pow(1, 0);
    let held = Held::start(&pow).await;
    held.caller.abort();
    held.caller.await.unwrap_err();
    assert_busy(cheap(&pow).await);
    held.gate.send(()).unwrap();
    let free = async {
        while let Err(error) = cheap(&pow).await {
            assert_busy(Err::<(), _>(error));
            yield_now().await;
        }
    };
    timeout(PATIENCE, free).await.expect("the place is free again");
}

#[tokio::test]
async fn a_waiting_derivation_is_dropped_when_its_caller_has_left() {
    let pow = pow(1, 2);
    let held = Held::start(&pow).await;
    let (leaving, left) = queued(&pow).await;
    let (staying, stayed) = queued(&pow).await;
    leaving.abort();
    leaving.await.unwrap_err();
    held.gate.send(()).unwrap();
    staying.await.unwrap().unwrap();
    assert!(stayed.load(Ordering::Acquire) && !left.load(Ordering::Acquire));
}

/// Threads that are minting do not look at the queue, so the queue must hold no more for that.
#[tokio::test]
async fn a_queue_is_bounded_while_threads_mint() {
    let pow = pow(2, 3);
    let minting = [Held::start(&pow).await, Held::start(&pow).await];
    pow.shared.lock().busy = 0;
    for _ in 0..5 {
        queued(&pow).await;
    }
    assert_busy(cheap(&pow).await);
    pow.shared.lock().busy = 2;
    minting.iter().for_each(|held| held.gate.send(()).unwrap());
}

#[tokio::test]
async fn over_a_cap_is_refused_before_it_takes_a_place() {
    let pow = pow(1, 0);
    let _held = Held::start(&pow).await.gate;
    let endless = Parameters { cost: u32::MAX, ..CHEAP };
    let refused = pow.derive(endless, vec![1], vec![]).await;
    assert!(matches!(refused, Err(PowError::Refused(_))), "{refused:?}");
    let refused = pow.mint(Recipe { parameters: endless, counter_max: 1 }).await;
    assert!(matches!(refused, Err(PowError::Refused(_))), "{refused:?}");
}

#[tokio::test]
async fn a_panic_costs_no_thread() {
    let pow = pow(1, 1);
    for _ in 0..3 {
        let job = || -> () { panic!("a defect in a derivation") };
        let stopped = pow.run(job).await;
        assert!(matches!(stopped, Err(PowError::Stopped)), "{stopped:?}");
    }
    cheap(&pow).await.unwrap();
}

#[tokio::test]
async fn stopping_ends_those_who_wait() {
    let pow = pow(1, 1);
    let held = Held::start(&pow).await;
    let (waiting, ran) = queued(&pow).await;
    let jobs = {
        let mut state = pow.shared.lock();
        state.stopped = true;
        std::mem::take(&mut state.jobs)
    };
    drop(jobs);
    assert!(matches!(waiting.await.unwrap(), Err(PowError::Stopped)));
    assert!(matches!(cheap(&pow).await, Err(PowError::Stopped)));
    held.gate.send(()).unwrap();
    held.caller.await.unwrap().unwrap();
    assert!(!ran.load(Ordering::Acquire));
}

#[tokio::test]
async fn idle_threads_mint_ahead_and_what_they_mint_is_good() {
    let pow = pow(1, 4);
    let recipe = Recipe { parameters: CHEAP, counter_max: 3 };
    for _ in 0..20 {
        let minted = pow.mint(recipe).await.unwrap();
        assert!((1..=3).contains(&minted.counter));
        let password = [minted.nonce.as_slice(), &minted.counter.to_be_bytes()].concat();
        let key = pow.derive(CHEAP, password, minted.salt).await.unwrap();
        assert_eq!(key, minted.derived_key);
    }
    for _ in 0..1000 {
        if pow.shared.lock().minted.take(recipe).is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("nothing has been minted ahead");
}
