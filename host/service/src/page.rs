//! What the start page of `--demo` shows of a service.

/// The entry of a service on the start page of `--demo`, which also lists services that are off.
#[derive(Clone, Debug, Default)]
pub struct PageEntry {
    /// Prefix of the service's paths, after that of `[services.NAME]`; empty or `/something`.
    pub base_path: String,
    /// Path of its API documentation, relative to both.
    pub docs: Option<&'static str>,
    /// What the service does, in a few words.
    pub about: &'static str,
    /// The form to try it.
    pub form: Option<PageForm>,
    /// The guide for its users.
    pub guide: Option<PageGuide>,
}

/// A form of the start page that calls a service and shows the answer.
#[derive(Clone, Copy, Debug)]
pub struct PageForm {
    /// A hidden `section` in HTML, whose `id` is the name of the service. It has the elements `form` and `.answer`.
    pub html: &'static str,
    /// A module in JavaScript, which may import `../call.js` and `../dom.js`. Its function `start` gets the description of
    /// the running service; `rows`, if there is one, returns more facts for the list of services.
    pub script: &'static str,
}

/// A guide that the start page links to.
#[derive(Clone, Copy, Debug)]
pub struct PageGuide {
    /// Its title.
    pub title: &'static str,
    /// Its text, in Markdown.
    pub text: &'static str,
}
