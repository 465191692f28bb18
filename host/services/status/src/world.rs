//! The bindings of the status world, with an interface that a component need not export.

use bulkhead_runtime::capabilities::StoreData;
use bulkhead_runtime::slots::World;
use wasmtime::{Store, component::InstancePre};

#[allow(missing_docs)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../../wit/status",
        world: "bulkhead:status/status",
        exports: { default: async },
        with: {
            "wasi:logging": bulkhead_runtime::capabilities::bindings::wasi::logging,
            "bulkhead:status/appointments":
                crate::capabilities::appointments::bindings::bulkhead::status::appointments,
        },
    });
}

/// An interface that a component of the slot need not export.
#[allow(missing_docs)]
mod optional {
    wasmtime::component::bindgen!({
        inline: "
            package bulkhead:slot;
            world found {
                export bulkhead:status/findings@0.1.1;
            }
        ",
        path: "../../../wit/status",
        world: "bulkhead:slot/found",
        exports: { default: async },
    });
}

pub use self::bindings::exports::bulkhead::status::reports::{
    Error, Family, Kind, Level, Options, Report, Sample, Verdict, Wire,
};
use self::{
    bindings::{Status as Required, StatusIndices, exports::bulkhead::status::reports::Guest as Reports},
    optional::{Found, FoundIndices, exports::bulkhead::status::findings},
};

/// Name of the interface that a component need not export.
const FINDINGS: &str = "bulkhead:status/findings@0.1.1";

/// An instance of a status component.
pub struct Status {
    required: Required,
    found: Option<Found>,
}

/// A judgement of the appointment system's health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthJudgement {
    /// The worst finding's level.
    pub level: Level,
    /// The judgement in one line.
    pub text: String,
    /// The findings; `None` from a component that does not export them.
    pub findings: Option<Vec<NamedFinding>>,
}

/// A finding of a health judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFinding {
    /// Its kind, for programs.
    pub code: String,
    /// Its severity.
    pub level: Level,
    /// Its text for people.
    pub text: String,
}

impl Status {
    /// Returns the reports interface of the component.
    pub fn reports(&self) -> &Reports {
        self.required.bulkhead_status_reports()
    }

    /// Calls the component for its judgement, with findings where it exports them.
    ///
    /// # Errors
    /// When the call traps.
    pub async fn judge(
        &self,
        store: &mut Store<StoreData>,
    ) -> wasmtime::Result<Result<HealthJudgement, Error>> {
        let Some(found) = &self.found else {
            let verdict = self.reports().call_health(store).await?;
            return Ok(verdict.map(|Verdict { level, text }| HealthJudgement {
                level,
                text,
                findings: None,
            }));
        };
        let judged = found.bulkhead_status_findings().call_judge(store).await?;
        Ok(judged.map(HealthJudgement::from).map_err(Error::Internal))
    }
}

impl From<findings::Judgement> for HealthJudgement {
    fn from(findings::Judgement { severity, text, findings }: findings::Judgement) -> Self {
        let named =
            |findings::Finding { code, severity, text }| NamedFinding { code, level: level(severity), text };
        Self { level: level(severity), text, findings: Some(findings.into_iter().map(named).collect()) }
    }
}

/// Converts a severity.
fn level(severity: findings::Severity) -> Level {
    match severity {
        findings::Severity::Ok => Level::Ok,
        findings::Severity::Warning => Level::Warning,
        findings::Severity::Critical => Level::Critical,
        findings::Severity::Fatal => Level::Fatal,
    }
}

/// A linked component and the indices of its exports.
#[derive(Clone)]
pub struct Linked {
    component: InstancePre<StoreData>,
    required: StatusIndices,
    found: Option<FoundIndices>,
}

impl World for Status {
    const NAME: &'static str = "bulkhead:status/status@0.1.1";
    const EXPORTS: &'static [&'static str] = &["bulkhead:status/reports@0.1.1", "self-test"];
    type Linked = Linked;

    fn link(linked: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked> {
        let names_findings = linked.component().get_export_index(None, FINDINGS).is_some();
        Ok(Linked {
            required: StatusIndices::new(&linked)?,
            found: names_findings.then(|| FoundIndices::new(&linked)).transpose()?,
            component: linked,
        })
    }

    async fn instantiate(linked: &Self::Linked, store: &mut Store<StoreData>) -> wasmtime::Result<Self> {
        let instance = linked.component.instantiate_async(&mut *store).await?;
        let found = linked.found.as_ref().map(|found| found.load(&mut *store, &instance)).transpose()?;
        Ok(Self { required: linked.required.load(store, &instance)?, found })
    }

    async fn self_test(&self, store: &mut Store<StoreData>) -> wasmtime::Result<Result<(), String>> {
        self.required.call_self_test(store).await
    }
}
