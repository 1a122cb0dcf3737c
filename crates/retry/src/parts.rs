//! A failure in parts, as somebody tells one that has not happened.

use serde::{Deserialize, Serialize};

use crate::{
    code::Class,
    failure::{Failure, TimeoutKind},
};

/// A failure in parts.
///
/// ```
/// # use steadfast_retry::FailureParts;
/// let parts: FailureParts = serde_json::from_str(r#"{"type": "Http", "code": "503"}"#)?;
/// assert_eq!(parts.failure().class().name(), "transient");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct FailureParts {
    /// The author's name for it.
    #[serde(rename = "type")]
    pub error_type: Option<String>,
    /// What it says.
    pub message: String,
    /// `429`, `grpc:UNAVAILABLE`, `ECONNRESET`.
    pub code: Option<String>,
    /// What its author says it is.
    pub class: Option<Class>,
    /// Which clock ran out, if one did.
    pub timeout: Option<TimeoutKind>,
    /// The author says that trying again cannot help.
    pub non_retryable: bool,
}

impl FailureParts {
    /// The failure as a rule sees it.
    #[must_use]
    pub fn failure(&self) -> Failure<'_> {
        Failure {
            error_type: self.error_type.as_deref(),
            message: &self.message,
            code: self.code.as_deref(),
            class: self.class,
            timeout: self.timeout,
            non_retryable: self.non_retryable,
            ..Failure::default()
        }
    }
}
