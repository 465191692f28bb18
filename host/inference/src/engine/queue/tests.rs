//! Tests of the queue.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::*;
use crate::engine::{CallerKind, Embedded, Input, Request, StartTime};
use crate::model::{EmbedOptions, Model, tests::faulty, tests::toy};

type Answer = oneshot::Receiver<Result<Embedded, Failure>>;

const BULK: Caller = Caller { kind: CallerKind::Anonymous, id: 1, weight: 1 };
const OTHER: Caller = Caller { kind: CallerKind::Anonymous, id: 2, weight: 1 };

/// Returns a request for texts of so many tokens each.
fn job(model: &Arc<Model>, lengths: &[usize]) -> (Arc<Job>, Answer) {
    let (sender, receiver) = oneshot::channel();
    let request = Request {
        texts: lengths.iter().map(|length| Input::Ids(vec![4; *length])).collect(),
        options: EmbedOptions::default(),
        deadline: Instant::now() + Duration::from_secs(60),
        caller: Caller::HOST,
    };
    (Job::new(Arc::clone(model), request, sender, StartTime::default()), receiver)
}

/// Queues a request whose texts have been tokenized.
fn push_ready(queue: &Queue, caller: Caller, model: &Arc<Model>, lengths: &[usize]) -> Answer {
    let (job, answer) = job(model, lengths);
    let mut work = PendingWork::of_texts(caller.kind, &job);
    while work.take_piece().is_some() {
        work.give_back(Vec::new());
    }
    let text = |(index, length): (usize, &usize)| TokenizedText {
        job: Arc::clone(&job),
        index,
        ids: vec![4; *length],
        tokenizing: Duration::ZERO,
    };
    work.give_back(lengths.iter().enumerate().map(text).collect());
    queue.admit(caller, work).unwrap();
    answer
}

fn new_queue(threads: usize) -> Queue {
    Queue::new(100_000, threads, Shares::default())
}

/// Returns how many texts the next thread is given.
fn texts(queue: &Queue) -> usize {
    match queue.next() {
        Some(Task::Embed(Batch { texts, helpers: 0, .. })) => texts.len(),
        _ => panic!("nothing to embed"),
    }
}

/// Returns the next batch, once what belongs into it has been tokenized to so many tokens a text.
fn batch(queue: &Queue, tokens: usize) -> Batch {
    loop {
        match queue.next() {
            Some(Task::Embed(batch)) => return batch,
            Some(task) => tokenize(queue, task, tokens),
            None => panic!("the queue has stopped"),
        }
    }
}

fn tokenize(queue: &Queue, task: Task, tokens: usize) {
    let Task::Tokenize(job, piece, place) = task else { panic!("nothing to tokenize") };
    let text = |index| TokenizedText {
        job: Arc::clone(&job),
        index,
        ids: vec![4; tokens],
        tokenizing: Duration::ZERO,
    };
    queue.give_back(&place, piece.map(text).collect());
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
        let queue = new_queue(threads);
        let _answer = push_ready(&queue, BULK, &Arc::new(faulty()), lengths);
        let found: Vec<usize> = shares.iter().map(|_| texts(&queue)).collect();
        assert_eq!(found, shares, "{lengths:?} on {threads} threads");
        assert_eq!(queue.stats().waiting_texts, 0);
    }
}

#[test]
fn full_queue_has_room_for_others() {
    let (queue, model) = (Queue::new(256, 1, Shares::default()), Arc::new(faulty()));
    let mut answers = Vec::new();
    let mut is_taken = |kind: CallerKind, id: u64, texts: usize| {
        let (job, answer) = job(&model, &vec![1; texts]);
        answers.push(answer);
        queue.submit(Caller { kind, id, weight: 1 }, &job).is_ok()
    };
    assert!(is_taken(CallerKind::Anonymous, 1, 256));
    // The texts that each caller asks for in turn, and whether they are taken.
    for (kind, id, texts, wanted) in [
        (CallerKind::Anonymous, 1, 1, false),
        (CallerKind::Anonymous, 2, 5, false),
        (CallerKind::Anonymous, 2, 4, true),
        (CallerKind::Anonymous, 2, 1, false),
        (CallerKind::Key, 1, 65, false),
        (CallerKind::Key, 1, 64, true),
        (CallerKind::Key, 1, 1, false),
        (CallerKind::Key, 2, 4, true),
        (CallerKind::Slot, 1, 64, true),
    ] {
        assert_eq!(is_taken(kind, id, texts), wanted, "{kind:?} {id}: {texts}");
    }
    // Twice the queue is 512 texts, of which 392 wait.
    let more = (3..100).filter(|id| is_taken(CallerKind::Anonymous, *id, 4)).count();
    assert_eq!(more, 30);
}

