-- The tables that the status is read from, as the appointment system's migrations leave them.
CREATE TABLE buerger (
    BuergerID int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    StandortID int unsigned NOT NULL DEFAULT 0,
    Datum date NOT NULL DEFAULT '2026-01-01',
    Uhrzeit time NOT NULL DEFAULT '00:00:00',
    Name varchar(200) NOT NULL DEFAULT '',
    IPTimeStamp bigint NOT NULL DEFAULT 0,
    NutzerID int unsigned NOT NULL DEFAULT 0,
    Abholer int unsigned NOT NULL DEFAULT 0,
    AbholortID int unsigned NOT NULL DEFAULT 0,
    vorlaeufigeBuchung int(2) unsigned DEFAULT 0,
    istFolgeterminvon int unsigned DEFAULT NULL,
    updateTimestamp timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
    bestaetigt tinyint(1) NOT NULL DEFAULT 0,
    status varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci DEFAULT NULL,
    external_user_id varchar(255) DEFAULT NULL,
    KEY istFolgeterminvon (istFolgeterminvon),
    KEY idx_status (status),
    KEY idx_buerger_external_user_id (external_user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE slot (
    slotID int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    scopeID int unsigned DEFAULT NULL,
    year smallint unsigned DEFAULT NULL,
    month tinyint unsigned DEFAULT NULL,
    day tinyint unsigned DEFAULT NULL,
    time time DEFAULT NULL,
    availabilityID int unsigned DEFAULT NULL,
    public tinyint unsigned DEFAULT NULL,
    intern tinyint unsigned DEFAULT NULL,
    status enum('free','full','cancelled') DEFAULT 'free',
    createTimestamp bigint DEFAULT NULL,
    updateTimestamp timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
    KEY availabilityID (availabilityID),
    KEY updateTimestamp (updateTimestamp)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE oeffnungszeit (
    OeffnungszeitID int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    scope_id int unsigned NOT NULL DEFAULT 0,
    updated_at timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
    KEY updated_at (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE mailqueue (
    id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    processID int NOT NULL DEFAULT 0,
    departmentID int unsigned NOT NULL DEFAULT 0,
    createTimestamp bigint NOT NULL DEFAULT 0,
    subject varchar(150) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE config (
    name varchar(150) NOT NULL PRIMARY KEY,
    value varchar(250) NOT NULL,
    changeTimestamp timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE nutzer (
    NutzerID int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    Name varchar(50) NOT NULL,
    Passworthash varchar(200) NOT NULL DEFAULT '',
    BehoerdenID int unsigned DEFAULT NULL,
    SessionID varchar(64) NOT NULL DEFAULT '',
    StandortID int unsigned NOT NULL DEFAULT 0,
    lastUpdate timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
    sessionExpiry datetime DEFAULT NULL,
    KEY idx_nutzer_sessionid_expiry (SessionID, sessionExpiry)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE behoerde (
    BehoerdenID int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    Name varchar(200) DEFAULT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE standort (
    StandortID int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    BehoerdenID int NOT NULL DEFAULT 0,
    Bezeichnung varchar(200) NOT NULL DEFAULT '',
    KEY BehoerdenID (BehoerdenID)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
