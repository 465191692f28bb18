"""A status component: reports the figures of the appointment system, as the host has collected them.

Which figures are reported and what counts as a problem is up to this component: change `judge` and `report`.
"""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import reports
from wit_world.exports.reports import Family, Kind, Level, Options, Report, Sample, Verdict
from wit_world.imports import appointments
from wit_world.imports.appointments import Figures

# Mails that wait for longer are late, seconds.
LATE_MAIL_SECONDS = 900


def read(statistics: bool) -> Figures:
    try:
        return appointments.read_partial(statistics).figures
    except Err as error:
        raise Err(reports.Error_Unknown(error.value.value)) from None


def collected_at(figures: Figures) -> float:
    """Returns when the oldest of the figures were collected."""
    times = [one.succeeded_at for one in figures.collections if one.succeeded_at is not None]
    if not times:
        raise Err(reports.Error_Unknown("no figures have been collected yet"))
    return min(times)


def judge(figures: Figures) -> tuple[Level, str]:
    findings = []
    if figures.mail and (figures.mail.oldest_seconds or 0) > LATE_MAIL_SECONDS:
        findings.append((Level.WARNING, f"the oldest mail waits for {figures.mail.oldest_seconds} s"))
    for one in figures.collections:
        if one.error is not None:
            findings.append((Level.CRITICAL, f"{one.section.name.lower()}: {one.error}"))
    worst = max((level for level, _ in findings), key=lambda level: level.value, default=Level.OK)
    return worst, "; ".join(text for _, text in findings) or "all is well"


def report(figures: Figures, version: str) -> dict:
    data = {"version": version, "time": figures.now.text}
    if figures.processes:
        data["appointments"] = {"total": figures.processes.total, "confirmed": figures.processes.confirmed}
    if figures.mail:
        data["mail"] = {"queued": figures.mail.queued}
    return data


class Reports(exports.Reports):
    def status(self, options: Options) -> Report:
        figures = read(options.statistics)
        return Report(json.dumps(report(figures, options.version)), collected_at(figures))

    def health(self) -> Verdict:
        level, text = judge(read(False))
        return Verdict(level, text)

    def metrics(self, version: str) -> list[Family]:
        figures = read(True)
        families = [
            Family("zms_info", "The deployed system.", Kind.GAUGE, [Sample([("version", version)], 1.0)]),
        ]
        if figures.mail:
            queued = Sample([], float(figures.mail.queued))
            families.append(Family("zms_mail_queued", "Mails that wait.", Kind.GAUGE, [queued]))
        return families


class WitWorld:
    def self_test(self) -> None:
        section = appointments.Collection(appointments.Section.MAIL, 1.0, 0.1, "timeout", 1, 1)
        now = appointments.Moment("2026-08-21 14:05:00", 1)
        figures = Figures(now, None, None, None, None, None, None, [section])
        if judge(figures) != (Level.CRITICAL, "mail: timeout"):
            raise Err("a section that cannot be read is not reported")
