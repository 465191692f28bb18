//! Tests of the engine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod callers;
mod threads;
mod times;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use super::*;
use crate::model::Scratch;
use crate::model::tests::{encoder, faulty, huge, toy, word_by_word};

fn engine(threads: usize, queue_texts: usize) -> Engine {
    Engine::start(EngineOptions { threads, queue_texts, ..EngineOptions::default() }).unwrap()
}

fn request(texts: &[&str]) -> Request {
    Request {
        texts: texts.iter().map(|text| Input::Text((*text).to_owned())).collect(),
        options: EmbedOptions::default(),
        deadline: Instant::now() + Duration::from_secs(60),
        caller: Caller::HOST,
    }
}

#[test]
fn vectors_keep_the_order_of_texts() {
    for model in [Arc::new(toy()), Arc::new(faulty())] {
        let engine = engine(2, 1000);
        let texts: Vec<&str> =
            ["hello", "world", "good", "day", "fair"].into_iter().cycle().take(203).collect();
        let embedded = engine.embed(&model, request(&texts)).unwrap().wait().unwrap();
        assert_eq!((embedded.dims, embedded.tokens, embedded.truncated), (4, 203, 0));
        let firsts: Vec<f32> = embedded.vectors.chunks_exact(4).map(|vector| vector[0]).collect();
        let wanted: Vec<f32> = [4.0, 5.0, 6.0, 7.0, 8.0].into_iter().cycle().take(203).collect();
        assert_eq!(firsts, wanted);
        assert_eq!(engine.stats().waiting_texts, 0);
        assert_eq!((engine.stats().texts, engine.stats().tokens), (203, 203));
    }
}

#[test]
fn short_request_is_embedded_by_its_thread() {
    let (engine, model) = (engine(1, 1000), Arc::new(toy()));
    let wanted = engine.embed(&model, request(&["hello", "world"])).unwrap().wait().unwrap().vectors;
    let idle = || {
        let mut pending = engine.embed_soon(&model, request(&["hello", "world"])).unwrap();
        pending.receiver.try_recv().is_ok_and(|answer| answer.unwrap().vectors == wanted)
    };
    let since = Instant::now();
    while !idle() {
        assert!(since.elapsed() < Duration::from_secs(60), "no request finds the thread idle");
    }
    let many = engine.embed_soon(&model, request(&["hello"; SHORT_BYTES])).unwrap().wait().unwrap();
    assert_eq!((many.tokens, engine.stats().waiting_texts), (SHORT_BYTES, 0));
}

/// However a request is shared out, alone or among others: a vector is its text's alone.
#[test]
fn batching_changes_no_bit() {
    let model = Arc::new(encoder());
    let words = ["hello", "worlds", "unbelievable", "und", "die", "strassenbahn", "a", "b"];
    let text =
        |length: usize| (0..length).map(|at| words[at * 5 % words.len()]).collect::<Vec<_>>().join(" ");
    let texts: Vec<String> = (1..60).chain([1, 90, 2]).map(text).collect();
    let wanted: Vec<f32> = texts
        .iter()
        .flat_map(|text| {
            let options = EmbedOptions::default();
            let ids = model.tokenize(text, &options).unwrap().ids;
            let mut vector = vec![0.0; model.dims()];
            model.embed(&ids, &[0, ids.len()], &mut Scratch::default(), &mut vector).unwrap();
            model.finish(&mut vector, &options).to_vec()
        })
        .collect();
    for threads in [1, 2, 5] {
        let engine = engine(threads, 10_000);
        let embed = |texts: &[String]| {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            engine.embed(&model, request(&texts)).unwrap()
        };
        assert!(embed(&texts).wait().unwrap().vectors == wanted, "{threads} threads");
        let alone: Vec<_> = texts.iter().map(|text| embed(std::slice::from_ref(text))).collect();
        let alone = alone.into_iter().flat_map(|pending| pending.wait().unwrap().vectors);
        assert!(alone.collect::<Vec<_>>() == wanted, "{threads} threads, text by text");
        // One after the other, so that long texts find idle threads.
        let lone = texts.iter().flat_map(|text| embed(std::slice::from_ref(text)).wait().unwrap().vectors);
        assert!(lone.collect::<Vec<_>>() == wanted, "{threads} threads, one after the other");
    }
}

