//! The wire between the host and its database.

use bulkhead_tests::servers::{mariadb::MariaDb, postgres::Postgres, proxy::Proxy};

use super::{
    Rows, Service,
    databases::{mariadb, on_mariadb, on_postgres, postgres, with_mariadb_rows, with_postgres_rows},
    faults::{RESTLESS, assert_no_word_of_the_inside, within_a_minute},
};

async fn collected(service: &Service) -> bool {
    let answer = service.get("/status/").await;
    assert_eq!(answer.status, 200, "what is known is shown: {}", answer.text);
    service.samples().await["zms_collector_success{section=\"mail\"}"] == 1.0
}

/// Cut or silent, the wire costs fresh figures and nothing else; once the wire works, they come again.
async fn assert_bridged(url: impl Fn(u16) -> String, port: u16) {
    let proxy = Proxy::start(port).await;
    let service = Service::start(&url(proxy.port()), RESTLESS).await;
    let before = service.data("").await;
    for harm in [Proxy::cut, Proxy::silence] {
        harm(&proxy);
        within_a_minute("the failure shows in the metrics", async || !collected(&service).await).await;
        let during = service.data("").await;
        assert_eq!(during["useraccounts"], before["useraccounts"]);
        let health = service.send("/healthcheck/", &[]).await;
        assert_no_word_of_the_inside(&health);
        proxy.mend();
        within_a_minute("the figures are fresh again", async || collected(&service).await).await;
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_to_mariadb_is_bridged() {
    let server = mariadb(&on_mariadb(&Rows::now()));
    assert_bridged(|port| server.url_at(port), server.port()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_to_postgresql_is_bridged() {
    let server = postgres(&on_postgres(&Rows::now()));
    assert_bridged(|port| server.url_at(port), server.port()).await;
}

/// Over TLS with the authority that signed for the server, and neither without TLS nor with another authority.
async fn assert_verified(verified: &str, plain: &str, of_another: &str) {
    let service = Service::start(verified, "").await;
    assert_eq!(service.data("").await["processes"]["confirmed"], 2);
    service.stop().await;
    for refused in [plain, of_another] {
        let service = Service::start(refused, "").await;
        let answer = service.get("/status/").await;
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert_no_word_of_the_inside(&answer);
        service.stop().await;
    }
}

fn parameters_of(url: &str) -> &str {
    url.split_once('?').unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_over_tls_is_verified() {
    let server = with_mariadb_rows(MariaDb::start_with_tls(), &on_mariadb(&Rows::now()));
    let other = MariaDb::start_with_tls();
    let url = server.url();
    let plain = url.replace(parameters_of(&url), "ssl-mode=DISABLED");
    let of_another = url.replace(parameters_of(&url), parameters_of(&other.url()));
    assert_verified(&url, &plain, &of_another).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_over_tls_is_verified() {
    let server = with_postgres_rows(Postgres::start_with_tls(), &on_postgres(&Rows::now()));
    let other = Postgres::start_with_tls();
    let url = server.url();
    let plain = url.replace(parameters_of(&url), "sslmode=disable");
    let of_another = url.replace(parameters_of(&url), parameters_of(&other.url()));
    assert_verified(&url, &plain, &of_another).await;
}
