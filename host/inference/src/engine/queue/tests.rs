//! Tests of the queue.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::*;
use crate::engine::{Embedded, Request};
use crate::model::{EmbedOptions, tests::toy};

type Answer = oneshot::Receiver<Result<Embedded, Failure>>;

fn job(texts: &[&str]) -> (Arc<Job>, Answer) {
    let (sender, receiver) = oneshot::channel();
    let request = Request {
        texts: texts.iter().map(|text| Input::Text((*text).to_owned())).collect(),
        options: EmbedOptions::default(),
        deadline: Instant::now() + Duration::from_secs(60),
    };
    (Job::new(Arc::new(toy()), request, sender), receiver)
}

/// Returns texts of so many tokens each, waiting in a queue of so many threads.
fn waiting(threads: usize, lengths: &[usize]) -> (Queue, Answer) {
    let (job, answer) = job(&vec!["hello"; lengths.len()]);
    let queue = Queue::new(1000, threads);
    let ready = lengths.iter().enumerate();
    let ready =
        ready.map(|(index, length)| TokenizedText { job: Arc::clone(&job), index, ids: vec![4; *length] });
    queue.push_ready(ready.collect());
    (queue, answer)
}

/// Returns how many texts the next thread is given.
fn texts(queue: &Queue) -> usize {
    match queue.next() {
        Some(Task::Embed(texts, 0)) => texts.len(),
        _ => panic!("nothing to embed"),
    }
}

#[test]
fn free_threads_get_equal_shares() {
    let cases: [(usize, &[usize], &[usize]); 9] = [
        (1, &[14; 32], &[32]),
        (2, &[14; 32], &[16, 16]),
        (2, &[14; 8], &[4, 4]),
        // Not worth a second thread.
        (2, &[14; 2], &[2]),
        (4, &[14; 32], &[8, 8, 8, 8]),
        // Three full batches would leave a thread idle at the end.
        (2, &[128; 12], &[3, 3, 3, 3]),
        (2, &[128; 8], &[4, 4]),
        (2, &[100, 10, 10], &[1, 2]),
        (2, &[10, 10, 100], &[2, 1]),
    ];
    for (threads, lengths, shares) in cases {
        let (queue, _answer) = waiting(threads, lengths);
        let found: Vec<usize> = shares.iter().map(|_| texts(&queue)).collect();
        assert_eq!(found, shares, "{lengths:?} on {threads} threads");
        assert_eq!(queue.stats().waiting_texts, 0);
    }
}

/// No thread may sleep while texts wait: here the tokenised texts fill a batch and their callers have left.
#[test]
fn texts_behind_abandoned_ones_are_reached() {
    let (queue, answer) = waiting(1, &[14; 100]);
    drop(answer);
    let (behind, _answer) = job(&["hello"; 3]);
    queue.submit(&behind).unwrap();
    let next = queue.next();
    assert!(matches!(next, Some(Task::Tokenize(job, _)) if Arc::ptr_eq(&job, &behind)));
    assert_eq!(queue.stats().waiting_texts, 0);
}

#[test]
fn busy_thread_gets_no_share() {
    let (queue, _answer) = waiting(2, &[14; 32]);
    assert_eq!(texts(&queue), 16);
    let (job, _answer) = job(&["hello"; 16]);
    queue.push_ready(
        (0..16).map(|index| TokenizedText { job: Arc::clone(&job), index, ids: vec![4; 14] }).collect(),
    );
    queue.is_free();
    assert_eq!(texts(&queue), 16, "half of what waits, as both threads are free");
}

#[test]
fn pieces_are_limited_by_texts_and_bytes() {
    let lengths = |texts: &[usize]| {
        let texts: Vec<Input> = texts.iter().map(|length| Input::Text("a".repeat(*length))).collect();
        pieces(&texts).into_iter().map(|piece| piece.len()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(&[]), [0; 0]);
    assert_eq!(lengths(&[5; 70]), [32, 32, 6]);
    assert_eq!(lengths(&[2048; 5]), [2, 2, 1]);
    assert_eq!(lengths(&[10_000, 1, 1]), [1, 2]);
}
