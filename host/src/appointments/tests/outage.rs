use std::time::{Duration, Instant};

use super::{collector, fill};
use crate::appointments::{
    CollectError, Figures, Mail, Place, Section,
    connection::Connections,
    section::{Cell, Due},
};

const NEVER: Duration = Duration::from_secs(3600);

/// A turn is waited for once; after a failure whoever asks is answered with what there is.
#[test]
fn nobody_waits_again_for_what_has_failed() {
    let cell = Cell::new(Section::Mail, Duration::ZERO, NEVER);
    let now = Instant::now;
    let Due::Await(turn) = cell.due(now()) else { panic!("the first attempt is waited for") };
    assert!(matches!(cell.due(now()), Due::Join(_)), "by everybody");
    turn.end(Err(CollectError::Failed("down".into())), Duration::ZERO);
    let Due::Refresh(turn) = cell.due(now()) else { panic!("the second is not") };
    assert!(matches!(cell.due(now()), Due::Nothing));
    let mail = Mail { queued: 0, oldest_seconds: None, newest_seconds: None };
    turn.end(Ok(Figures::Mail(mail)), Duration::ZERO);
    assert!(matches!(cell.due(now()), Due::Refresh(_)), "what is known is shown meanwhile");
}

#[tokio::test]
async fn what_keeps_a_server_from_being_reached_is_said_at_once_and_without_the_password() {
    // Nothing listens on port 1.
    for place in [
        Place::MariaDb("mysql://u:swordfish@127.0.0.1:1/zms".into()),
        Place::Postgres("postgres://u:swordfish@127.0.0.1:1/zms".into()),
    ] {
        let connections = Connections::new(&place, Duration::from_secs(1)).unwrap();
        for _ in 0..2 {
            let error = connections.rows("SELECT 1", &[], &[]).await.unwrap_err();
            let CollectError::Unreachable(text) = &error else { panic!("{error:?}") };
            assert!(text.contains("refused") && !text.contains("swordfish"), "{text}");
        }
    }
}

/// More queries at once than there are connections, which come back each time.
#[tokio::test]
async fn connections_are_few_and_used_again() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("a.sqlite");
    fill(&file, "").await;
    let accounts = collector(&file, NEVER, NEVER).accounts();
    let ask = || accounts.has_session("key");
    for _ in 0..3 {
        let (a, b, c, d, e) = tokio::join!(ask(), ask(), ask(), ask(), ask());
        assert_eq!([a, b, c, d, e], [const { Ok(false) }; 5]);
    }
    assert_eq!(accounts.password_hash("a\0b").await, Ok(None));
}