/// Alone or in company, by one thread or several; without prompt and special tokens.
#[test]
fn token_vectors_come_where_they_are_wanted() {
    let model = Arc::new(word_by_word());
    let long = "unbelievable worlds ".repeat(30);
    let texts = ["hello worlds", "", "und die strassenbahn", &long];
    let wanted = |prompt: Option<&str>| {
        let options =
            EmbedOptions { prompt: prompt.map(Arc::from), token_vectors: true, ..EmbedOptions::default() };
        Request { options, ..request(&texts) }
    };
    let own: Vec<usize> = texts.iter().map(|text| model.tokens(text, false).unwrap().len()).collect();
    for threads in [1, 3] {
        let engine = engine(threads, 100);
        let plain = engine.embed(&model, request(&texts)).unwrap().wait().unwrap();
        assert!(plain.token_vectors.is_empty());
        let embedded = engine.embed(&model, wanted(Some("hello "))).unwrap().wait().unwrap();
        let counts: Vec<usize> = embedded.token_vectors.iter().map(|own| own.importance.len()).collect();
        // The second text is the prompt alone; the first begins as the prompt does, and loses nothing by it.
        assert_eq!(counts, own, "{threads} threads");
        for vectors in &embedded.token_vectors {
            assert_eq!(vectors.vectors.len(), vectors.importance.len() * vectors.dims);
        }
        let company = engine.embed(&model, wanted(None)).unwrap().wait().unwrap();
        assert!(company.vectors == plain.vectors, "wanting them changes no vector");
        for (text, expected) in texts.iter().zip(&company.token_vectors) {
            let alone = Request { texts: vec![Input::Text((*text).to_owned())], ..wanted(None) };
            let alone = engine.embed(&model, alone).unwrap().wait().unwrap();
            assert!(alone.token_vectors == [expected.clone()], "{text:.20} alone");
        }
    }
}

#[test]
fn concurrent_callers_get_their_own_vectors() {
    let (engine, model) = (engine(2, 10_000), Arc::new(faulty()));
    std::thread::scope(|scope| {
        for (word, first) in [("hello", 4.0), ("world", 5.0), ("good", 6.0), ("day", 7.0)] {
            let (engine, model) = (&engine, &model);
            scope.spawn(move || {
                for count in 1..50 {
                    let embedded = engine.embed(model, request(&vec![word; count])).unwrap().wait().unwrap();
                    assert!(embedded.vectors.chunks_exact(4).all(|vector| vector[0] == first));
                    assert_eq!(embedded.vectors.len(), count * 4);
                }
            });
        }
    });
    assert_eq!(engine.stats().waiting_texts, 0);
}

#[test]
fn empty_request_is_answered_at_once() {
    let engine = engine(1, 10);
    let embedded = engine.embed(&Arc::new(toy()), request(&[])).unwrap().wait().unwrap();
    assert!(embedded.vectors.is_empty());
}

#[test]
fn panicking_text_fails_only_its_request() {
    for poison in ["boom", "fail"] {
        // One thread that is busy, so that the requests are embedded in one batch.
        let (engine, model) = (engine(1, 10_000), Arc::new(faulty()));
        let busy = engine.embed(&model, request(&vec!["hello world good day"; 2000])).unwrap();
        let good: Vec<_> = (0..5).map(|_| engine.embed(&model, request(&["hello"])).unwrap()).collect();
        let bad = engine.embed(&model, request(&["world", poison])).unwrap();
        let also_good = engine.embed(&model, request(&["day"])).unwrap();
        assert!(busy.wait().is_ok());
        for pending in good {
            assert_eq!(pending.wait().unwrap().vectors[0], 4.0);
        }
        assert!(matches!(bad.wait(), Err(Failure::Internal(_))), "{poison}");
        assert_eq!(also_good.wait().unwrap().vectors[0], 7.0);
        assert_eq!(engine.stats().waiting_texts, 0);
        let after = engine.embed(&model, request(&["fair"])).unwrap().wait().unwrap();
        assert_eq!(after.vectors[0], 8.0, "the thread lives on");
    }
}

#[test]
fn infinite_vector_fails_only_its_request() {
    let (engine, model) = (engine(1, 1000), Arc::new(huge()));
    let embed = |texts: &[&str]| engine.embed(&model, request(texts)).unwrap().wait();
    let failure = embed(&["hello", "hello world"]).unwrap_err();
    assert_eq!(failure, Failure::Internal("text 1: the vector is not finite".to_owned()));
    assert!(embed(&["hello"]).unwrap().vectors.iter().all(|element| element.is_finite()));
}

#[test]
fn full_queue_refuses_then_empties() {
    let (engine, model) = (engine(1, 100), Arc::new(faulty()));
    let texts = vec!["hello world"; 200_000];
    let large = engine.embed(&model, request(&texts)).expect("nothing else waits");
    let refused = engine.embed(&model, request(&["hello"; 100])).err();
    assert!(matches!(refused, Some(Failure::Overloaded { .. })), "{refused:?}");
    drop(large);
    let patience = later();
    while engine.stats().waiting_texts > 0 {
        assert!(Instant::now() < patience, "the queue does not empty");
        std::thread::yield_now();
    }
    assert!(engine.embed(&model, request(&["hello"; 100])).unwrap().wait().is_ok());
}

