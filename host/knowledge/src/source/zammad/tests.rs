#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const ROOT: &str = "/api/v1/knowledge_bases/3";

/// Answers by path; all else is 404. Returns its address and what it was asked.
async fn server(answers: Vec<(String, u16, Value)>) -> (String, Arc<Mutex<Vec<String>>>) {
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
            let found = answers.iter().find(|(known, ..)| known == path);
            let (status, body) =
                found.map_or((404, "{}".into()), |(_, status, body)| (*status, body.to_string()));
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
    Zammad { url, base: 3, token: "s3cret".into(), locale: "de-de".into(), internal }
}

/// An answer with one translation whose content has ten times its number.
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
async fn an_answer_that_cannot_be_read_is_not_taken_for_gone() {
    for (status, told) in [(500, "500"), (401, "refuses the token"), (302, "302")] {
        let mut answers = base();
        answers[1].1 = status;
        let (url, heads) = server(answers).await;
        let error = read(&zammad(url, false)).await.unwrap_err().to_string();
        assert!(error.contains(told) && !error.contains("s3cret"), "{error}");
        assert!(!heads.lock().unwrap().iter().any(|head| head.contains("/elsewhere")));
    }
    let (url, _) = server(Vec::new()).await;
    assert!(read(&zammad(url, false)).await.unwrap_err().to_string().contains("no such base"));
    assert!(!format!("{:?}", zammad(String::new(), false)).contains("s3cret"));
}

#[tokio::test]
async fn a_translation_without_its_text_is_refused_by_name() {
    let mut answers = base();
    answers[2].2 = answers[1].2.clone();
    let (url, _) = server(answers).await;
    let reading = read(&zammad(url, false)).await.unwrap();
    assert_eq!(reading.refused[0].name, "answer 1, translation 1");
    assert_eq!(reading.documents, []);
}
