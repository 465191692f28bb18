//! Names the crates of the services of this binary.

mod deprecated;
pub mod list;
mod start_page;

pub use bulkhead_apps_service as apps;
pub use bulkhead_captcha_service as captcha;
#[cfg(feature = "inference")]
pub use bulkhead_embedding_service as embedding;
pub use bulkhead_status_service as status;
#[cfg(feature = "inference")]
pub use bulkhead_tickets_service as tickets;
#[cfg(feature = "inference")]
pub use bulkhead_tickets_service::answer;
#[cfg(feature = "inference")]
pub use bulkhead_tickets_service::triage;