#[test]
fn dropped_request_leaves_the_queue() {
    let (engine, model) = (engine(1, 1000), Arc::new(faulty()));
    let busy = engine.embed(&model, request(&vec!["hello"; 500])).unwrap();
    for _ in 0..100 {
        drop(engine.embed(&model, request(&vec!["world"; 400])));
    }
    assert!(engine.embed(&model, request(&vec!["day"; 300])).unwrap().wait().is_ok());
    assert!(busy.wait().is_ok());
}

#[test]
fn expired_deadline_fails_the_request() {
    let engine = engine(1, 1000);
    let late = Request { deadline: Instant::now() - Duration::from_secs(1), ..request(&["hello"]) };
    assert_eq!(engine.embed(&Arc::new(toy()), late).unwrap().wait(), Err(Failure::Deadline));
    assert_eq!(engine.stats().waiting_texts, 0);
}

#[test]
fn refused_long_text_is_named() {
    let engine = engine(1, 1000);
    let long = "hello ".repeat(600);
    let mut request = request(&["good", &long]);
    request.options.refuse_long = true;
    let failure = engine.embed(&Arc::new(toy()), request).unwrap().wait().unwrap_err();
    let error = TextError::TooLong { count: Some(600), limit: 512 };
    assert_eq!(failure, Failure::Text { index: 1, error });
}

/// Whichever thread comes first: a text that takes long precedes others that are refused at once.
#[test]
fn first_of_several_long_texts_is_named() {
    let (slow, quick) = ("hello ".repeat(20_000), "hello ".repeat(700));
    for model in [Arc::new(toy()), Arc::new(faulty())] {
        let engine = engine(3, 1000);
        for _ in 0..20 {
            let mut request = request(&["good", &slow, &quick, &quick, &quick, "good"]);
            request.options.refuse_long = true;
            let failure = engine.embed(&model, request).unwrap().wait().unwrap_err();
            let error = TextError::TooLong { count: Some(20_000), limit: 512 };
            assert_eq!(failure, Failure::Text { index: 1, error });
        }
        assert!(engine.embed(&model, request(&["hello"])).unwrap().wait().is_ok());
        // A thread that tokenizes a text of a failed request finds out at the end of it.
        let patience = Instant::now() + Duration::from_secs(60);
        while engine.stats().waiting_texts > 0 {
            assert!(Instant::now() < patience, "texts of failed requests wait on");
            std::thread::yield_now();
        }
    }
}

#[test]
fn stopped_engine_answers_waiting_requests() {
    let (engine, model) = (engine(1, 100_000), Arc::new(faulty()));
    let pending: Vec<_> =
        (0..50).map(|_| engine.embed(&model, request(&vec!["hello world"; 500])).unwrap()).collect();
    drop(engine);
    let stopped = pending.into_iter().map(Pending::wait).filter(|answer| *answer == Err(Failure::Stopped));
    assert!(stopped.count() > 0);
}

/// A request may mix a caller's own ids with texts; both are checked.
#[test]
fn ids_are_embedded_as_they_are() {
    let (model, engine) = (Arc::new(encoder()), engine(1, 1000));
    let options = EmbedOptions::default();
    let ids = model.tokenize("hello world", &options).unwrap().ids;
    let embed = |texts: Vec<Input>| {
        let deadline = Instant::now() + Duration::from_secs(60);
        let options = EmbedOptions::default();
        engine.embed(&model, Request { texts, options, deadline, caller: Caller::HOST }).unwrap().wait()
    };
    let both = embed(vec![Input::Ids(ids.clone()), Input::Text("hello world".to_owned())]).unwrap();
    let (one, other) = both.vectors.split_at(both.dims);
    assert_eq!(one, other);
    assert_eq!(both.tokens, 2 * ids.len());
    for (ids, fault) in [
        (vec![], "text 1: it has no tokens"),
        (vec![u32::MAX], "it has the token id 4294967295, the vocabulary ends before"),
        (vec![1; 100_000], "it has 100000 tokens, the limit is"),
    ] {
        let failure = embed(vec![Input::Text("hello".to_owned()), Input::Ids(ids)]).unwrap_err();
        assert!(failure.to_string().contains(fault), "{failure}");
    }
}

/// Queues texts that each wait for a signal, and counts how many have started.
fn held(engine: &Engine, texts: usize, deadline: Instant) -> (Pending<Vec<usize>>, Held) {
    let (release, released) = mpsc::channel::<()>();
    let begun = Arc::new(AtomicUsize::new(0));
    let (count, released) = (Arc::clone(&begun), Mutex::new(released));
    let work = move |text: &str| {
        count.fetch_add(1, Ordering::SeqCst);
        let _ = released.lock().unwrap().recv_timeout(Duration::from_secs(60));
        Ok(text.len())
    };
    let texts = (0..texts).map(|number| "a".repeat(number)).collect();
    (engine.map_texts(Caller::HOST, texts, deadline, work).unwrap(), Held { release, begun })
}

