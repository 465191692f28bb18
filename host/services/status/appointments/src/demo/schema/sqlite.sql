-- The tables of the appointment system that its status is read from. Local times are text in the configured
-- time zone, such as 2026-08-21 14:05:00; IPTimeStamp and createTimestamp are Unix seconds.
CREATE TABLE buerger (
    BuergerID INTEGER PRIMARY KEY,
    StandortID INTEGER NOT NULL DEFAULT 0,
    Datum TEXT NOT NULL DEFAULT '0000-00-00',
    Uhrzeit TEXT NOT NULL DEFAULT '00:00:00',
    Name TEXT NOT NULL DEFAULT '',
    IPTimeStamp INTEGER NOT NULL DEFAULT 0,
    Abholer INTEGER NOT NULL DEFAULT 0,
    AbholortID INTEGER NOT NULL DEFAULT 0,
    vorlaeufigeBuchung INTEGER DEFAULT 0,
    istFolgeterminvon INTEGER,
    bestaetigt INTEGER NOT NULL DEFAULT 0,
    status TEXT,
    external_user_id TEXT
);
CREATE TABLE slot (
    slotID INTEGER PRIMARY KEY,
    scopeID INTEGER,
    year INTEGER,
    month INTEGER,
    day INTEGER,
    time TEXT,
    availabilityID INTEGER,
    public INTEGER,
    intern INTEGER,
    status TEXT NOT NULL DEFAULT 'free',
    updateTimestamp TEXT NOT NULL
);
CREATE INDEX slot_updateTimestamp ON slot (updateTimestamp);
CREATE TABLE oeffnungszeit (
    OeffnungszeitID INTEGER PRIMARY KEY,
    scope_id INTEGER NOT NULL DEFAULT 0,
    updated_at TEXT NOT NULL
);
CREATE TABLE mailqueue (
    id INTEGER PRIMARY KEY,
    processID INTEGER NOT NULL DEFAULT 0,
    departmentID INTEGER NOT NULL DEFAULT 0,
    createTimestamp INTEGER NOT NULL DEFAULT 0,
    subject TEXT NOT NULL
);
CREATE TABLE config (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE nutzer (
    NutzerID INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    Passworthash TEXT NOT NULL DEFAULT '',
    SessionID TEXT NOT NULL DEFAULT '',
    StandortID INTEGER NOT NULL DEFAULT 0,
    sessionExpiry TEXT
);
CREATE INDEX nutzer_SessionID ON nutzer (SessionID, sessionExpiry);
CREATE TABLE behoerde (
    BehoerdenID INTEGER PRIMARY KEY,
    Name TEXT
);
CREATE TABLE standort (
    StandortID INTEGER PRIMARY KEY,
    BehoerdenID INTEGER NOT NULL DEFAULT 0,
    Bezeichnung TEXT NOT NULL DEFAULT ''
);