/// No thread may sleep while texts wait: here the tokenized texts fill a batch and their callers have left.
#[test]
fn texts_behind_abandoned_ones_are_reached() {
    let (queue, model) = (new_queue(1), Arc::new(faulty()));
    drop(push_ready(&queue, BULK, &model, &[14; 100]));
    let (behind, _answer) = job(&model, &[14; 200]);
    queue.submit(BULK, &behind).unwrap();
    let next = queue.next();
    assert!(matches!(next, Some(Task::Tokenize(job, ..)) if Arc::ptr_eq(&job, &behind)));
    assert_eq!(queue.stats().waiting_by_kind, ByKind { anonymous: 168, ..ByKind::default() });
}

#[test]
fn busy_thread_gets_no_share() {
    let (queue, model) = (new_queue(2), Arc::new(faulty()));
    let _first = push_ready(&queue, BULK, &model, &[14; 32]);
    assert_eq!(texts(&queue), 16);
    let _second = push_ready(&queue, BULK, &model, &[14; 32]);
    queue.is_free();
    assert_eq!(texts(&queue), 24, "half of what waits, as both threads are free");
}

#[test]
fn short_request_is_in_the_next_batch() {
    let (queue, model) = (new_queue(1), Arc::new(faulty()));
    let _bulk = [1, 2, 3, 4].map(|id| {
        let (job, answer) = job(&model, &[30; 256]);
        queue.submit(Caller { id, ..BULK }, &job).unwrap();
        answer
    });
    for _ in 0..9 {
        assert!(batch(&queue, 30).texts.len() >= 15, "a full batch");
        queue.is_free();
    }
    let (short, _answer) = job(&model, &[30]);
    queue.submit(Caller { id: 9, ..BULK }, &short).unwrap();
    let before = queue.stats().turns;
    let next = batch(&queue, 30);
    assert_eq!(next.texts.len(), 1, "nothing long is mixed with it");
    assert!(Arc::ptr_eq(&next.texts[0].job, &short));
    assert_eq!(queue.stats().turns - before, 2, "it is tokenized and embedded");
}

#[test]
fn batch_yields_to_short_work_of_others() {
    let (queue, model) = (new_queue(1), Arc::new(faulty()));
    let _bulk = push_ready(&queue, BULK, &model, &[30; 100]);
    let running = batch(&queue, 30).running;
    assert!(queue.next_between(&running).is_none(), "its own work waits for its end");
    let _also_long = push_ready(&queue, OTHER, &model, &[30; 100]);
    assert!(queue.next_between(&running).is_none(), "long work waits for its end");
    let (short, _answer) = job(&model, &[20; 2]);
    queue.submit(OTHER, &short).unwrap();
    tokenize(&queue, queue.next_between(&running).unwrap(), 20);
    let Some(Task::Embed(between)) = queue.next_between(&running) else { panic!("no batch") };
    assert!(between.texts.len() == 2 && between.helpers == 0);
    assert!(Arc::ptr_eq(&between.texts[0].job, &short));
    // Work of half the size may come in between once more, and no larger work.
    let _larger = push_ready(&queue, Caller { id: 3, ..BULK }, &model, &[21]);
    assert!(queue.next_between(&between.running).is_none());
    let _smaller = push_ready(&queue, Caller { id: 4, ..BULK }, &model, &[20]);
    assert!(matches!(queue.next_between(&between.running), Some(Task::Embed(_))));
    assert!(matches!(queue.next_between(&running), Some(Task::Embed(_))));
    assert!(queue.next_between(&running).is_none());
}

/// A caller that always has short work does not keep a batch of another waiting: it has its share.
#[test]
fn batch_yields_while_others_are_due() {
    let (queue, model) = (new_queue(1), Arc::new(faulty()));
    let _bulk = push_ready(&queue, BULK, &model, &[32; 100]);
    let running = batch(&queue, 32).running;
    let mut tokens = 0;
    let mut answers = Vec::new();
    loop {
        answers.push(push_ready(&queue, OTHER, &model, &[100]));
        let Some(Task::Embed(between)) = queue.next_between(&running) else { break };
        tokens += between.texts[0].ids.len();
        assert!(tokens <= 1000, "it takes more than its share");
    }
    assert!((300..=600).contains(&tokens), "{tokens}");
}

#[test]
fn models_are_not_mixed() {
    let (queue, models) = (new_queue(1), [Arc::new(faulty()), Arc::new(faulty())]);
    let _answers = models.each_ref().map(|model| push_ready(&queue, BULK, model, &[14; 32]));
    for model in &models {
        let batch = batch(&queue, 14);
        assert!(
            batch.texts.len() == 32 && batch.texts.iter().all(|text| Arc::ptr_eq(&text.job.model, model))
        );
        queue.is_free();
    }
}

#[test]
fn backlog_follows_the_measured_speed() {
    let (queue, model) = (new_queue(2), Arc::new(toy()));
    let (request, _answer) = job(&model, &[3; 1000]);
    queue.submit(BULK, &request).unwrap();
    assert_eq!(queue.backlog(), Duration::ZERO, "nothing has been measured");
    model.record_speed(100, Duration::from_secs(1));
    // Three thousand tokens, a hundred a second, two threads.
    assert!((queue.backlog().as_secs_f64() - 15.0).abs() < 1e-6);
}
