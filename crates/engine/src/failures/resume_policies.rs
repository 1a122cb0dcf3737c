//! The resume policies of a namespace: no two with one name, no two for the same errors.

use steadfast_retry::resume::{Draft, Fault, Invalid, Policy};

/// What came of loading policies, one entry each, in their order.
pub type Loaded = Vec<Result<Policy, Invalid>>;

/// Checks a draft against the policies that there are, and makes a policy of it. `keeps` is the id of
/// the policy that it takes the place of.
pub(super) fn checked(
    draft: Draft,
    others: &[Policy],
    keeps: Option<&str>,
    random: u128,
) -> Result<Policy, Invalid> {
    let policy = draft.create(random)?;
    let mut others = others.iter().filter(|other| Some(other.id.as_str()) != keeps);
    let same = others.find(|other| {
        other.id == policy.id || other.name == policy.name || criteria(other) == criteria(&policy)
    });
    match same {
        None => Ok(policy),
        Some(other) => Err(Invalid { faults: vec![Fault::Duplicate { with: other.name.clone() }] }),
    }
}

/// Replaces or adds to `policies`; those that are wrong are left out and said so.
pub(super) fn load(
    policies: &mut Vec<Policy>,
    drafts: Vec<Draft>,
    mut random: impl FnMut() -> u128,
) -> Loaded {
    let mut results = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let replaced = draft.id.clone().filter(|id| policies.iter().any(|it| it.id == *id));
        let result = checked(draft, policies, replaced.as_deref(), random());
        if let Ok(policy) = &result {
            policies.retain(|other| other.id != policy.id);
            policies.push(policy.clone());
        }
        results.push(result);
    }
    results
}

/// The policy as it is written, so that it can be read back.
pub(super) fn draft_of(policy: &Policy) -> Draft {
    // What was made from a draft can be written as one: they share their fields.
    serde_json::to_value(policy).and_then(serde_json::from_value).unwrap_or_default()
}

type Criteria<'a> = [Option<&'a str>; 4];

fn criteria(policy: &Policy) -> Criteria<'_> {
    [
        policy.error_substring.as_deref(),
        policy.flow.as_deref(),
        policy.action.as_deref(),
        policy.action_type.as_deref(),
    ]
}
