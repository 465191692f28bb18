//! The least server around the model: axum, serde_json, and nothing that a service would have besides.

use axum::extract::{DefaultBodyLimit, Json, State};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model2vec_rs::model::StaticModel;
use serde::{Deserialize, Serialize};

use crate::Outcome;

#[derive(Deserialize)]
struct Inputs {
    inputs: Vec<String>,
}

#[derive(Deserialize)]
struct Input {
    input: Vec<String>,
}

/// OpenAI's answer with `encoding_format` `base64`.
#[derive(Serialize)]
struct Embeddings {
    object: &'static str,
    data: Vec<Embedding>,
}

#[derive(Serialize)]
struct Embedding {
    object: &'static str,
    index: usize,
    embedding: String,
}

/// Serves until it is killed; the first line on standard output is the address.
pub fn serve(model: StaticModel) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let router = axum::Router::new()
            .route("/embed", post(embed))
            .route("/v1/embeddings", post(embeddings))
            .layer(DefaultBodyLimit::disable())
            .with_state(model);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        Ok(axum::serve(listener, router).await?)
    })
}

async fn embed(State(model): State<StaticModel>, Json(body): Json<Inputs>) -> Json<Vec<Vec<f32>>> {
    Json(model.encode(&body.inputs))
}

async fn embeddings(State(model): State<StaticModel>, Json(body): Json<Input>) -> Json<Embeddings> {
    let vectors = model.encode_flat(&body.input);
    let rows = vectors.chunks_exact(model.dim()).enumerate();
    let data = rows.map(|(index, row)| {
        let bytes: Vec<u8> = row.iter().flat_map(|x| x.to_le_bytes()).collect();
        Embedding { object: "embedding", index, embedding: STANDARD.encode(bytes) }
    });
    Json(Embeddings { object: "list", data: data.collect() })
}
