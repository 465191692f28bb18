#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroUsize;
use std::sync::{Arc, mpsc};

use tempfile::tempdir;

use super::{Unit, Workers};
use crate::encoder::team::Team;
use crate::encoder::tests::toy::Toy;
use crate::encoder::{Encoder, EncoderOptions, Scratch};
use crate::error::EmbedError;
use crate::pooling::Pooling;

fn encoder() -> Arc<Encoder> {
    let folder = tempdir().unwrap();
    Toy::default().write(folder.path());
    Arc::new(Encoder::open(folder.path(), &EncoderOptions::default()).unwrap())
}

fn workers(threads: usize) -> Workers {
    Workers::new(NonZeroUsize::new(threads).unwrap()).unwrap()
}

fn batch(texts: usize) -> (Vec<u32>, Vec<usize>) {
    let mut ids = Vec::new();
    let mut offsets = vec![0];
    for text in 0..texts {
        ids.extend((0..=text * 37 % 150).map(|at| ((at + text) % 100) as u32));
        offsets.push(ids.len());
    }
    (ids, offsets)
}

#[test]
fn threads_change_no_bit() {
    let encoder = encoder();
    let (ids, offsets) = batch(50);
    let mut expected = vec![0.0; 50 * encoder.dims()];
    encoder.embed(&ids, &offsets, Pooling::Mean, &mut Scratch::new(), &mut expected).unwrap();
    for threads in [1, 2, 5] {
        let mut found = vec![0.0; expected.len()];
        let results = workers(threads).embed_batch(&encoder, &ids, &offsets, Pooling::Mean, &mut found);
        assert!(results.iter().all(Result::is_ok));
        assert_eq!(found, expected);
    }
}

#[test]
fn a_poisonous_text_costs_no_other_its_vector() {
    let encoder = encoder();
    let (mut ids, offsets) = batch(20);
    let mut expected = vec![0.0; 20 * encoder.dims()];
    encoder.embed(&ids, &offsets, Pooling::Mean, &mut Scratch::new(), &mut expected).unwrap();
    ids[offsets[7]] = 100;
    let mut found = vec![0.0; expected.len()];
    let results = workers(2).embed_batch(&encoder, &ids, &offsets, Pooling::Mean, &mut found);
    for (text, result) in results.into_iter().enumerate() {
        let span = text * encoder.dims()..(text + 1) * encoder.dims();
        if text == 7 {
            assert_eq!(result, Err(EmbedError::Vocabulary { text: 7, id: 100, vocabulary: 100 }));
        } else {
            assert_eq!(result, Ok(()));
            assert_eq!(found[span.clone()], expected[span]);
        }
    }
}

/// One text over several threads, of every length that is shared out, and again and again.
#[test]
fn a_shared_text_changes_no_bit() {
    let encoder = encoder();
    for threads in [2, 3] {
        let workers = workers(threads);
        for tokens in (40..160).step_by(3) {
            let ids: Vec<u32> = (0..tokens).map(|at| (at * 7 % 100) as u32).collect();
            let mut expected = vec![0.0; encoder.dims()];
            let pooling = Pooling::Mean;
            encoder.embed(&ids, &[0, tokens], pooling, &mut Scratch::new(), &mut expected).unwrap();
            let mut found = vec![0.0; encoder.dims()];
            let results = workers.embed_batch(&encoder, &ids, &[0, tokens], pooling, &mut found);
            assert_eq!(results, [Ok(())]);
            assert_eq!(found, expected, "{tokens} tokens over {threads} threads");
        }
        let mut out = vec![0.0; encoder.dims()];
        let results = workers.embed_batch(&encoder, &[100; 60], &[0, 60], Pooling::Mean, &mut out);
        assert!(matches!(results[..], [Err(EmbedError::Vocabulary { text: 0, .. })]), "{results:?}");
    }
}

/// Whoever leads alone gets through; whoever fails is noticed.
#[test]
fn a_team_needs_nobody() {
    let encoder = encoder();
    let ids: Vec<u32> = (0..100).collect();
    let mut expected = vec![0.0; encoder.dims()];
    encoder.embed(&ids, &[0, 100], Pooling::Cls, &mut Scratch::new(), &mut expected).unwrap();
    let team = Team::new(&encoder, ids.clone(), 4).unwrap();
    assert_eq!(team.lead(Pooling::Cls, &mut Scratch::new()), Ok(expected));
    // Late for all work.
    team.help(&mut Scratch::new());
}

#[test]
fn a_panic_is_an_error_of_its_unit() {
    let encoder = encoder();
    let workers = workers(1);
    let (sender, receiver) = mpsc::channel();
    for _ in 0..3 {
        let panicked = sender.clone();
        workers.run(
            |_| -> Result<Vec<f32>, EmbedError> { panic!("broken on purpose") },
            move |result| panicked.send(result).unwrap(),
        );
        let unit = Unit { ids: vec![1, 2], offsets: vec![0, 2], pooling: Pooling::Cls };
        let sender = sender.clone();
        workers.submit(&encoder, unit, move |result| sender.send(result).unwrap());
    }
    drop(sender);
    let results: Vec<_> = receiver.into_iter().collect();
    assert_eq!(results.len(), 6);
    for pair in results.chunks(2) {
        assert_eq!(pair[0], Err(EmbedError::Panicked("broken on purpose".to_owned())));
        assert_eq!(pair[1].as_ref().unwrap().len(), encoder.dims());
    }
}

#[test]
fn a_panicking_receiver_costs_no_thread() {
    let encoder = encoder();
    let workers = workers(1);
    let unit = Unit { ids: vec![1, 2], offsets: vec![0, 2], pooling: Pooling::Mean };
    workers.submit(&encoder, unit.clone(), |_| panic!("the receiver broke on purpose"));
    let (sender, receiver) = mpsc::channel();
    workers.submit(&encoder, unit, move |result| sender.send(result).unwrap());
    assert!(receiver.recv().unwrap().is_ok());
}

#[test]
fn dropping_finishes_what_is_queued() {
    let encoder = encoder();
    let (sender, receiver) = mpsc::channel();
    let workers = workers(2);
    for text in 0..40 {
        let unit = Unit { ids: vec![text; 30], offsets: vec![0, 30], pooling: Pooling::Mean };
        let sender = sender.clone();
        workers.submit(&encoder, unit, move |result| sender.send(result.is_ok()).unwrap());
    }
    drop((workers, sender));
    assert_eq!(receiver.into_iter().filter(|done| *done).count(), 40);
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let encoder = encoder();
    let workers = workers(2);
    let mut out = vec![0.0; 2 * encoder.dims()];
    for offsets in [&[0, 1, 2][..], &[0, 3, 1], &[0, 3]] {
        let results = workers.embed_batch(&encoder, &[1, 2, 3], offsets, Pooling::Mean, &mut out);
        assert!(results.iter().all(|result| matches!(result, Err(EmbedError::Shape { .. }))), "{offsets:?}");
    }
    assert!(workers.embed_batch(&encoder, &[], &[0], Pooling::Mean, &mut []).is_empty());
    assert!(workers.embed_batch(&encoder, &[], &[], Pooling::Mean, &mut []).is_empty());
}
