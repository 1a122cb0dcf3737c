//! What an operator asks of a run whose code fails over and over.

/// An operator lets a parked workflow task be tried once more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResumeTask {
    /// The same request may come twice; empty for none.
    pub request_id: String,
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
}
