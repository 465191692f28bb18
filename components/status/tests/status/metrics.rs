//! Tests of metric families and their values.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_status::metrics::{Family, Kind, families};
use bulkhead_status_figures::{Figures, Section};

use super::{NOW, clean, golden, unknown};

/// Returns each `name{label=value}` with its value.
fn series(figures: &Figures) -> BTreeMap<String, f64> {
    let samples = families(figures, "2.25.00").into_iter().flat_map(|family| {
        family.samples.into_iter().map(move |sample| {
            let labels = sample.labels.iter().map(|(name, value)| format!("{name}={value}"));
            (format!("{}{{{}}}", family.name, labels.collect::<Vec<_>>().join(",")), sample.value)
        })
    });
    samples.collect()
}

#[test]
fn known_figures_have_known_series() {
    let series = series(&golden());
    for (name, value) in [
        ("zms_build_info{version=2.25.00}", 1.0),
        ("zms_processes{status=confirmed}", 2.0),
        ("zms_processes{status=preconfirmed}", 1.0),
        ("zms_processes{status=other}", 1.0),
        ("zms_processes_confirmed{}", 2.0),
        ("zms_processes_with_external_user_id{}", 3.0),
        ("zms_processes_confirmed_with_external_user_id{}", 2.0),
        ("zms_processes_since_midnight{}", 5.0),
        ("zms_processes_last7days{}", 6.0),
        ("zms_processes_last_insert_timestamp_seconds{}", NOW as f64),
        ("zms_slots_outdated{}", 1.0),
        ("zms_slots_free{}", 9.0),
        ("zms_slots_last_calculation_timestamp_seconds{}", 1_459_461_600.0),
        ("zms_mail_queue_length{}", 2.0),
        ("zms_mail_queue_oldest_seconds{}", 480.0),
        ("zms_mail_queue_newest_seconds{}", -100.0),
        ("zms_sources_dldb_last_import_timestamp_seconds{}", 1_649_762_565.0),
        ("zms_useraccounts_active_sessions{}", 1.0),
        ("zms_department_active_sessions{department_id=1}", 1.0),
        ("zms_department_active_sessions{department_id=2}", 0.0),
        ("zms_database_connection_ratio{}", 0.01),
        ("zms_database_cluster_ready{}", 0.0),
        ("zms_database_problems{}", 2.0),
        ("zms_collector_success{section=processes}", 1.0),
        ("zms_collector_duration_seconds{section=mail}", 0.25),
        ("zms_collector_attempts_total{section=mail,result=success}", 3.0),
        ("zms_collector_attempts_total{section=mail,result=failure}", 0.0),
    ] {
        assert_eq!(series.get(name), Some(&value), "{name}");
    }
    let statuses: f64 =
        series.iter().filter(|(name, _)| name.starts_with("zms_processes{")).map(|(_, value)| value).sum();
    assert_eq!(statuses, 10.0);
}

#[test]
fn what_is_empty_is_zero() {
    let series = series(&clean());
    for name in [
        "zms_processes{status=confirmed}",
        "zms_processes{status=other}",
        "zms_processes_since_midnight{}",
        "zms_slots_free{}",
        "zms_slots_outdated_oldest_seconds{}",
        "zms_mail_queue_oldest_seconds{}",
        "zms_useraccounts_active_sessions{}",
    ] {
        assert_eq!(series.get(name), Some(&0.0), "{name}");
    }
    assert!(!series.contains_key("zms_processes_last_insert_timestamp_seconds{}"));
}

#[test]
fn what_is_not_known_has_no_series() {
    let mut figures = Figures { collections: clean().collections, ..unknown() };
    for collection in &mut figures.collections {
        match collection.section {
            Section::Mail => collection.error = Some("timeout".into()),
            Section::Slots => {
                (collection.succeeded_at, collection.duration_seconds) = (None, None);
                (collection.successes, collection.failures) = (0, 0);
            }
            _ => {}
        }
    }
    let series = series(&figures);
    assert_eq!(series["zms_collector_success{section=database}"], 1.0);
    for section in ["mail", "slots"] {
        assert_eq!(series[&format!("zms_collector_success{{section={section}}}")], 0.0);
    }
    assert!(!series.contains_key("zms_collector_last_success_timestamp_seconds{section=slots}"));
    let known = ["zms_build_info", "zms_collector"];
    assert!(series.keys().all(|name| known.iter().any(|known| name.starts_with(known))), "{series:?}");
}

#[test]
fn ages_of_mails_grow_with_time() {
    let mut figures = golden();
    for collection in &mut figures.collections {
        collection.succeeded_at = Some(NOW as f64 - 100.0);
    }
    let series = series(&figures);
    assert_eq!(series["zms_mail_queue_oldest_seconds{}"], 580.0);
    assert_eq!(series["zms_mail_queue_newest_seconds{}"], 0.0);
}

#[test]
fn missing_column_has_no_series() {
    let mut figures = golden();
    figures.slots.as_mut().unwrap().outdated = None;
    figures.processes.as_mut().unwrap().external_user_ids = None;
    let (series, whole) = (series(&figures), series(&golden()));
    let missing: Vec<&str> =
        whole.keys().filter(|name| !series.contains_key(*name)).map(String::as_str).collect();
    assert_eq!(
        missing,
        [
            "zms_processes_confirmed_with_external_user_id{}",
            "zms_processes_with_external_user_id{}",
            "zms_slots_outdated_oldest_seconds{}",
            "zms_slots_outdated{}",
        ]
    );
}

#[test]
fn families_are_well_formed() {
    let families = families(&golden(), "1.0.0");
    let names: BTreeSet<&str> = families.iter().map(|family| family.name).collect();
    assert_eq!(names.len(), families.len());
    for Family { name, help, kind, samples } in &families {
        assert!(help.ends_with('.') && !samples.is_empty(), "{name}");
        assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
        assert!(!name.ends_with("_count") && !name.ends_with("_sum"), "{name}");
    }
}
