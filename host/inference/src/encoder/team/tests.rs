#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tempfile::tempdir;

use super::*;
use crate::encoder::tests::toy::Toy;
use crate::encoder::{Dtype, EncoderOptions};

fn encoder(dtype: Dtype) -> Arc<Encoder> {
    let folder = tempdir().unwrap();
    Toy::default().write(folder.path());
    Arc::new(Encoder::open(folder.path(), &EncoderOptions { dtype, ..EncoderOptions::default() }).unwrap())
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
            let mut expected = vec![0.0; encoder.dims()];
            let pooling = Pooling::Mean;
            encoder.embed(&ids, &[0, tokens], pooling, &mut Scratch::new(), &mut expected).unwrap();
            for (threads, helpers) in [(2, 1), (3, 2), (2, 0), (4, 1)] {
                let team = Team::new(&encoder, ids.clone(), pooling, threads).unwrap();
                let found = std::thread::scope(|scope| {
                    for _ in 0..helpers {
                        scope.spawn(|| team.help(&mut Scratch::new()));
                    }
                    team.lead(&mut Scratch::new()).unwrap()
                });
                assert_eq!(found, expected, "{tokens} tokens over {threads} threads");
                team.help(&mut Scratch::new());
            }
        }
    }
}

#[test]
fn a_text_at_fault_has_no_team() {
    let refused = Team::new(&encoder(Dtype::Int8), vec![100; 60], Pooling::Mean, 2).err();
    assert_eq!(refused, Some(EmbedError::Vocabulary { text: 0, id: 100, vocabulary: 100 }));
}

/// Nobody waits for a thread that panicked with its block undone.
#[test]
fn a_helper_that_panics_fails_the_text() {
    let team = Team::new(&encoder(Dtype::Int8), ids(100), Pooling::Cls, 2).unwrap();
    let helper = std::thread::scope(|scope| {
        let helper = || {
            let _alarm = Alarm(&team.failed);
            assert_eq!(team.next.fetch_add(1, Ordering::Relaxed), 0);
            panic!("broken on purpose");
        };
        scope.spawn(helper).join()
    });
    assert!(helper.is_err());
    let failed = team.lead(&mut Scratch::new());
    assert!(matches!(failed, Err(EmbedError::Panicked(_))), "{failed:?}");
}
