//! Rows whose figures are known: eleven appointments, five slots, seven users.

use bulkhead::appointments::Clock;
use sha2::{Digest as _, Sha256};

/// Key of the one session that is good, and of one that has expired.
pub const SESSION: &str = "0123456789abcdef0123456789abcdef";
pub const EXPIRED: &str = "fedcba9876543210fedcba9876543210";
/// A user whose password hash is bcrypt's known answer for `U*U`, and one of old with `password`.
pub const BCRYPT: (&str, &str) = ("clerk", "U*U");
pub const MD5: (&str, &str) = ("veteran", "password");

/// The rows as of one time.
pub struct Rows {
    pub now: i64,
    pub clock: Clock,
}

impl Rows {
    pub fn now() -> Self {
        Self { now: Clock::now(), clock: Clock::new("Europe/Berlin").unwrap() }
    }

    /// `2026-08-21 14:05:00`, seconds from now.
    pub fn local(&self, seconds: i64) -> String {
        self.clock.text(self.now + seconds)
    }

    /// Insert statements; `stamp` writes a point in time, Unix seconds and local text, for columns that are
    /// timestamps.
    pub fn sql(&self, stamp: &dyn Fn(i64, &str) -> String) -> String {
        let at = |seconds: i64| stamp(self.now + seconds, &self.local(seconds));
        let id = |key: &str| hex::encode(Sha256::digest(key));
        let (now, ahead, before) = (self.now, self.now + 3600, self.now - 3 * 86_400);
        let (earlier, later, present) = (at(-3600), at(3600), at(0));
        let (mail, next_mail) = (self.now - 480, self.now + 100);
        let (session, expired, soon, past) = (id(SESSION), id(EXPIRED), self.local(3600), self.local(-60));
        let (clerk, veteran) = (BCRYPT.0, MD5.0);
        format!(
            "INSERT INTO buerger (BuergerID, status, istFolgeterminvon, IPTimeStamp, StandortID,
                vorlaeufigeBuchung, Abholer, external_user_id) VALUES
                (1, 'confirmed', NULL, {now}, 10, 0, 0, 'u1'),
                (2, 'confirmed', 1, {now}, 10, 0, 0, 'u1'),
                (3, 'preconfirmed', 0, {before}, 10, 0, 0, ''),
                (4, 'deleted', NULL, {ahead}, 10, 1, 0, NULL),
                (5, 'blocked', NULL, 0, 0, 0, 0, NULL),
                (6, 'reserved', NULL, {now}, 10, 1, 0, NULL),
                (7, 'queued', NULL, {now}, 10, 0, 0, NULL),
                (8, 'processing', NULL, {now}, 10, 0, 0, NULL),
                (9, NULL, NULL, {now}, 10, 0, 0, NULL),
                (10, 'CONFIRMED', NULL, {now}, 10, 0, 0, 'x'),
                (11, 'pending', NULL, {now}, 10, 0, 1, 'x');
            INSERT INTO oeffnungszeit (OeffnungszeitID, updated_at) VALUES (1, {present});
            INSERT INTO slot (availabilityID, intern, status, updateTimestamp) VALUES
                (1, 3, 'free', {earlier}), (1, 2, 'free', {later}), (1, 5, 'full', {earlier}),
                (99, 4, 'free', {earlier}), (1, NULL, 'free', {present});
            INSERT INTO behoerde (BehoerdenID, Name) VALUES (1, 'Testbehörde');
            INSERT INTO standort (StandortID, BehoerdenID, Bezeichnung) VALUES (10, 1, 'Bürgerbüro');
            INSERT INTO nutzer (Name, Passworthash, SessionID, StandortID, sessionExpiry) VALUES
                ('a', '', 'k1', 10, '2020-01-01 00:00:00'),
                ('b', '', 'k2', 0, NULL),
                ('c', '', '{session}', 10, '{soon}'),
                ('d', '', '', 0, '{soon}'),
                ('e', '', '{expired}', 0, '{past}'),
                ('{clerk}', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', '', 0, NULL),
                ('{veteran}', '5f4dcc3b5aa765d61d8327deb882cf99', '', 0, NULL);
            INSERT INTO mailqueue (createTimestamp, subject) VALUES ({mail}, 'a'), ({next_mail}, 'b');
            INSERT INTO config (name, value) VALUES ('sources_dldb_last', '2022-04-12T13:22:45+02:00'),
                ('status__calculateSlotsLastRun', '2016-04-01 00:00:00');"
        )
    }
}