struct Held {
    release: mpsc::Sender<()>,
    begun: Arc<AtomicUsize>,
}

impl Held {
    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    fn wait_until_begun(&self, texts: usize) {
        let patience = Instant::now() + Duration::from_secs(60);
        while self.begun() < texts {
            assert!(Instant::now() < patience, "nothing was begun");
            std::thread::yield_now();
        }
    }
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[test]
fn each_text_gives_its_own_result() {
    let engine = engine(3, 100);
    let texts = (0..50).map(|number| "a".repeat(number)).collect();
    let lengths = engine.map_texts(Caller::HOST, texts, later(), |text| Ok(text.len())).unwrap().wait();
    assert_eq!(lengths, Ok((0..50).collect()));
    assert_eq!(engine.stats().waiting_texts, 0);
    let failed = engine.map_texts(Caller::HOST, vec!["a".into(), "b".into()], later(), |text| match text {
        "b" => Err(TextError::Empty),
        _ => Ok(()),
    });
    assert_eq!(failed.unwrap().wait(), Err(Failure::Text { index: 1, error: TextError::Empty }));
    let panics = engine.map_texts(Caller::HOST, vec!["a".into()], later(), |_| -> Result<(), TextError> {
        panic!("poison")
    });
    assert!(matches!(panics.unwrap().wait(), Err(Failure::Internal(_))));
    assert_eq!(
        engine.map_texts(Caller::HOST, vec!["a".into()], later(), |text| Ok(text.len())).unwrap().wait(),
        Ok(vec![1])
    );
}

#[test]
fn texts_of_both_kinds_share_one_queue() {
    let (engine, model) = (engine(1, 4), Arc::new(toy()));
    let (first, busy) = held(&engine, 1, later());
    busy.wait_until_begun(1);
    let waiting =
        engine.map_texts(Caller::HOST, vec!["a".into(); 4], later(), |text| Ok(text.len())).unwrap();
    let refused = engine.map_texts(Caller::HOST, vec!["a".into()], later(), |text| Ok(text.len()));
    assert!(matches!(refused, Err(Failure::Overloaded { waiting: 4, .. })));
    assert!(matches!(engine.embed(&model, request(&["hello"])), Err(Failure::Overloaded { waiting: 4, .. })));
    busy.release.send(()).unwrap();
    assert_eq!((first.wait(), waiting.wait()), (Ok(vec![0]), Ok(vec![1; 4])));
}

#[test]
fn long_texts_take_places_by_size() {
    let engine = engine(1, 16);
    let (first, busy) = held(&engine, 1, later());
    busy.wait_until_begun(1);
    let each = |bytes: &[usize]| {
        let texts = bytes.iter().map(|bytes| "a".repeat(*bytes)).collect();
        engine.map_texts(Caller::HOST, texts, later(), |text| Ok(text.len()))
    };
    let mut waiting = Vec::new();
    for (bytes, places) in [(&[4096][..], 1), (&[4097, 1], 4), (&[9 * 4096 + 1], 14)] {
        waiting.push(each(bytes).unwrap());
        assert_eq!(engine.stats().waiting_texts, places, "{bytes:?}");
    }
    assert!(matches!(each(&[2 * 4096 + 1]), Err(Failure::Overloaded { waiting: 14, .. })));
    waiting.push(each(&[2 * 4096]).unwrap());
    // Texts whose callers have left make room for others.
    drop(waiting.remove(2));
    waiting.push(each(&[3 * 4096]).unwrap());
    assert_eq!(engine.stats().waiting_texts, 9);
    busy.release.send(()).unwrap();
    assert_eq!(first.wait(), Ok(vec![0]));
    let made: Vec<_> = waiting.into_iter().map(|texts| texts.wait().unwrap()).collect();
    assert_eq!(made, [vec![4096], vec![4097, 1], vec![8192], vec![12_288]]);
    assert_eq!(engine.stats().waiting_texts, 0);
}

#[test]
fn texts_of_dropped_requests_never_start() {
    let engine = engine(1, 100);
    let (left, held_up) = held(&engine, 10, later());
    held_up.wait_until_begun(1);
    drop(left);
    let (late, too_late) = held(&engine, 10, Instant::now());
    let next = engine.map_texts(Caller::HOST, vec!["a".into()], later(), |text| Ok(text.len())).unwrap();
    held_up.release.send(()).unwrap();
    assert_eq!(next.wait(), Ok(vec![1]));
    assert_eq!(late.wait(), Err(Failure::Deadline));
    assert_eq!((held_up.begun(), too_late.begun()), (1, 0));
}
