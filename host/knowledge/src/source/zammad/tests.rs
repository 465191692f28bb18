//! Tests of Zammad against a toy server.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const ROOT: &str = "/api/v1/knowledge_bases/3";

/// Serves answers by path, those of the same path in their order and the last of them for ever; all else is 404.
/// Returns its address and what it was asked.
async fn server(mut answers: Vec<(String, u16, Value)>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let path = head.split(' ').nth(1).unwrap();
            let of_path = |(known, ..): &(String, u16, Value)| known == path;
            let (place, more) =
                (answers.iter().position(of_path), answers.iter().filter(|one| of_path(one)).count() > 1);
            let found = place.map(|place| answers[place].clone());
            if let Some(place) = place.filter(|_| more) {
                answers.remove(place);
            }
            let (status, body) =
                found.map_or((404, "{}".into()), |(_, status, body)| (status, body.to_string()));
            asked.lock().unwrap().push(head);
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status} x\r\nlocation: /elsewhere\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (address, heads)
}

fn zammad(url: String, internal: bool) -> Zammad {
    Zammad { url, base: 3, token: "s3cret".into(), locales: Vec::new(), internal }
}

/// Returns an answer with one translation whose content has ten times its number.
fn answer(id: u64, title: &str, body: Option<&str>, dates: Value) -> Value {
    let mut assets = json!({
        "KnowledgeBaseAnswer": { id.to_string(): dates },
        // A linked answer comes along.
        "KnowledgeBaseAnswerTranslation": {
            id.to_string(): { "id": id, "title": title, "answer_id": id, "content_id": id * 10 },
            "99": { "id": 99, "title": "linked", "answer_id": 98, "content_id": 990 },
        },
    });
    if let Some(body) = body {
        assets["KnowledgeBaseAnswerTranslationContent"] =
            json!({ (id * 10).to_string(): { "id": id * 10, "body": body, "attachments": [] } });
    }
    json!({ "id": id, "assets": assets })
}

fn base() -> Vec<(String, u16, Value)> {
    let past = "2025-03-12T14:52:38.014Z";
    let dates = |published: Value, internal: Value, archived: Value| json!({ "published_at": published, "internal_at": internal, "archived_at": archived });
    let public = dates(past.into(), Value::Null, Value::Null);
    let internal = dates(Value::Null, past.into(), Value::Null);
    let archived = dates(past.into(), past.into(), past.into());
    let planned = dates("2999-01-01T00:00:00Z".into(), Value::Null, Value::Null);
    let path = |id: u64| format!("{ROOT}/answers/{id}");
    let full = |id: u64| format!("{ROOT}/answers/{id}?include_contents={}", id * 10);
    vec![
        (ROOT.into(), 200, json!({ "id": 3, "answer_ids": [1, 2, 4, 5, 6] })),
        (path(1), 200, answer(1, "Sperrmüll", None, public.clone())),
        (full(1), 200, answer(1, "Sperrmüll", Some("<p>Rufen Sie an.<p>Er wird geholt."), public)),
        (path(2), 200, answer(2, "Intern", None, internal.clone())),
        (full(2), 200, answer(2, "Intern", Some("Nur für das Amt."), internal)),
        (path(4), 200, answer(4, "Alt", None, archived)),
        (path(5), 200, answer(5, "Geplant", None, planned)),
    ]
}

#[tokio::test]
async fn published_answers_become_documents_and_no_others() {
    let (url, heads) = server(base()).await;
    let reading = read(&zammad(url.clone(), false)).await.unwrap();
    assert_eq!(reading.refused, []);
    let [document] = reading.documents.as_slice() else { panic!("{:?}", reading.documents) };
    assert_eq!((document.id.as_str(), document.title.as_str()), ("3-1-1", "Sperrmüll"));
    assert_eq!(document.text, "Rufen Sie an.\n\nEr wird geholt.");
    let link = format!("{url}#knowledge_base/3/locale/de-de/answer/1");
    assert_eq!(document.url.as_ref(), Some(&link));
    let heads = std::mem::take(&mut *heads.lock().unwrap());
    assert!(heads.iter().all(|head| head.contains("authorization: Token token=s3cret")));

    let (url, _) = server(base()).await;
    let reading = read(&zammad(url, true)).await.unwrap();
    let titles: Vec<_> = reading.documents.iter().map(|document| document.title.as_str()).collect();
    assert_eq!(titles, ["Sperrmüll", "Intern"]);
}

