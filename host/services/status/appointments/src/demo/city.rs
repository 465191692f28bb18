//! Generates the rows of the demonstration database.

use super::{
    Demo,
    random::SplitMix64,
    writer::{Field, Writer},
};

/// Places of work, by department.
const DEPARTMENTS: [(&str, &[&str]); 4] = [
    ("Bürgerbüro", &["Ruppertstraße", "Leonrodstraße", "Orleansplatz", "Pasing"]),
    ("Kfz-Zulassungsstelle", &["Eichstätter Straße", "Führerscheinstelle"]),
    ("Standesamt", &["Mandlstraße", "Pasing"]),
    ("Gewerbeamt", &["Implerstraße"]),
];

/// Statuses and how many of a hundred appointments have them.
const STATUSES: [(&str, i64); 12] = [
    ("confirmed", 74),
    ("deleted", 7),
    ("preconfirmed", 4),
    ("reserved", 3),
    ("missed", 3),
    ("queued", 2),
    ("pending", 2),
    ("called", 1),
    ("processing", 1),
    ("parked", 1),
    ("blocked", 1),
    ("finished", 1),
];

const DAY: i64 = 86_400;
/// How far back bookings go, and how far ahead appointments are.
const WEEKS: i64 = 8;
/// A cancelled appointment occupies its time for so long.
const KEPT_SECONDS: i64 = 900;
const SLOTS_A_DAY: i64 = 24;
const USERS: i64 = 30;

/// Builds the rows.
pub(super) struct City<'a> {
    demo: &'a Demo,
    random: SplitMix64,
    next_process: i64,
}

/// Adds a row to a table whose columns are named with it.
macro_rules! insert {
    ($writer:expr, $into:literal, $($value:expr),+ $(,)?) => {
        $writer.insert($into, &[$(Field::from($value)),+]).await?
    };
}

impl<'a> City<'a> {
    pub(super) const fn new(demo: &'a Demo) -> Self {
        Self { demo, random: SplitMix64::new(demo.seed), next_process: 1 }
    }

    pub(super) async fn build(mut self, writer: &mut Writer<'_>) -> Result<(), sqlx::Error> {
        let scopes = self.places(writer).await?;
        for _ in 0..self.demo.rows {
            self.appointment(writer, &scopes).await?;
        }
        self.slots(writer, &scopes).await?;
        self.mails(writer).await?;
        self.users(writer, &scopes).await?;
        self.notes(writer).await
    }

    async fn places(&mut self, writer: &mut Writer<'_>) -> Result<Vec<i64>, sqlx::Error> {
        let mut scopes = Vec::new();
        for (department, (name, offices)) in (1_i64..).zip(DEPARTMENTS) {
            insert!(writer, "behoerde (BehoerdenID, Name)", department, name);
            for office in offices {
                let scope = 100 + i64::try_from(scopes.len()).unwrap_or(0);
                let office = format!("{name} {office}");
                insert!(writer, "standort (StandortID, BehoerdenID, Bezeichnung)", scope, department, office);
                scopes.push(scope);
            }
        }
        Ok(scopes)
    }

    fn pick(&mut self, from: &[i64]) -> i64 {
        let index = self.random.below(i64::try_from(from.len()).unwrap_or(0));
        usize::try_from(index).ok().and_then(|index| from.get(index)).copied().unwrap_or_default()
    }

