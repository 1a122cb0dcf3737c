//! Which errors an operator means.

use steadfast_store::{ErrorFilter, ErrorState};

use super::{ErrorId, book::refuse};
use crate::error::Error;

/// Which errors an operator means.
#[expect(clippy::large_enum_variant, reason = "made once and moved once")]
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// These.
    Ids(Vec<ErrorId>),
    /// Those that match. At least one thing must be asked of them.
    Matching(ErrorFilter),
    /// All that can be meant.
    Everything,
}

impl Selection {
    /// The filter for those among them in one of `states` that nobody has acknowledged. Errors that
    /// are named are meant whatever they are.
    pub(crate) fn filter(self, states: &[ErrorState]) -> Result<ErrorFilter, Error> {
        let open = ErrorFilter {
            states: states.to_vec(),
            acknowledged: Some(false),
            ..ErrorFilter::default()
        };
        match self {
            Self::Ids(ids) if ids.is_empty() => {
                refuse(vec!["ids: at least one error must be named".to_owned()])?;
                Ok(open)
            }
            Self::Ids(ids) => {
                let ids = ids.into_iter().map(|id| (id.run, id.subject)).collect();
                Ok(ErrorFilter { ids, ..ErrorFilter::default() })
            }
            Self::Matching(filter) if filter == ErrorFilter::default() => {
                let fault = "this takes every error of the namespace: ask for something of them, or \
                             say so with all";
                refuse(vec![fault.to_owned()])?;
                Ok(open)
            }
            Self::Matching(mut filter) => {
                if filter.states.is_empty() {
                    filter.states = open.states;
                }
                filter.acknowledged = filter.acknowledged.or(open.acknowledged);
                Ok(filter)
            }
            Self::Everything => Ok(open),
        }
    }
}
