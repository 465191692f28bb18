//! `[apps.NAME]`: which components are served as apps, and where.

mod mount;
mod probe;
mod sticky;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::http::{HeaderName, HeaderValue};
use bulkhead_config::{
    formats,
    reader::Reader,
    secret::Secret,
    slots::{Limits, SlotId, SlotSettings},
    tables::{Context, ServiceTable},
};
use bulkhead_http::access_log::HOST;
use bulkhead_outgoing::{OutgoingLimits, OutgoingOrigin, read_origins};

pub use self::{mount::Mount, probe::Probe, sticky::Sticky};
use crate::spec::{self, NAME};

/// Longer than pauses of sound streams, shorter than a client waits for a dead one.
const STREAM_IDLE: Duration = Duration::from_secs(30);
/// Long enough for large downloads on slow lines.
const STREAM: Duration = Duration::from_secs(300);

/// `[apps]`: every app, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct AppsSettings {
    /// The apps.
    pub apps: Vec<Arc<AppSettings>>,
}

/// `[apps.NAME]`.
#[derive(Clone, Debug)]
pub struct AppSettings {
    /// The keys that are also those of `[slots.NAME]`.
    pub slot: SlotSettings,
    /// Where it is served.
    pub mount: Mount,
    /// Keys of callers; empty: everybody may call.
    pub api_keys: Vec<Secret>,
    /// Origins of pages that may call it from a browser; `*`: all.
    pub cors_origins: Vec<HeaderValue>,
    /// Largest request body, bytes.
    pub body_bytes: usize,
    /// Longest pause of a stream, once the response has begun.
    pub stream_idle: Duration,
    /// Longest time of a request with its streams.
    pub stream: Duration,
    /// The request that a version must answer before it may take calls.
    pub probe: Option<Probe>,
    /// Whether outgoing requests of a version that is probed are sent.
    pub probe_outgoing: bool,
    /// Fields of responses that are compared with a candidate's in shadow.
    pub shadow_headers: Vec<HeaderName>,
    /// What of a request decides which version of a canary answers it.
    pub sticky: Option<Sticky>,
    /// Origins that the component may send requests to.
    pub outgoing: Vec<OutgoingOrigin>,
    /// What its outgoing requests may use.
    pub outgoing_limits: OutgoingLimits,
    /// What the component reads through `wasi:config/store` only.
    pub secrets: BTreeMap<String, Secret>,
}

impl ServiceTable for AppsSettings {
    const NAME: &'static str = NAME;
    const CHOSEN_NAMES: &'static [&'static str] =
        &["apps", "apps.*.config", "apps.*.secrets", "apps.*.outgoing.*.headers"];
    const HAS_SLOTS: bool = true;

    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self {
        let read = |r: &mut Reader, name: &str| AppSettings::read(r, name, context);
        let apps: Vec<_> = reader.named_tables(NAME, "NAME", read).into_iter().map(|(_, app)| app).collect();
        for (index, app) in apps.iter().enumerate() {
            let same = apps.iter().take(index).find(|earlier| earlier.mount.is_same(&app.mount));
            if let Some(earlier) = same {
                let text = format!(
                    "has the mount of apps.{}; give one of them another path_prefix, host or listen",
                    earlier.id()
                );
                reader.problem(&format!("apps.{}", app.id()), text);
            }
        }
        report_listeners(&apps, context);
        Self { apps: apps.into_iter().map(Arc::new).collect() }
    }
}

/// Reports every listener that apps have of their own, each once: apps may share one.
fn report_listeners(apps: &[AppSettings], context: &mut Context<'_>) {
    let mut reported = Vec::new();
    for app in apps {
        let Some(address) = app.mount.listen else { continue };
        if address.port() == 0 || !reported.contains(&address) {
            reported.push(address);
            context.opens(NAME, app.slot.key("listen"), address);
        }
    }
}

impl AppSettings {
    /// Returns the id of its slot, which is its name.
    pub const fn id(&self) -> SlotId {
        self.slot.id()
    }

