//! Passages in the order of a model that reads each of them together with the question.

use futures_util::future::BoxFuture;

use crate::error::Error;
use crate::search::Passage;

/// How many passages are ranked, however few are wanted: those that the search finds best.
const RANKED: usize = 20;

/// A loaded model that ranks texts for a question.
pub trait Reranker: Send + Sync {
    /// Returns the indices of the texts, the most relevant first, perhaps without the last ones. A text that is too long
    /// may be cut. The error's text is for the caller.
    fn rank<'a>(&'a self, question: &'a str, texts: Vec<String>)
    -> BoxFuture<'a, Result<Vec<usize>, String>>;
}

/// Returns how many passages to search for where the best `limit` in the order of `reranker` are wanted.
pub fn candidates(limit: usize, reranker: Option<&dyn Reranker>) -> usize {
    if limit > 0 && reranker.is_some() { limit.max(RANKED) } else { limit }
}

/// Returns `limit` of what was `found`: first those that `reranker` ranks, each by its `passage`, then the others. Without
/// a reranker the order stays, and relevance stays in any case.
///
/// # Errors
///
/// When the model fails.
pub async fn rerank<T>(
    reranker: Option<&dyn Reranker>,
    question: &str,
    mut found: Vec<T>,
    limit: usize,
    passage: impl Fn(&T) -> &Passage,
) -> Result<Vec<T>, Error> {
    let Some(reranker) = reranker.filter(|_| found.len() > 1) else {
        found.truncate(limit);
        return Ok(found);
    };
    let texts = found.iter().take(RANKED).map(|found| text(passage(found))).collect();
    let order = reranker.rank(question, texts).await.map_err(Error::Reranking)?;
    let mut found: Vec<Option<T>> = found.into_iter().map(Some).collect();
    let ranked: Vec<T> = order.into_iter().filter_map(|index| found.get_mut(index)?.take()).collect();
    Ok(ranked.into_iter().chain(found.into_iter().flatten()).take(limit).collect())
}

/// Returns what is ranked of a passage: its document's title gives it a topic that it may not name.
fn text(passage: &Passage) -> String {
    format!("{}\n{}", passage.title, passage.text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    /// Ranks texts by their length, the shortest first.
    struct Shortest;

    impl Reranker for Shortest {
        fn rank<'a>(&'a self, _: &'a str, texts: Vec<String>) -> BoxFuture<'a, Result<Vec<usize>, String>> {
            Box::pin(async move {
                let mut order: Vec<usize> = (0..texts.len()).collect();
                order.sort_by_key(|index| texts[*index].len());
                Ok(order)
            })
        }
    }

    fn passage(text: &str) -> Passage {
        Passage {
            id: String::new(),
            source: String::new(),
            document: text.to_owned(),
            title: String::new(),
            url: None,
            text: text.to_owned(),
            language: None,
            categories: Vec::new(),
            score: 0.5,
        }
    }

    #[tokio::test]
    async fn ranked_passages_come_first() {
        let mut found: Vec<Passage> = (0..RANKED).map(|index| passage(&"x".repeat(30 - index))).collect();
        found.push(passage("x"));
        let ranked = rerank(Some(&Shortest), "", found.clone(), 2, |one| one).await.unwrap();
        let lengths: Vec<usize> = ranked.iter().map(|one| one.text.len()).collect();
        assert_eq!(lengths, [11, 12]);
        let all = rerank(Some(&Shortest), "", found, 50, |one| one).await.unwrap();
        assert_eq!((all.len(), all.last().unwrap().text.len()), (RANKED + 1, 1), "not ranked, so behind");
    }

    #[tokio::test]
    async fn unranked_passages_keep_their_order() {
        let found = vec![passage("long"), passage("a")];
        let kept = rerank(None, "", found, 1, |one| one).await.unwrap();
        assert_eq!(kept, [passage("long")]);
    }

    #[test]
    fn candidates_are_at_least_the_ranked() {
        assert_eq!([0, 1, 20, 21].map(|limit| candidates(limit, Some(&Shortest))), [0, 20, 20, 21]);
        assert_eq!(candidates(1, None), 1);
    }
}