#[tokio::test]
async fn unreadable_answer_is_not_removed() {
    for (status, expected, tries) in [(500, "500", 4), (401, "refuses the token", 1), (302, "302", 1)] {
        let mut answers = base();
        answers[1].1 = status;
        let (url, heads) = server(answers).await;
        let error = read(&zammad(url, false)).await.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("s3cret"), "{error}");
        let heads = std::mem::take(&mut *heads.lock().unwrap());
        assert!(!heads.iter().any(|head| head.contains("/elsewhere")));
        assert_eq!(heads.len(), 1 + tries);
    }
    let (url, _) = server(Vec::new()).await;
    assert!(read(&zammad(url, false)).await.unwrap_err().to_string().contains("no such base"));
    assert!(!format!("{:?}", zammad(String::new(), false)).contains("s3cret"));
}

#[tokio::test]
async fn transient_failure_is_retried() {
    let mut answers = base();
    for status in [429, 503] {
        let (path, _, body) = answers[1].clone();
        answers.insert(1, (path, status, body));
    }
    let (url, heads) = server(answers).await;
    let reading = read(&zammad(url, false)).await.unwrap();
    assert_eq!((reading.documents.len(), reading.refused.len()), (1, 0));
    let asked = heads.lock().unwrap().iter().filter(|head| head.contains("/answers/1 ")).count();
    assert_eq!(asked, 3);
}

#[tokio::test]
async fn translation_without_text_is_refused() {
    let mut answers = base();
    answers[2].2 = answers[1].2.clone();
    let (url, _) = server(answers).await;
    let reading = read(&zammad(url, false)).await.unwrap();
    assert_eq!(reading.refused[0].name, "answer 1, translation 1");
    assert_eq!(reading.refused[0].id.as_deref(), Some("3-1-1"));
    assert_eq!((reading.documents.len(), reading.empty.len()), (0, 0));

    let mut answers = base();
    answers[2].2["assets"]["KnowledgeBaseAnswerTranslationContent"]["10"]["body"] = json!("<p> <br></p>");
    let (url, _) = server(answers).await;
    let reading = read(&zammad(url, true)).await.unwrap();
    assert_eq!((reading.documents.len(), reading.refused.len()), (1, 0));
    let empty = (reading.empty[0].name.as_str(), reading.empty[0].reason.as_str());
    assert_eq!(empty, ("answer 1, translation 1", "it has no text"));
}

/// Zammad identifies locales by numbers.
#[tokio::test]
async fn address_has_the_locale_of_translation() {
    let texts = [
        ("Sperrmüll", "Der Sperrmüll wird nach der Anmeldung bei der Stadt an einem Freitag abgeholt."),
        ("Bulky waste", "The town collects bulky waste on a Friday when you have registered it with us."),
        ("Ok", "Ok"),
    ];
    let mut shown = json!({ "id": 1, "assets": {
        "KnowledgeBaseAnswer": { "1": { "published_at": "2025-03-12T14:52:38.014Z" } },
        "KnowledgeBaseAnswerTranslation": {},
        "KnowledgeBaseAnswerTranslationContent": {},
    } });
    for (number, (title, text)) in (1..).zip(texts) {
        let (key, content) = (number.to_string(), number * 10);
        shown["assets"]["KnowledgeBaseAnswerTranslation"][&key] = json!({
            "id": number, "title": title, "answer_id": 1, "content_id": content, "kb_locale_id": number + 3,
        });
        shown["assets"]["KnowledgeBaseAnswerTranslationContent"][content.to_string()] =
            json!({ "body": text });
    }
    for (given, expected) in
        [(vec![], ["de-de", "en-us", "de-de"]), (vec!["en-gb", "de-at"], ["de-at", "en-gb", "en-gb"])]
    {
        let answers = vec![
            (ROOT.to_owned(), 200, json!({ "answer_ids": [1] })),
            (format!("{ROOT}/answers/1"), 200, shown.clone()),
            (format!("{ROOT}/answers/1?include_contents=10,20,30"), 200, shown.clone()),
        ];
        let (url, _) = server(answers).await;
        let locales = given.iter().map(|locale| (*locale).to_owned()).collect();
        let reading = read(&Zammad { locales, ..zammad(url, false) }).await.unwrap();
        let addresses: Vec<_> =
            reading.documents.iter().map(|document| document.url.clone().unwrap()).collect();
        for (address, locale) in addresses.iter().zip(expected) {
            assert!(address.ends_with(&format!("#knowledge_base/3/locale/{locale}/answer/1")), "{address}");
        }
        assert_eq!(addresses.len(), 3);
    }
}
