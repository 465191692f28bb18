//! Tests of searches.

use std::sync::Arc;

use serde_json::json;

use super::toy::*;
use crate::{Embedding, Error, ImportOptions, KnowledgeBase, Mode, Query, TokenVectors};

#[tokio::test]
async fn words_find_inflected_and_differently_spelt_words() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    for (question, first) in [
        ("Wie melde ich meine Hunde an?", "hund"),
        ("Sperrmuell abholen", "sperr"),
        ("PARKAUSWEISE", "park"),
        ("Foto für den Pass", "pass"),
    ] {
        assert_eq!(ids(&base, &words(question)).await.first().map(String::as_str), Some(first), "{question}");
        assert_eq!(ids(&base, &both(question)).await.len(), 4, "{question}");
    }
    assert_eq!(ids(&base, &words("Quantenphysik")).await, [""; 0]);
}

#[tokio::test]
async fn scores_are_probabilities_and_say_what_fits() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    let right = base.search(&both("Was kostet ein Reisepass?")).await.unwrap();
    let wrong = base.search(&both("Wann beginnt die Vorlesung in Quantenphysik?")).await.unwrap();
    assert!(right.iter().chain(&wrong).all(|passage| (0.0..=1.0).contains(&passage.score)));
    assert_eq!(right[0].document, "pass");
    assert!(right[0].score > right[1].score && right[0].score > 10.0 * wrong[0].score, "{right:?} {wrong:?}");
}

/// Shared words alone are no answer.
#[tokio::test]
async fn distant_question_has_no_relevant_passage() {
    let (fixture, model) = (Fixture::new(), Toy::new("intfloat/multilingual-e5-small"));
    fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    let near = base.search(&both("Ein Reisepass kostet 70 Euro. Ein biometrisches Foto")).await.unwrap();
    assert!(near[0].document == "pass" && near[0].score > 0.0, "{near:?}");
    let mut elsewhere = vec![0.0; DIMS];
    elsewhere[7] = 1.0;
    let far = Query { embedding: Some(elsewhere.into()), ..words("Was kostet ein Reisepass?") };
    let far = base.search(&far).await.unwrap();
    assert!(far.iter().any(|passage| passage.document == "pass"), "{far:?}");
    assert!(far.iter().all(|passage| passage.score == 0.0), "{far:?}");
}

#[tokio::test]
async fn items_are_found_in_their_passages() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    let asked = "Reisepass: Bringen Sie ein biometrisches Foto mit.";
    let found = base.find(&both("Guten Tag, was nun?"), &[vector(asked)]).await.unwrap();
    let passage = &found[0].passage;
    assert_eq!(passage.document, "pass");
    let texts: Vec<_> = found[0].items.iter().map(|item| &passage.text[item.range.clone()]).collect();
    assert_eq!(texts, ["Ein Reisepass kostet 70 Euro.", "Bringen Sie ein biometrisches Foto mit."]);
    let scores: Vec<f32> = found[0].items.iter().map(|item| item.score).collect();
    assert!(scores[1] > 0.99 && scores[0] < scores[1], "{scores:?}");
    let unembedded = base.find(&words("Was kostet ein Reisepass?"), &[]).await.unwrap();
    assert!(unembedded[0].passage.document == "pass" && unembedded[0].items.is_empty(), "{unembedded:?}");
}