    /// Returns how long a request may take at most, with the wait for a permit.
    pub fn longest_call(&self) -> Duration {
        let Limits { queue_wait, deadline, .. } = self.slot.limits;
        queue_wait.saturating_add(deadline.max(self.stream))
    }

    /// Returns whether the slot of an app with these settings goes on under `other` ones: a reload applies the rest while it
    /// runs. Else another slot takes its place.
    pub fn continues_as(&self, other: &Self) -> bool {
        let (slot, wanted) = (&self.slot, &other.slot);
        let Limits { cpu_ms, deadline, response_bytes, .. } = wanted.limits;
        let limits = Limits { cpu_ms, deadline, response_bytes, ..slot.limits.clone() };
        limits == wanted.limits
            && slot.component == wanted.component
            && slot.models == wanted.models
            && slot.keyvalue == wanted.keyvalue
            && slot.watch == wanted.watch
            && self.secrets == other.secrets
            && self.outgoing == other.outgoing
            && self.outgoing_limits == other.outgoing_limits
            && self.probe == other.probe
            && self.probe_outgoing == other.probe_outgoing
    }

    fn read(r: &mut Reader, name: &str, context: &mut Context<'_>) -> Self {
        let id = app_id(name, context).unwrap_or_else(|text| {
            r.problem("", text);
            // All other problems of the app are reported, too.
            SlotId::new(NAME)
        });
        let slot = context.slot(r, spec::slot(id), NAME);
        let secrets = r.secrets("secrets", "What the component reads through `wasi:config/store` only");
        for name in secrets.keys().filter(|name| slot.config.contains_key(*name)) {
            r.problem(&format!("secrets.{name}"), "is a key of config too; give it once");
        }
        let mount = Mount::read(r, context);
        Self {
            slot,
            mount,
            api_keys: r.key("api_keys", "Keys of callers; without one everybody may call").secrets(1),
            cors_origins: r
                .key("cors_origins", "Origins of pages that may call from a browser; `*`: all")
                .list("origins", origin)
                .unwrap_or_default(),
            body_bytes: r
                .key("body_bytes", "Largest request body")
                .unit("bytes")
                .default_text("server.body_bytes")
                .optional_integer(0..=1 << 40)
                .unwrap_or_else(|| context.body_bytes()),
            stream_idle: r
                .key("stream_idle_ms", "Longest pause of a response once it has begun")
                .millis(1..=86_400_000, STREAM_IDLE),
            stream: r
                .key("stream_ms", "Longest time of a request with its streams, and of the work after them")
                .millis(1..=86_400_000, STREAM),
            probe: r
                .key("probe", "Request that a version must answer below 500 before it takes calls")
                .optional("GET /path", Probe::parse),
            probe_outgoing: r
                .key("probe_outgoing", "Whether outgoing requests of a version that is probed are sent")
                .flag(false),
            shadow_headers: r
                .key("shadow_headers", "Fields of responses that are compared with a candidate's in shadow")
                .list("header names", header_name)
                .unwrap_or_default(),
            sticky: r
                .key("sticky", "What decides which version of a canary answers a request")
                .optional("cookie:NAME, header:NAME or client", Sticky::parse),
            outgoing: read_origins(r),
            outgoing_limits: OutgoingLimits::read(r),
            secrets,
        }
    }
}

/// Returns the id of an app. Its name is the service of its requests in the log and in metrics, where these two have a meaning.
fn app_id(name: &str, context: &Context<'_>) -> Result<SlotId, String> {
    if [NAME, HOST].contains(&name) {
        return Err("is a name that the log and metrics of the host use; choose another one".to_owned());
    }
    context.slot_id(NAME, name)
}

fn header_name(text: &str) -> Result<HeaderName, String> {
    text.parse().map_err(|_| format!("must be the name of a header field, not `{text}`"))
}

fn origin(text: &str) -> Result<HeaderValue, String> {
    let origin = formats::web_origin(text)?;
    HeaderValue::from_str(&origin).map_err(|_| format!("must be an origin, not `{text}`"))
}
