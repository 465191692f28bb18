//! Tests of embedding one text by several threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tempfile::tempdir;

use super::*;
use crate::encoder::tests::toy::Toy;
use crate::encoder::{Dtype, EncoderOptions};
use bulkhead_kernels::Kernel;

fn encoder(dtype: Dtype) -> Arc<Encoder> {
    open(&Toy::default(), dtype, Kernel::detect())
}

fn open(toy: &Toy, dtype: Dtype, kernel: Kernel) -> Arc<Encoder> {
    let folder = tempdir().unwrap();
    toy.write(folder.path());
    let options = EncoderOptions { dtype, kernel: Some(kernel), cache: None };
    Arc::new(Encoder::open(folder.path(), &options).unwrap())
}

/// Embeds a text with one thread.
fn alone(encoder: &Encoder, ids: &[u32]) -> Vec<f32> {
    let mut vector = vec![0.0; encoder.dims()];
    encoder.embed(ids, &[0, ids.len()], Pooling::Mean, &mut Scratch::new(), &mut vector).unwrap();
    vector
}

fn ids(tokens: usize) -> Vec<u32> {
    (0..tokens).map(|at| (at * 7 % 100) as u32).collect()
}

/// One text of every length over several threads, with helpers that come late or not at all.
#[test]
fn a_shared_text_changes_no_bit() {
    for dtype in [Dtype::Float32, Dtype::Int8] {
        let encoder = encoder(dtype);
        for tokens in (1..160).step_by(3) {
            let ids = ids(tokens);
            let expected = alone(&encoder, &ids);
            for (threads, helpers) in [(2, 1), (3, 2), (2, 0), (4, 1)] {
                let group = WorkGroup::new(&encoder, ids.clone(), Pooling::Mean, threads).unwrap();
                let found = std::thread::scope(|scope| {
                    for _ in 0..helpers {
                        scope.spawn(|| group.help(&mut Scratch::new()));
                    }
                    group.run(&mut Scratch::new(), &mut |_, _| {}).unwrap()
                });
                assert_eq!(found, expected, "{tokens} tokens over {threads} threads");
                group.help(&mut Scratch::new());
            }
        }
    }
}

/// Heads and channels that no number of threads divides, several parts, every kernel; and each task runs on a thread
/// that has seen nothing of the text before.
#[test]
fn any_thread_may_take_any_share() {
    let toy = Toy { hidden: 112, heads: 7, inner: 848, ..Toy::default() };
    for kernel in Kernel::available() {
        for dtype in [Dtype::Float32, Dtype::Int8] {
            let encoder = open(&toy, dtype, kernel);
            for (tokens, threads) in [(1, 2), (3, 3), (14, 2), (14, 4), (40, 3), (127, 99), (128, 2)] {
                let ids = ids(tokens);
                let group = WorkGroup::new(&encoder, ids.clone(), Pooling::Mean, threads).unwrap();
                group.tasks.run_all(|phase, share| {
                    let mut scratch = Scratch::new();
                    match &group.split {
                        Split::Rows(rows) => rows.work(&group.text, phase, share, &mut scratch),
                        Split::Columns(columns) => {
                            columns.work(&group.text, phase, share, &mut Worker::new(&mut scratch));
                        }
                    }
                });
                let found = group.run(&mut Scratch::new(), &mut |_, _| {}).unwrap();
                let what = format!("{kernel} {dtype:?}: {tokens} tokens over {threads} threads");
                assert_eq!(found, alone(&encoder, &ids), "{what}");
            }
        }
    }
}

#[test]
fn invalid_text_has_no_work_group() {
    let refused = WorkGroup::new(&encoder(Dtype::Int8), vec![100; 60], Pooling::Mean, 2).err();
    assert_eq!(refused, Some(EmbedError::Vocabulary { text: 0, id: 100, vocabulary: 100 }));
}

/// No thread waits for one that panicked with its share undone, however the text is split.
#[test]
fn panicking_helper_fails_the_text() {
    for tokens in [14, 150] {
        let group = WorkGroup::new(&encoder(Dtype::Int8), ids(tokens), Pooling::Cls, 2).unwrap();
        let helper = std::thread::scope(|scope| {
            let helper = || group.tasks.run_all(|_, _| panic!("broken on purpose"));
            scope.spawn(helper).join()
        });
        assert!(helper.is_err());
        let failed = group.run(&mut Scratch::new(), &mut |_, _| {});
        assert!(matches!(failed, Err(EmbedError::Panicked(_))), "{failed:?}");
    }
}
