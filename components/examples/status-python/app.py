"""A status component in Python: the state of the appointment system's database and of its mail queue.

It answers the calls of the world `bulkhead:status/status`. The figures come from the host, which reads the database.
"""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import reports
from wit_world.exports.reports import Family, Kind, Level, Report, Sample, Verdict
from wit_world.imports import appointments, logging

SCHEMA = "https://schema.berlin.de/queuemanagement/status.json"

# Limits of the health check: lock requests that wait, and seconds that a mail waits.
LOCKS = 10
MAIL_SECONDS = 300

SEVERITY = {Level.OK: "OK", Level.WARNING: "WARN", Level.CRITICAL: "CRIT", Level.FATAL: "FATAL"}


class Reports(exports.Reports):
    def status(self, options):
        figures = read(options.statistics)
        data = {"$schema": SCHEMA}
        if figures.database is not None:
            data["database"] = database(figures.database)
        if figures.mail is not None:
            data["mail"] = mail(figures.mail)
        data["version"] = version(options.version)
        if options.wire == reports.Wire.LEGACY:
            data = legacy(data)
        return Report(json.dumps(data), collected_at(figures))

    def health(self):
        figures = read(False)
        findings = [*database_findings(figures.database), *mail_findings(figures.mail)]
        if not findings:
            return Verdict(Level.OK, "OK")
        worst = max((level for level, _ in findings), key=lambda level: level.value)
        return Verdict(worst, "; ".join(f"{SEVERITY[level]} - {text}" for level, text in findings))

    def metrics(self, version):
        figures = read(False)
        families = [family("zms_build_info", "The deployed version.", 1.0, [("version", version)])]
        if figures.database is not None:
            locks, threads = float(figures.database.lock_waits), float(figures.database.connections)
            families.append(family("zms_database_locks", "Lock requests that wait.", locks))
            families.append(family("zms_database_threads", "Open connections.", threads))
        if figures.mail is not None:
            families.append(family("zms_mail_queue_length", "Mails that wait to be sent.", float(figures.mail.queued)))
        return families


class WitWorld:
    def self_test(self):
        if version("2.25.00-muc47") != {"major": 2, "minor": 25, "patch": "00-muc47"}:
            raise Err("a version is not read")


def read(statistics):
    """Reads the figures. Raises the error of the exports if there are none."""
    try:
        figures = appointments.read_partial(statistics).figures
    except Err as error:
        logging.log(logging.Level.WARN, "status", error.value.value)
        raise Err(reports.Error_Internal(error.value.value)) from error
    if all(collection.succeeded_at is None for collection in figures.collections):
        raise Err(reports.Error_Unknown("no figures of the appointment system are known"))
    return figures


def collected_at(figures):
    """Returns when the oldest of the figures that this component reports were collected."""
    reported = {appointments.Section.DATABASE, appointments.Section.MAIL}
    times = [entry.succeeded_at for entry in figures.collections if entry.section in reported]
    return min((time for time in times if time is not None), default=float(figures.now.unix_seconds or 0))


def database(section):
    limit = section.connection_limit or 0
    ratio = section.connections / limit if limit else 0
    return {
        "nodeConnections": ratio,
        "nodeConnectionsPercent": round(ratio * 100),
        "clusterStatus": "ON" if section.cluster_ready else "OFF",
        "logbin": "ON" if section.replication_log else "OFF",
        "problems": "",
        "locks": section.lock_waits,
        "threads": section.connections,
    }


def mail(section):
    return {
        "queueCount": section.queued,
        "oldestSeconds": section.oldest_seconds or 0,
        "newestSeconds": section.newest_seconds or 0,
    }


def version(text):
    """Splits a version into its three parts, each a number where it is one."""
    parts = text.split(".", 2)
    if len(parts) != 3 or not all(part[:1].isdigit() for part in parts):
        parts = ["unknown", "0", "0"]
    numbers = [int(part) if part.isdigit() else part for part in parts]
    return dict(zip(("major", "minor", "patch"), numbers))


def legacy(data):
    """Spells locks, threads and the version as text, as the replaced server did."""
    for section, names in (("database", ("locks", "threads")), ("version", ("major", "minor", "patch"))):
        if section in data:
            data[section].update({name: str(data[section][name]) for name in names})
    return data


def database_findings(section):
    if section is None:
        yield Level.FATAL, "the figures of the database are not known"
    elif section.lock_waits > LOCKS:
        yield Level.WARNING, f"DB-Locks: {section.lock_waits}"


def mail_findings(section):
    if section is None:
        yield Level.FATAL, "the figures of mail are not known"
    elif (section.oldest_seconds or 0) > MAIL_SECONDS:
        yield Level.WARNING, f"oldest mail in the queue is {section.oldest_seconds}s old"


def family(name, help_text, value, labels=()):
    return Family(name, help_text, Kind.GAUGE, [Sample(list(labels), value)])