/// The one whose words are the question's goes before the one that is nearest as a whole.
#[tokio::test]
async fn word_vectors_change_the_order() {
    let (fixture, model) = (Fixture::new(), Toy { word_by_word: true, ..Toy::new("toy") });
    let documents = [
        document("a", "Auskunft", "Regal Lager"),
        document("b", "Auskunft", "Lagerregal"),
        document("c", "Auskunft", "Lager Schrank"),
    ];
    fixture.import(&documents, &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    let nearest = vector("Auskunft\nRegal Lager");
    let asked = |tokens: TokenVectors| Query {
        embedding: Some(Embedding { vector: nearest.clone(), tokens: Some(tokens) }),
        ..words("Quantenphysik")
    };
    assert_eq!(ids(&base, &asked(tokens("Lagerregal Schrank"))).await, ["b", "a", "c"]);
    assert_eq!(ids(&base, &asked(tokens(""))).await, ["a", "b", "c"], "no word to compare by");
    assert_eq!(ids(&base, &Query { limit: 1, ..asked(tokens("Lagerregal Schrank")) }).await, ["b"]);
    // Those of another model mean nothing, and break nothing.
    let foreign = TokenVectors { vectors: vec![1.0; 3], dims: 3, importance: vec![1.0] };
    assert_eq!(ids(&base, &asked(foreign)).await.len(), 3);
}

#[tokio::test]
async fn shared_words_decide_between_equally_near() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let documents = [
        document("a", "Auskunft", "Palme"),
        // The same letters, which is the same vector.
        document("b", "Auskunft", "Lampe"),
        document("c", "Auskunft", "Schrank und Quittung"),
    ];
    fixture.import(&documents, &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    let nearest = |text: &str| Query { embedding: Some(vector("Auskunft\nPalme").into()), ..words(text) };
    assert_eq!(ids(&base, &nearest("Lampe")).await, ["b", "a", "c"]);
    assert_eq!(ids(&base, &nearest("Palme")).await, ["a", "b", "c"]);
    assert_eq!(ids(&base, &nearest("Schrank Quittung")).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn uncategorised_document_matches_every_category() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let mut documents = town();
    documents[0]["categories"] = json!(["steuern"]);
    documents[1]["categories"] = json!(["verkehr", "steuern"]);
    documents[2]["categories"] = json!(["ausweise"]);
    fixture.import(&documents, &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    for query in [words("Hunde Euro Reisepass Sperrmüll"), both("Hunde Euro Reisepass Sperrmüll")] {
        let query = Query { categories: vec!["steuern".into()], ..query };
        let mut found = ids(&base, &query).await;
        found.sort_unstable();
        assert_eq!(found, ["hund", "park", "sperr"]);
        let query = Query { categories: vec!["x\" OR \"".into()], ..query };
        assert_eq!(ids(&base, &query).await, ["sperr"]);
    }
    let hit = &base.search(&words("Parkausweis")).await.unwrap()[0];
    assert_eq!(hit.categories, ["steuern", "verkehr"]);
}

#[tokio::test]
async fn no_text_is_query_syntax() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let mut documents = town();
    documents.push(document(
        "evil",
        "'; DROP TABLE knowledge_base; --",
        "\" OR * NEAR(a b) AND \0 title: x ^",
    ));
    fixture.import(&documents, &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    for text in [
        "\"",
        "\"\"\"",
        "*",
        "Hund*",
        "NEAR(Hund Euro)",
        "title:Hund",
        "a AND",
        "NOT",
        "(",
        "^Hund",
        "-Hund",
        "\0",
        "'; DROP TABLE knowledge_passage; --",
        "{title text}: x",
        "\u{202e}\u{200b}",
        "",
    ] {
        base.search(&words(text)).await.unwrap_or_else(|error| panic!("{text:?}: {error}"));
        base.search(&both(text)).await.unwrap_or_else(|error| panic!("{text:?}: {error}"));
    }
    let huge: String = (0..300_000).map(|n| format!("hund{n} ")).collect();
    base.search(&both(&huge)).await.unwrap();
    assert_eq!(ids(&base, &words("drop table")).await, ["evil"]);
    assert_eq!(base.count().await.unwrap().documents, 5);
}

#[tokio::test]
async fn unfit_vectors_and_limits_are_handled() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    fixture.import(&town(), &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    let short = Query { embedding: Some(vec![1.0; 3].into()), ..words("Hund") };
    assert!(matches!(base.search(&short).await, Err(Error::Vector { found: 3, expected: DIMS })));
    let infinite = Query { embedding: Some(vec![f32::NAN; DIMS].into()), ..words("Hund") };
    assert!(matches!(base.search(&infinite).await, Err(Error::Vector { found: 0, .. })));
    assert_eq!(ids(&base, &Query { limit: 0, ..both("Hund") }).await, [""; 0]);
    assert_eq!(ids(&base, &Query { limit: 2, ..both("Hund") }).await.len(), 2);
    assert_eq!(ids(&base, &Query { limit: usize::MAX, ..both("Hund") }).await.len(), 4);
}

#[tokio::test]
async fn vector_of_another_model_is_refused() {
    let (fixture, old, new) = (Fixture::new(), Toy::new("toy"), Toy::new("other"));
    fixture.import(&town(), &old, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    let question = Query { provenance: base.provenance(), ..both("Was kostet ein Reisepass?") };
    assert_eq!(ids(&base, &question).await[0], "pass");
    fixture.import(&town(), &new, ImportOptions { reembed: true, ..ImportOptions::default() }).await.unwrap();
    assert!(matches!(base.search(&question).await, Err(Error::Reembedded)));
    let question = Query { provenance: base.provenance(), ..question };
    assert_eq!(ids(&base, &question).await[0], "pass");
}

/// A word that many passages have proposes none of them where a rarer one does, but counts in their order.
#[tokio::test]
async fn common_words_propose_only_without_rare() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let page = |n: usize| {
        let rare = if n < 3 { "Reisepass" } else { "Ausweis" };
        let more = if n == 2 { "Gebühr" } else { "Ort" };
        document(&format!("d{n}"), &format!("Seite {n}"), &format!("Amt {rare} {more}"))
    };
    let documents: Vec<_> = (0..1200).map(page).collect();
    fixture.import(&documents, &model, ImportOptions::default()).await.unwrap();
    let base = fixture.open().await;
    assert_eq!(ids(&base, &words("Amt Gebühr Reisepass")).await, ["d2", "d0", "d1"]);
    assert_eq!(ids(&base, &words("Amt")).await.len(), 5);
}

/// Every state that is imported has one word in all of its documents: a mix would show.
#[tokio::test(flavor = "multi_thread")]
async fn reader_never_sees_a_mixed_state() {
    let (fixture, model) = (Fixture::new(), Toy::new("toy"));
    let state = |word: &str| {
        let text = format!("Alle Dokumente nennen {word}.");
        (0..20).map(|n| document(&format!("d{n}"), &format!("Titel {n}"), &text)).collect::<Vec<_>>()
    };
    fixture.import(&state("Anfang"), &model, ImportOptions::default()).await.unwrap();
    let reader = Arc::new(KnowledgeBase::open(&fixture.base(), Mode::Read).await.unwrap());
    let searching = tokio::spawn({
        let reader = Arc::clone(&reader);
        async move {
            let mut seen = String::new();
            while !seen.contains("Ende") {
                let query = Query { limit: 20, ..both("Dokumente nennen") };
                let passages = reader.search(&query).await.unwrap();
                assert_eq!(passages.len(), 20);
                assert!(passages.iter().all(|passage| passage.text == passages[0].text), "{passages:?}");
                seen.clone_from(&passages[0].text);
            }
        }
    });
    for word in ["Mitte", "Ende"] {
        fixture.import(&state(word), &model, ImportOptions::default()).await.unwrap();
    }
    tokio::time::timeout(std::time::Duration::from_secs(60), searching).await.unwrap().unwrap();
}
