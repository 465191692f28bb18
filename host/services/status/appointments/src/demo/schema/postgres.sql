-- The same logical schema in PostgreSQL; times without a zone are those of the configured one.
CREATE TABLE buerger (
    BuergerID serial PRIMARY KEY,
    StandortID integer NOT NULL DEFAULT 0,
    Datum date NOT NULL DEFAULT '2026-01-01',
    Uhrzeit time NOT NULL DEFAULT '00:00:00',
    Name varchar(200) NOT NULL DEFAULT '',
    IPTimeStamp bigint NOT NULL DEFAULT 0,
    Abholer integer NOT NULL DEFAULT 0,
    AbholortID integer NOT NULL DEFAULT 0,
    vorlaeufigeBuchung smallint DEFAULT 0,
    istFolgeterminvon integer,
    bestaetigt smallint NOT NULL DEFAULT 0,
    status varchar(20),
    external_user_id varchar(255)
);
CREATE TABLE slot (
    slotID serial PRIMARY KEY,
    scopeID integer,
    year smallint,
    month smallint,
    day smallint,
    time time,
    availabilityID integer,
    public smallint,
    intern smallint,
    status varchar(9) DEFAULT 'free',
    updateTimestamp timestamp NOT NULL
);
CREATE INDEX ON slot (updateTimestamp);
CREATE TABLE oeffnungszeit (
    OeffnungszeitID serial PRIMARY KEY,
    scope_id integer NOT NULL DEFAULT 0,
    updated_at timestamp NOT NULL
);
CREATE TABLE mailqueue (
    id serial PRIMARY KEY,
    processID integer NOT NULL DEFAULT 0,
    departmentID integer NOT NULL DEFAULT 0,
    createTimestamp bigint NOT NULL DEFAULT 0,
    subject varchar(150) NOT NULL
);
CREATE TABLE config (name varchar(150) PRIMARY KEY, value varchar(250) NOT NULL);
CREATE TABLE nutzer (
    NutzerID serial PRIMARY KEY,
    Name varchar(50) NOT NULL,
    Passworthash varchar(200) NOT NULL DEFAULT '',
    SessionID varchar(64) NOT NULL DEFAULT '',
    StandortID integer NOT NULL DEFAULT 0,
    sessionExpiry timestamp
);
CREATE TABLE behoerde (BehoerdenID serial PRIMARY KEY, Name varchar(200));
CREATE TABLE standort (
    StandortID serial PRIMARY KEY,
    BehoerdenID integer NOT NULL DEFAULT 0,
    Bezeichnung varchar(200) NOT NULL DEFAULT ''
);
