//! Questions to one registry about one repository.

use std::{error::Error, io};

use bulkhead_config::registries::{Reference, Registry};
use bulkhead_os::files;
use reqwest::{
    Certificate, Client, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, HeaderValue, LOCATION},
    redirect::Policy,
};
use serde::Deserialize;
use url::Url;

use super::{
    Fault,
    address::{Guarded, NotPublic, permit},
    challenge::Challenge,
    credentials::{basic, sensitive},
};

/// Redirects that are followed: from the registry to its storage, and a step or two within that.
const REDIRECTS: usize = 3;
/// Largest answer with a token, bytes; they have a few thousand.
const TOKEN_BYTES: usize = 64 << 10;

/// A registry, and what it wants to see.
pub(super) struct Session<'r> {
    registry: &'r Registry,
    repository: &'r str,
    client: Client,
    authorization: Option<Authorization>,
}

/// What the registry wants to see.
struct Authorization {
    value: HeaderValue,
    /// It is name and password, and not a token that was given for them.
    is_login: bool,
}

/// An answer with a token; registries use the one name or the other.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl<'r> Session<'r> {
    pub(super) fn new(registry: &'r Registry, reference: &'r Reference) -> Result<Self, Fault> {
        let mut client = Client::builder()
            .redirect(Policy::none())
            .connect_timeout(registry.connect_timeout)
            .read_timeout(registry.read_timeout)
            .dns_resolver(Guarded::new(registry))
            .no_proxy();
        if let Some(path) = &registry.ca {
            let wrong = |error: String| {
                Fault::Settings(format!("registries.NAME.ca {}: {error}; name a PEM file", path.display()))
            };
            let pem = files::read_settings(path).map_err(|error| wrong(error.to_string()))?;
            let authority = Certificate::from_pem(&pem).map_err(|error| wrong(error.to_string()))?;
            client = client.add_root_certificate(authority);
        }
        let client = client.build().map_err(|error| Fault::Settings(error.without_url().to_string()))?;
        Ok(Self { registry, repository: reference.repository(), client, authorization: None })
    }

    /// Requests `path` below the repository.
    pub(super) async fn get(&mut self, path: &str, accept: &'static str) -> Result<Response, Fault> {
        let mut url = self.registry.base.clone();
        url.set_path(&format!("v2/{}/{path}", self.repository));
        let mut answer = self.follow(url.clone(), accept).await?;
        if answer.status() == StatusCode::UNAUTHORIZED && self.authorization.is_none() {
            self.authorization = Some(self.authorize(Challenge::of(answer.headers())).await?);
            answer = self.follow(url, accept).await?;
        }
        match answer.status() {
            StatusCode::OK => Ok(answer),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                let is_login = self.authorization.as_ref().is_some_and(|shown| shown.is_login);
                Err(self.denied(status, is_login))
            }
            StatusCode::NOT_FOUND => Err(Fault::NotFound),
            status => Err(Fault::Unreachable(format!("it answered with status {}", status.as_u16()))),
        }
    }

    async fn follow(&self, mut url: Url, accept: &'static str) -> Result<Response, Fault> {
        for _ in 0..=REDIRECTS {
            let mut request = self.client.get(url.clone()).header(ACCEPT, accept);
            // The target of a redirect gets no credentials.
            if let Some(shown) =
                self.authorization.as_ref().filter(|_| url.origin() == self.registry.base.origin())
            {
                request = request.header(AUTHORIZATION, &shown.value);
            }
            let answer = request.send().await.map_err(|error| fault(error, &url))?;
            if !answer.status().is_redirection() {
                return Ok(answer);
            }
            let target = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let target = target.and_then(|target| url.join(target).ok()).ok_or(Fault::RedirectLoop)?;
            permit(self.registry, &target)?;
            url = target;
        }
        Err(Fault::RedirectLoop)
    }

    /// A refusal, which is about the login where one was shown.
    fn denied(&self, status: StatusCode, has_login: bool) -> Fault {
        let status = status.as_u16();
        if !has_login {
            return Fault::Denied(status);
        }
        let Registry { name, password, .. } = self.registry;
        Fault::WrongLogin { name: name.clone(), from_file: password.is_none(), status }
    }

    /// What the registry asks for.
    async fn authorize(&self, challenge: Option<Challenge>) -> Result<Authorization, Fault> {
        let denied = Fault::Denied(StatusCode::UNAUTHORIZED.as_u16());
        let credentials = basic(self.registry)?;
        match challenge {
            Some(Challenge::Basic) => Ok(Authorization { value: credentials.ok_or(denied)?, is_login: true }),
            Some(Challenge::Bearer { realm, service }) => {
                let value = self.token(&realm, service, credentials).await?;
                Ok(Authorization { value, is_login: false })
            }
            None => Err(denied),
        }
    }

    /// A token that may pull from the repository and nothing else.
    async fn token(
        &self,
        realm: &str,
        service: Option<String>,
        credentials: Option<HeaderValue>,
    ) -> Result<HeaderValue, Fault> {
        let mut url = Url::parse(realm).map_err(|_| Fault::Malformed("challenge"))?;
        if !self.registry.allows(&url) {
            return Err(Fault::ForeignRealm(url.origin().ascii_serialization()));
        }
        let scope = format!("repository:{}:pull", self.repository);
        url.query_pairs_mut()
            .extend_pairs(service.map(|service| ("service", service)))
            .append_pair("scope", &scope);
        let (request, has_login) = (self.client.get(url.clone()), credentials.is_some());
        let request = match credentials {
            Some(credentials) => request.header(AUTHORIZATION, credentials),
            None => request,
        };
        let answer = request.send().await.map_err(|error| fault(error, &url))?;
        match answer.status() {
            StatusCode::OK => {}
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                return Err(self.denied(status, has_login));
            }
            status if status.is_client_error() => return Err(Fault::Denied(status.as_u16())),
            status => {
                let text = format!("its token server answered with status {}", status.as_u16());
                return Err(Fault::Unreachable(text));
            }
        }
        let text = read(answer, TOKEN_BYTES).await?.ok_or(Fault::Malformed("token"))?;
        let Token { token, access_token } =
            serde_json::from_slice(&text).map_err(|_| Fault::Malformed("token"))?;
        let token = token.or(access_token).ok_or(Fault::Malformed("token"))?;
        sensitive(&format!("Bearer {token}"))
    }
}

