//! The status service over HTTP, on SQLite, MariaDB and PostgreSQL.

mod access;
pub mod answers;
mod databases;
mod envelope;
mod faults;
mod network;
pub mod operations;
mod polls;
mod releases;
mod rows;
mod scrape;

use std::{collections::BTreeMap, path::Path};

use bulkhead_tests::TestHost;
use serde_json::Value;
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use self::rows::Rows;

pub const BASE: &str = "/terminvereinbarung/api/2";
pub const TOKEN: &str = "secure-token";

/// A host whose status comes from one database.
struct Service {
    host: TestHost,
}

/// An answer: status, headers, body.
struct Answer {
    status: u16,
    headers: reqwest::header::HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{} {}", self.status, self.text))
    }

    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).unwrap_or_else(|| panic!("no {name}: {}", self.text));
        value.to_str().unwrap()
    }

    /// A refusal in the envelope; gives its `meta`.
    fn assert_refusal(&self, status: u16, class: Option<&str>) -> Value {
        let body = self.json();
        let members: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(members, ["$schema", "data", "meta"], "{body}");
        assert_eq!((self.status, body["meta"]["exception"].as_str()), (status, class), "{body}");
        assert_eq!(body["meta"]["error"], true);
        assert!(body["meta"].get("trace").is_none(), "{body}");
        assert_eq!(self.header("content-type"), "application/json");
        body["meta"].clone()
    }
}

impl Service {
    /// With `config` below `[status]`.
    async fn start(database: &str, config: &str) -> Self {
        let text = format!(
            "[services.embedding]\nenabled = false\n[services.captcha]\nenabled = false\n\
             [status]\ndatabase = \"{database}\"\ntokens = [\"{TOKEN}\"]\n{config}"
        );
        Self { host: TestHost::builder().config(&text).start().await }
    }

    async fn send(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.host.client().get(self.host.url(&format!("{BASE}{path}")));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, text: response.text().await.unwrap() }
    }

    /// With the token.
    async fn get(&self, path: &str) -> Answer {
        self.send(path, &[("x-token", TOKEN)]).await
    }

    /// `data` of a good answer.
    async fn data(&self, query: &str) -> Value {
        let answer = self.get(&format!("/status/{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["data"].clone()
    }

    /// Every sample, `name{labels}` to value.
    async fn samples(&self) -> BTreeMap<String, f64> {
        let answer = self.get("/status/metrics").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let samples = answer.text.lines().filter(|line| !line.starts_with('#'));
        samples
            .map(|line| {
                let (name, value) = line.rsplit_once(' ').unwrap();
                (name.to_owned(), value.parse().unwrap())
            })
            .collect()
    }

    /// How often a section has been collected, well and badly.
    async fn attempts(&self, section: &str) -> (f64, f64) {
        let samples = self.samples().await;
        let count = |result: &str| {
            samples[&format!("zms_collector_attempts_total{{section=\"{section}\",result=\"{result}\"}}")]
        };
        (count("success"), count("failure"))
    }

    async fn stop(self) {
        self.host.stop().await;
    }
}

/// A SQLite file with the tables and these rows.
async fn sqlite(folder: &Path, rows: &str) -> String {
    let file = folder.join("appointments.sqlite");
    let schema = include_str!("../../../host/services/status/appointments/src/demo/schema/sqlite.sql");
    run(&file, &format!("{schema}{rows}")).await;
    format!("sqlite:{}", file.display())
}

async fn run(file: &Path, script: &str) {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(script.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// A database with the rows whose answers are known, in SQLite.
pub async fn known_figures(folder: &Path) -> String {
    sqlite(folder, &Rows::now().sql(&|_, text| format!("'{text}'"))).await
}

/// A host over the rows whose answers are known, in SQLite.
async fn golden(folder: &Path, config: &str) -> Service {
    Service::start(&known_figures(folder).await, config).await
}
