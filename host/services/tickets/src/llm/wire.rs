//! Requests and responses of `POST /chat/completions` in OpenAI's API.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::config::{BYTES_OF_A_TOKEN, LlmSettings};

/// Tokens of a message besides its text.
const TOKENS_OF_A_MESSAGE: u64 = 8;
/// Maximum number of messages of a request.
const MAX_MESSAGES: usize = 64;
/// Maximum characters of a model's name that are passed on.
const MAX_MODEL_CHARS: usize = 200;
/// Maximum tokens that a response may report.
const MAX_REPORTED_TOKENS: u64 = 10_000_000;
/// Maximum characters of a schema's name.
const MAX_NAME_CHARS: usize = 64;

/// The role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions of the operator.
    System,
    /// Text of the customer.
    User,
    /// Text of the model.
    Assistant,
}

impl Role {
    const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A message of a chat.
#[derive(Clone, Debug)]
pub struct ChatMessage {
    /// Its role.
    pub role: Role,
    /// Its text.
    pub content: String,
}

/// The schema of a completion's text.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// A JSON schema.
    pub json: String,
}

/// A request of a completion.
#[derive(Clone, Debug)]
pub struct CompletionRequest {
    /// The messages so far.
    pub messages: Vec<ChatMessage>,
    /// The schema of the text, if it must be JSON.
    pub schema: Option<Schema>,
    /// Maximum tokens of the completion.
    pub max_tokens: Option<u32>,
}

/// A completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its text.
    pub text: String,
    /// The model as the endpoint names it.
    pub model: String,
    /// Tokens of the request, as reported by the endpoint, else 0.
    pub input_tokens: u64,
    /// Tokens of the completion, as reported by the endpoint, else 0.
    pub output_tokens: u64,
}

impl Completion {
    /// Returns all tokens, if the endpoint reports them.
    pub fn tokens(&self) -> Option<u64> {
        let tokens = self.input_tokens.saturating_add(self.output_tokens);
        (tokens > 0).then_some(tokens)
    }
}

impl CompletionRequest {
    /// Returns a high estimate of the tokens of the request.
    pub(crate) fn estimated_tokens(&self) -> u64 {
        let schema = self.schema.as_ref().map_or(0, |schema| schema.json.len());
        let bytes = self.messages.iter().map(|message| message.content.len()).sum::<usize>() + schema;
        (bytes as u64).div_ceil(BYTES_OF_A_TOKEN) + TOKENS_OF_A_MESSAGE * self.messages.len() as u64
    }
}

/// Returns the body of a request, or why it may not be sent.
pub(super) fn body(
    settings: &LlmSettings,
    request: &CompletionRequest,
    max_tokens: u32,
) -> Result<Bytes, String> {
    if request.messages.is_empty() || request.messages.len() > MAX_MESSAGES {
        return Err(format!("a request has 1 to {MAX_MESSAGES} messages"));
    }
    let messages = request.messages.iter();
    let messages =
        messages.map(|message| json!({ "role": message.role.as_str(), "content": message.content }));
    let mut body = json!({
        "model": settings.model,
        "messages": messages.collect::<Vec<_>>(),
        "temperature": f64::from(settings.temperature_percent) / 100.0,
        "max_tokens": max_tokens,
        "stream": false,
    });
    let format = request.schema.as_ref().map(response_format).transpose()?;
    if let (Some(format), Some(members)) = (format, body.as_object_mut()) {
        members.insert("response_format".to_owned(), format);
    }
    serde_json::to_vec(&body).map(Bytes::from).map_err(|error| error.to_string())
}

/// Returns the `response_format` of a schema, or why it is invalid.
fn response_format(schema: &Schema) -> Result<Value, String> {
    let named = (1..=MAX_NAME_CHARS).contains(&schema.name.len())
        && schema.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if !named {
        return Err("a schema's name has 1 to 64 letters, digits, `_` and `-`".to_owned());
    }
    let parsed: Value = serde_json::from_str(&schema.json).map_err(|error| format!("the schema: {error}"))?;
    Ok(json!({
        "type": "json_schema",
        "json_schema": { "name": schema.name, "strict": true, "schema": parsed },
    }))
}

#[derive(Deserialize)]
struct ChatCompletion {
    #[serde(default)]
    model: String,
    choices: Vec<ChatChoice>,
    #[serde(default)]
    usage: Option<TokenUsage>,
}

#[derive(Deserialize)]
struct ChatChoice {
    message: ResponseMessage,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ResponseMessage {
    content: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// Reads a response with at most `max_tokens`, or returns why it is invalid. The error contains no text of the response.
pub(super) fn completion(bytes: &[u8], max_tokens: u32) -> Result<Completion, String> {
    let response: ChatCompletion =
        serde_json::from_slice(bytes).map_err(|_| "it answered something that is not a chat completion")?;
    let choice = response.choices.into_iter().next().ok_or("it answered no choice")?;
    match choice.finish_reason.as_deref() {
        Some("length") => return Err(format!("its answer was cut off after {max_tokens} tokens")),
        Some("content_filter") => return Err("its content filter refused".to_owned()),
        _ => {}
    }
    let text = choice.message.content.filter(|text| !text.trim().is_empty()).ok_or("it answered nothing")?;
    let usage = response.usage.unwrap_or_default();
    Ok(Completion {
        text,
        model: response.model.chars().take(MAX_MODEL_CHARS).collect(),
        input_tokens: usage.prompt_tokens.min(MAX_REPORTED_TOKENS),
        output_tokens: usage.completion_tokens.min(MAX_REPORTED_TOKENS),
    })
}

#[cfg(test)]
mod tests;