/// The text of a header.
pub(super) fn header<'a>(answer: &'a Response, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

/// A body of no more than `cap` bytes; none where it has more.
pub(super) async fn read(mut answer: Response, cap: usize) -> Result<Option<Vec<u8>>, Fault> {
    let mut read = Vec::new();
    while let Some(chunk) = chunk(&mut answer).await? {
        if read.len() + chunk.len() > cap {
            return Ok(None);
        }
        read.extend_from_slice(&chunk);
    }
    Ok(Some(read))
}

/// The next bytes of a body.
pub(super) async fn chunk(answer: &mut Response) -> Result<Option<bytes::Bytes>, Fault> {
    let url = answer.url().clone();
    answer.chunk().await.map_err(|error| fault(error, &url))
}

fn fault(error: reqwest::Error, url: &Url) -> Fault {
    if error.is_timeout() {
        return Fault::Timeout;
    }
    let mut innermost: &(dyn Error + 'static) = &error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if innermost.is::<NotPublic>() {
        let target = url.origin().ascii_serialization();
        return Fault::Redirect { target, why: "which is not a public address" };
    }
    // Only the outermost error contains the URL, which may contain a token.
    let is_outermost = innermost.is::<reqwest::Error>();
    let broken = innermost.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let text = match broken.and_then(|error| error.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(_)) => {
            "it does not speak TLS, which is meant only with registries.NAME.plain_http = true".to_owned()
        }
        _ if is_outermost => "the connection broke".to_owned(),
        _ => innermost.to_string(),
    };
    Fault::Unreachable(text)
}
