//! Tests of what callers have of each other: turns, deadlines, and threads of their own.

use super::*;

/// The deadline is that of the first turn: what has begun goes on.
#[test]
fn begun_request_outlives_its_deadline() {
    let engine = engine(1, 100);
    let deadline = Instant::now() + Duration::from_secs(1);
    let (begun, held) = held(&engine, 2, deadline);
    held.wait_until_begun(1);
    let waiting =
        engine.map_texts(Caller::HOST, vec!["a".into(); 3], deadline, |text| Ok(text.len())).unwrap();
    assert!(begun.started().is_some() && waiting.started().is_none());
    while Instant::now() < deadline {
        std::thread::yield_now();
    }
    held.release.send(()).unwrap();
    held.release.send(()).unwrap();
    assert_eq!(begun.wait(), Ok(vec![0, 1]));
    assert_eq!(waiting.wait(), Err(Failure::Deadline));
}

/// A static model has threads of its own: it answers while those of encoders are busy.
#[test]
fn static_model_passes_an_encoder() {
    let (engine, slow, quick) = (engine(1, 1_000_000), Arc::new(encoder()), Arc::new(toy()));
    let long = "unbelievable worlds ".repeat(30);
    let much = engine.embed(&slow, request(&vec![long.as_str(); 2000])).unwrap();
    for _ in 0..20 {
        let embedded = engine.embed(&quick, request(&["hello"])).unwrap().wait().unwrap();
        assert_eq!((embedded.vectors[0], embedded.queued_turns), (4.0, 0));
    }
    drop(much);
}

/// Whatever comes in between: a vector is its text's alone.
#[test]
fn yielding_batches_change_no_bit() {
    let (engine, model) = (engine(1, 1_000_000), Arc::new(encoder()));
    let long = "unbelievable worlds und die strassenbahn ".repeat(8);
    let texts = vec![long.as_str(); 300];
    let embed = |id: u64, texts: &[&str]| {
        let caller = Caller { kind: CallerKind::Key, id, weight: 1 };
        engine.embed(&model, Request { caller, ..request(texts) }).unwrap()
    };
    let alone = embed(1, &["hello world"]).wait().unwrap().vectors;
    let much = [embed(2, &texts), embed(3, &texts)];
    for _ in 0..30 {
        let short = embed(1, &["hello world"]).wait().unwrap();
        assert!(short.vectors == alone);
        assert!(short.queued_turns <= 8, "{} turns before it", short.queued_turns);
    }
    for much in much {
        let vectors = much.wait().unwrap().vectors;
        let (first, rest) = vectors.split_at(model.dims());
        assert!(rest.chunks_exact(model.dims()).all(|vector| vector == first));
    }
}
