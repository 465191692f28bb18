//! Chat completions as OpenAI's API spells them: `POST /chat/completions`.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::config::{BYTES_OF_A_TOKEN, Llm};

/// Tokens that a message takes besides its text.
const TOKENS_OF_A_MESSAGE: u64 = 8;
/// Messages of one call at most.
const MOST_MESSAGES: usize = 64;
/// Longest name of a model that is passed on, characters.
const LONGEST_MODEL: usize = 200;
/// Tokens of one call that are believed.
const CREDIBLE_TOKENS: u64 = 10_000_000;
/// Longest name of a schema.
const LONGEST_NAME: usize = 64;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The operator.
    System,
    /// The customer.
    User,
    /// The model.
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

/// One turn.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What.
    pub content: String,
}

/// What the answer must look like.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// A JSON schema.
    pub json: String,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The turns so far.
    pub messages: Vec<Message>,
    /// What the answer must look like.
    pub schema: Option<Schema>,
    /// Most tokens of the answer.
    pub max_tokens: Option<u32>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The answer.
    pub text: String,
    /// The model as the endpoint names it.
    pub model: String,
    /// Tokens of the request, as the endpoint counts; 0 where it does not.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl Completion {
    /// All tokens, where the endpoint counts.
    pub fn tokens(&self) -> Option<u64> {
        let tokens = self.input_tokens.saturating_add(self.output_tokens);
        (tokens > 0).then_some(tokens)
    }
}

impl Request {
    /// Tokens that the request takes, rather too many.
    pub fn estimated_tokens(&self) -> u64 {
        let schema = self.schema.as_ref().map_or(0, |schema| schema.json.len());
        let bytes = self.messages.iter().map(|message| message.content.len()).sum::<usize>() + schema;
        (bytes as u64).div_ceil(BYTES_OF_A_TOKEN) + TOKENS_OF_A_MESSAGE * self.messages.len() as u64
    }
}

/// The body of a request; the text says why it may not be sent.
pub(super) fn body(settings: &Llm, request: &Request, max_tokens: u32) -> Result<Bytes, String> {
    if request.messages.is_empty() || request.messages.len() > MOST_MESSAGES {
        return Err(format!("a request has 1 to {MOST_MESSAGES} messages"));
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

fn response_format(schema: &Schema) -> Result<Value, String> {
    let named = (1..=LONGEST_NAME).contains(&schema.name.len())
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
struct Answer {
    #[serde(default)]
    model: String,
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// Reads an answer that may have `max_tokens`; the text says what is wrong with it, without a word of it.
pub(super) fn completion(bytes: &[u8], max_tokens: u32) -> Result<Completion, String> {
    let answer: Answer =
        serde_json::from_slice(bytes).map_err(|_| "it answered something that is no chat completion")?;
    let choice = answer.choices.into_iter().next().ok_or("it answered no choice")?;
    match choice.finish_reason.as_deref() {
        Some("length") => return Err(format!("its answer was cut off after {max_tokens} tokens")),
        Some("content_filter") => return Err("its content filter refused".to_owned()),
        _ => {}
    }
    let text = choice.message.content.filter(|text| !text.trim().is_empty()).ok_or("it answered nothing")?;
    let usage = answer.usage.unwrap_or_default();
    Ok(Completion {
        text,
        model: answer.model.chars().take(LONGEST_MODEL).collect(),
        input_tokens: usage.prompt_tokens.min(CREDIBLE_TOKENS),
        output_tokens: usage.completion_tokens.min(CREDIBLE_TOKENS),
    })
}

#[cfg(test)]
mod tests;
