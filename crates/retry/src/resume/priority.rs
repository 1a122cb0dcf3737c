//! The priority that a policy gets when nobody gives it one: the more specific, the higher.

use super::draft::Draft;

/// 100 for an action, else 50 for a kind of action; 100 for a long piece of the cause, 50 for a
/// short one; 50 for a flow. From 50 to 250.
#[must_use]
pub fn priority(draft: &Draft) -> i64 {
    let cause = match draft.error_substring.as_deref().map(|text| text.chars().count()) {
        None | Some(0) => 0,
        Some(LONG..) => 100,
        Some(_) => 50,
    };
    let action = match (&draft.action, &draft.action_type) {
        (Some(_), _) => 100,
        (None, Some(_)) => 50,
        (None, None) => 0,
    };
    let flow = if draft.flow.is_some() { 50 } else { 0 };
    cause + action + flow
}

/// From this many characters a piece of the cause is taken to be telling.
const LONG: usize = 11;
