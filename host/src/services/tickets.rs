//! What is counted of the ticket service, whose slots are asked in `triage` and `answer`.

pub mod metrics;