    fn status(&mut self) -> &'static str {
        let mut share_left = self.random.below(100);
        for (status, share) in STATUSES {
            if share_left < share {
                return status;
            }
            share_left -= share;
        }
        "confirmed"
    }

    /// Adds an appointment, and in one of eight cases its further slots.
    async fn appointment(&mut self, writer: &mut Writer<'_>, scopes: &[i64]) -> Result<(), sqlx::Error> {
        let (now, process, status) = (self.demo.now, self.next_process, self.status());
        let scope = if status == "blocked" { 0 } else { self.pick(scopes) };
        // More bookings lately than long ago.
        let ago = self.random.below(WEEKS * 7 * DAY).min(self.random.below(WEEKS * 7 * DAY));
        let booked = match status {
            "blocked" => 0,
            "deleted" => now - self.random.below(KEPT_SECONDS) + KEPT_SECONDS,
            _ => now - ago,
        };
        let quarter = 8 * 3600 + self.random.below(36) * 900;
        let at = self.demo.clock.midnight(now, 0) + self.random.below(WEEKS * 7) * DAY + quarter;
        let local = self.demo.clock.text(at);
        let (date, time) = local.split_once(' ').unwrap_or((&local, ""));
        let citizen = self.random.chance(35).then(|| format!("citizen-{}", self.random.below(1 << 40)));
        let follow_ups = if self.random.chance(12) { 1 + self.random.below(3) } else { 0 };
        for part in 0..=follow_ups {
            let name = match (part, status) {
                (0, "deleted") => "(abgesagt)".to_owned(),
                (0, "blocked") => "dereferenced".to_owned(),
                (0, _) => format!("Person {process}"),
                _ => "(Folgetermin)".to_owned(),
            };
            insert!(
                writer,
                "buerger (BuergerID, StandortID, Datum, Uhrzeit, Name, IPTimeStamp, Abholer,
                    AbholortID, vorlaeufigeBuchung, istFolgeterminvon, bestaetigt, status, external_user_id)",
                process + part,
                scope,
                date,
                time,
                name,
                booked,
                i64::from(status == "pending"),
                if status == "pending" { scope } else { 0 },
                i64::from(matches!(status, "reserved" | "deleted")),
                (part > 0).then_some(process),
                i64::from(status == "confirmed"),
                status,
                citizen.clone(),
            );
        }
        self.next_process += 1 + follow_ups;
        Ok(())
    }

    /// Adds four weeks of bookable times; the calculation lags behind the opening hours of one office.
    async fn slots(&mut self, writer: &mut Writer<'_>, scopes: &[i64]) -> Result<(), sqlx::Error> {
        let now = self.demo.now;
        for (availability, scope) in (1_i64..).zip(scopes) {
            let late = availability == 1;
            let changed = Field::Time(if late { now - 90 } else { now - 3 * DAY });
            insert!(
                writer,
                "oeffnungszeit (OeffnungszeitID, scope_id, updated_at)",
                availability,
                *scope,
                changed,
            );
            for index in 0..28 * SLOTS_A_DAY {
                let start = 8 * 3600 + index % SLOTS_A_DAY * 1200;
                let local = self
                    .demo
                    .clock
                    .text(self.demo.clock.midnight(now, 0) + (index / SLOTS_A_DAY) * DAY + start);
                let number = |part: Option<&str>| part.and_then(|part| part.parse::<i64>().ok());
                let mut parts = local.split([' ', '-']);
                let (year, month, day) = (number(parts.next()), number(parts.next()), number(parts.next()));
                let updated = if late && index < 40 { now - 600 } else { now - 30 };
                let status = if self.random.chance(55) { "full" } else { "free" };
                insert!(
                    writer,
                    "slot (scopeID, year, month, day, time, availabilityID, public, intern, status,
                        updateTimestamp)",
                    *scope,
                    year,
                    month,
                    day,
                    parts.next().unwrap_or_default(),
                    availability,
                    1 + self.random.below(3),
                    1 + self.random.below(5),
                    status,
                    Field::Time(updated),
                );
            }
        }
        Ok(())
    }

    async fn mails(&mut self, writer: &mut Writer<'_>) -> Result<(), sqlx::Error> {
        for _ in 0..14 {
            let created = self.demo.now - self.random.below(240);
            insert!(
                writer,
                "mailqueue (processID, departmentID, createTimestamp, subject)",
                1 + self.random.below(self.next_process),
                1_i64,
                created,
                "Terminbestätigung",
            );
        }
        Ok(())
    }

    /// Adds users: a third is logged in, some of them without an office; some sessions have expired.
    async fn users(&mut self, writer: &mut Writer<'_>, scopes: &[i64]) -> Result<(), sqlx::Error> {
        let now = self.demo.now;
        for user in 1..=USERS {
            let expiry = match user % 3 {
                0 => Some(now + 3600 + self.random.below(8 * 3600)),
                1 => Some(now - 3600 - self.random.below(30 * DAY)),
                _ => None,
            };
            // Hexadecimal like a real one, but not the hash of a key.
            let session = expiry.map_or_else(String::new, |_| format!("{:064x}", self.random.below(1 << 60)));
            let scope = if expiry.is_some() && self.random.chance(85) { self.pick(scopes) } else { 0 };
            insert!(
                writer,
                "nutzer (Name, SessionID, StandortID, sessionExpiry)",
                format!("user-{user}"),
                session,
                scope,
                expiry.map(|expiry| self.demo.clock.text(expiry)),
            );
        }
        Ok(())
    }

    async fn notes(&mut self, writer: &mut Writer<'_>) -> Result<(), sqlx::Error> {
        let (clock, now) = (&self.demo.clock, self.demo.now);
        for (name, value) in [
            ("sources_dldb_last", clock.iso(now - 1500)),
            ("status__calculateSlotsLastRun", clock.text(now - 40)),
            ("status__calculateSlotsLastStart", clock.text(now - 55)),
        ] {
            insert!(writer, "config (name, value)", name, value);
        }
        Ok(())
    }
}
