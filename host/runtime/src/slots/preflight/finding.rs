//! Why a component is refused.

use std::fmt;

/// Largest count that a refusal shows.
const COUNT_SHOWN: u64 = 1_000_000;

/// A reason to refuse a component.
#[derive(Debug, PartialEq, Eq)]
pub enum PreflightFinding {
    /// It is larger than the host reads.
    TooLarge {
        /// Its size, bytes.
        bytes: usize,
        /// The cap, bytes.
        cap: usize,
    },
    /// It is not a component, or not complete.
    NotAComponent(String),
    /// It has more of something than a call may have.
    TooMany {
        /// What is counted.
        what: &'static str,
        /// The count; nested instantiations count as often as they are made.
        count: u64,
        /// The limit.
        limit: u64,
        /// The key that raises it; `None` where no key does.
        key: Option<&'static str>,
    },
    /// It is a component for another kind of host.
    OtherKind {
        /// The kind, such as `wasi:http`.
        kind: &'static str,
        /// The export that shows it.
        export: String,
    },
    /// It is built for another release of the world's package, which has other interfaces.
    OtherRelease {
        /// The package.
        package: String,
        /// The release that it is built for.
        found: String,
        /// The release that the slot serves.
        served: String,
        /// The export that shows it.
        export: String,
    },
    /// It lacks an export of the world.
    MissingExport {
        /// The name in the world.
        wanted: String,
        /// An export of the component that is one edit away from it.
        nearest: Option<String>,
    },
    /// It has an export of another version than the world's.
    OtherExport {
        /// The name in the world.
        wanted: String,
        /// The name in the component.
        found: String,
    },
    /// It exports a function of the world with other types.
    OtherFunction {
        /// The function, with its interface.
        name: String,
        /// Its signature in the component.
        found: String,
        /// Its signature in the world.
        wanted: String,
    },
    /// It imports an interface that the slot is not granted.
    Ungranted {
        /// The name in the component.
        wanted: String,
        /// The offered interface, with its version.
        offered: String,
        /// The configuration line that would grant it.
        grant: String,
    },
    /// It imports an interface of a version that is not offered.
    OtherVersion {
        /// The name in the component.
        wanted: String,
        /// The offered interface, with its version.
        offered: String,
    },
    /// It imports an interface that the host does not offer.
    Unknown {
        /// The name in the component.
        wanted: String,
        /// An offered interface that is one edit away from it.
        nearest: Option<String>,
    },
}

impl fmt::Display for PreflightFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nearest = |f: &mut fmt::Formatter<'_>, nearest: &Option<String>| match nearest {
            Some(name) => write!(f, "; the nearest is {name}"),
            None => Ok(()),
        };
        match self {
            Self::TooLarge { bytes, cap } => {
                write!(f, "it has {bytes} bytes, over the cap of {cap}; raise sandbox.component_bytes")
            }
            Self::NotAComponent(why) => write!(f, "it is not a WebAssembly component: {why}"),
            Self::TooMany { what, count, limit, key } => {
                let (more, count) =
                    if *count > COUNT_SHOWN { ("more than ", COUNT_SHOWN) } else { ("", *count) };
                write!(f, "it has {more}{count} {what}, over the limit of {limit}; reduce the number")?;
                key.map_or(Ok(()), |key| write!(f, " or raise {key}"))
            }
            Self::OtherKind { kind, export } => write!(
                f,
                "this is a {kind} component (it exports {export}), which this slot does not take; build it for the \
                 slot's world"
            ),
            Self::OtherRelease { package, found, served, export } => {
                write!(f, "built for {package} {found}; this host serves {served} (it exports {export})")
            }
            Self::MissingExport { wanted, nearest: name } => {
                write!(f, "it does not export {wanted}")?;
                nearest(f, name)
            }
            Self::OtherExport { wanted, found } => {
                write!(f, "it exports {found}, this slot takes {wanted}; build it against that version")
            }
            Self::OtherFunction { name, found, wanted } => {
                write!(f, "it exports {name} as {found}; the world has {wanted}")
            }
            Self::Ungranted { wanted, offered, grant } => {
                write!(f, "it imports {wanted}, offered as {offered} but not granted; grant it with {grant}")
            }
            Self::OtherVersion { wanted, offered } => {
                write!(f, "it imports {wanted}, this host offers {offered}; build it against that version")
            }
            Self::Unknown { wanted, nearest: name } => {
                write!(f, "it imports {wanted}, not offered by this host")?;
                nearest(f, name)
            }
        }
    }
}
