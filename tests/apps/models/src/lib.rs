//! An app that hands a request's body to a model of the host, through the interface that its path names, and answers with what
//! the model gives, or with the error.

use bindings::bulkhead::host::embeddings::{self, Options, Truncation};
use bindings::bulkhead::host::llm::{self, Message, Request, Role};
use bindings::exports::wasi::http::incoming_handler::Guest;
use bindings::wasi::http::types::{
    Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use bindings::wasi::nn::errors::Error;
use bindings::wasi::nn::graph;
use bindings::wasi::nn::tensor::{Tensor, TensorType};

mod bindings {
    wit_bindgen::generate!({
        // Dependencies first.
        path: [
            "../../../wit/deps/io",
            "../../../wit/deps/clocks",
            "../../../wit/deps/random",
            "../../../wit/deps/filesystem",
            "../../../wit/deps/sockets",
            "../../../wit/deps/cli",
            "../../../wit/deps/http",
            "../../../wit/deps/nn",
            "../../../wit/host",
        ],
        inline: "
            package test:models;

            world models {
                import bulkhead:host/embeddings@0.1.1;
                import bulkhead:host/llm@0.1.1;
                import wasi:nn/errors@0.2.0-rc-2024-10-28;
                import wasi:nn/tensor@0.2.0-rc-2024-10-28;
                import wasi:nn/inference@0.2.0-rc-2024-10-28;
                import wasi:nn/graph@0.2.0-rc-2024-10-28;
                export wasi:http/incoming-handler@0.2.12;
            }
        ",
        world: "test:models/models",
        generate_all,
    });

    use super::App;
    export!(App);
}

/// The model that embeds texts.
const MODEL: &str = "toy";

struct App;

impl Guest for App {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let (path, text) = (request.path_with_query().unwrap_or_default(), body(&request));
        let given = match path.rsplit('/').next() {
            Some("embeddings") => embedded(text),
            Some("nn") => computed(&text),
            _ => completed(text),
        };
        let (status, text) = given.map_or_else(|failed| (502, failed), |text| (200, text));
        let response = OutgoingResponse::new(Fields::new());
        response.set_status_code(status).unwrap();
        let body = response.body().unwrap();
        ResponseOutparam::set(out, Ok(response));
        body.write().unwrap().blocking_write_and_flush(text.as_bytes()).unwrap();
        OutgoingBody::finish(body, None).unwrap();
    }
}

/// Returns the body of a request.
fn body(request: &IncomingRequest) -> String {
    let body = request.consume().unwrap();
    let (stream, mut bytes) = (body.stream().unwrap(), Vec::new());
    // The end of the body is an error, too.
    while let Ok(piece) = stream.blocking_read(4096) {
        bytes.extend(piece);
    }
    String::from_utf8(bytes).unwrap()
}

/// Returns the vector of a text, through `bulkhead:host/embeddings`.
fn embedded(text: String) -> Result<String, String> {
    let options = Options {
        prompt_name: None,
        refuse_long: true,
        truncation: Truncation::Right,
        normalize: None,
        dimensions: None,
    };
    let vectors = embeddings::embed(MODEL, &[text], &options).map_err(|error| format!("{error:?}"))?;
    Ok(format!("{vectors:?}"))
}

/// Returns the vector of a text, through `wasi:nn`.
fn computed(text: &str) -> Result<String, String> {
    let failed = |error: Error| format!("{:?}: {}", error.code(), error.data());
    let context = graph::load_by_name(MODEL).and_then(|graph| graph.init_execution_context());
    let size = u32::try_from(text.len()).unwrap();
    let input = ("text".to_owned(), Tensor::new(&[size], TensorType::U8, text.as_bytes()));
    let outputs = context.and_then(|context| context.compute(vec![input])).map_err(failed)?;
    let vectors: Vec<Vec<f32>> = outputs.iter().map(|(_, output)| numbers(&output.data())).collect();
    Ok(format!("{vectors:?}"))
}

fn numbers(data: &[u8]) -> Vec<f32> {
    data.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// Returns what the language model says to a text, through `bulkhead:host/llm`.
fn completed(content: String) -> Result<String, String> {
    let messages = vec![Message { role: Role::User, content }];
    let completion = llm::complete(&Request { messages, schema: None, max_tokens: None });
    completion.map(|completion| completion.text).map_err(|error| format!("{error:?}"))
}
