//! What each text of a request took, and how much the engine does in a time.

use super::*;

/// The times of a text are parts of its time in the engine, whatever the clock shows.
#[test]
fn each_text_has_its_own_times() {
    let long = "hello world ".repeat(40);
    let texts = ["hello", &long, "world"];
    for model in [Arc::new(toy()), Arc::new(encoder())] {
        let tokens = |text: &&str| model.tokenize(text, &EmbedOptions::default()).unwrap().ids.len();
        let wanted: Vec<usize> = texts.iter().map(tokens).collect();
        for threads in [1, 3] {
            let engine = engine(threads, 100);
            let embedded = engine.embed(&model, request(&texts)).unwrap().wait().unwrap();
            let times = &embedded.text_times;
            assert_eq!(times.iter().map(|text| text.tokens).collect::<Vec<_>>(), wanted);
            assert_eq!(times.iter().map(|text| text.inference).sum::<Duration>(), embedded.inference);
            assert!(times.iter().map(|text| text.tokenizing).sum::<Duration>() <= embedded.tokenizing);
            for text in times {
                assert!(!text.total.is_zero(), "{text:?}");
                assert!(text.tokenizing + text.queued + text.inference <= text.total, "{text:?}");
            }
        }
    }
}

#[test]
fn idle_capacity_is_of_the_fastest_batch() {
    let (engine, model, second) = (engine(2, 1000), toy(), Duration::from_secs(1));
    assert_eq!(engine.idle_capacity(&model, second), None);
    model.record_speed(1000, second);
    model.record_speed(1000, second * 3);
    let capacities = (engine.capacity(&model, second), engine.idle_capacity(&model, second));
    assert_eq!(capacities, (Some(1000), Some(2000)));
}
