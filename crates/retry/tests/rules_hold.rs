//! What must hold for every list of rules, tried on lists drawn at random over a small world.

use proptest::prelude::*;
use steadfast_retry::{
    Action, Class, CodePattern, Decision, Draft, Failure, Limits, Matcher, Occasion, Place, Policy,
    Reason, Rule, Seed, Signals, State, TimeoutKind, Timestamp, decide,
    explain::{Lint, unreachable_rules},
    pattern::NamePattern,
};

/// Criteria over a small world: types A, AB, B and one nobody names; three codes; two places.
fn criteria() -> impl Strategy<Value = Matcher> {
    let name = |names: &'static [&'static str]| {
        prop::option::of(prop::sample::select(names))
            .prop_map(|name| name.map(|name| NamePattern::new(name).expect("a pattern")))
    };
    let code = prop::option::of(prop::sample::select(vec!["429", "5xx", "503"]));
    let class = prop::option::of(prop::sample::select(vec![Class::Throttle, Class::Unknown]));
    (name(&["A", "AB", "B", "A*", "*", "?"]), code, class, name(&["Charge", "C*"])).prop_map(
        |(error_type, code, class, activity)| Matcher {
            error_type,
            code: code.map(CodePattern::new),
            class,
            activity,
            ..Matcher::default()
        },
    )
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let action = prop::sample::select(vec![Action::Fail, Action::Park, Action::Retry]);
    let max = prop::option::of(1..4_u32);
    prop::collection::vec((criteria(), action, max), 0..6).prop_map(|parts| {
        let rule = |(when, action, max): (Matcher, Action, Option<u32>)| {
            let mut rule = Rule::ending(when, action);
            rule.then.limits = Limits { max_attempts: max, ..Limits::default() };
            rule
        };
        parts.into_iter().map(rule).collect()
    })
}

/// Every failure of the small world.
fn world() -> Vec<(Failure<'static>, Place<'static>)> {
    let mut world = Vec::new();
    for error_type in [None, Some("A"), Some("AB"), Some("AC"), Some("B"), Some("Z"), Some("Zed")] {
        for code in [None, Some("429"), Some("503"), Some("500"), Some("404")] {
            for class in [None, Some(Class::Throttle), Some(Class::Unknown), Some(Class::Data)] {
                for activity in ["Charge", "Cancel", "Other"] {
                    let failure = Failure { error_type, code, class, ..Failure::default() };
                    world.push((failure, Place { activity, ..Place::default() }));
                }
            }
        }
    }
    world
}

fn compiled(rules: Vec<Rule>) -> Policy {
    Policy::new(Draft { rules, ..Draft::default() }).expect("valid")
}

/// The rule that decides, with these rules already used up.
fn decider(policy: &Policy, spent: &[bool], failure: &Failure<'_>, place: Place<'_>) -> Decision {
    let used = policy.rules().iter().zip(spent).filter(|(_, spent)| **spent);
    let in_rules = used.map(|(placed, _)| (placed.id, 1_000)).collect();
    let state = State { in_rules, ..State::default() };
    let signals = Signals { place, ..Signals::default() };
    decide(Some(policy), &state, failure, &signals, Timestamp::default(), Seed::new(&["w"]))
}

proptest! {
    #[test]
    fn swapping_two_disjoint_rules_changes_nothing(rules in rules()) {
        let world = world();
        let takes = |rule: &Rule, (failure, place): &(Failure<'_>, Place<'_>)| {
            rule.when.matches(failure, &Occasion { place: *place, ..Occasion::default() })
        };
        let before = compiled(rules.clone());
        for at in 1..rules.len() {
            let (one, other) = (&rules[at - 1], &rules[at]);
            if world.iter().any(|case| takes(one, case) && takes(other, case)) {
                continue;
            }
            let mut swapped = rules.clone();
            swapped.swap(at - 1, at);
            let after = compiled(swapped);
            for (failure, place) in &world {
                let plain = |policy: &Policy| {
                    let decision = decider(policy, &[], failure, *place);
                    let rule = decision.why().rule.map(|rule| &policy.rules()[rule.index].rule);
                    (std::mem::discriminant(&decision), decision.retry_at(), rule.cloned())
                };
                prop_assert_eq!(plain(&before), plain(&after));
            }
        }
    }

    #[test]
    fn every_failure_gets_a_decision(
        rules in rules(),
        attempt in any::<u32>(),
        now in any::<i64>(),
        first in any::<i64>(),
        kind in prop::option::of(prop::sample::select(TimeoutKind::ALL.to_vec())),
        flags in any::<[bool; 4]>(),
    ) {
        let policy = compiled(rules).limited(Limits::attempts(attempt / 2));
        let state = State::at_attempt(attempt, Timestamp(first));
        let signals = Signals {
            cancel_requested: flags[0],
            paused: flags[1],
            deadline: flags[2].then_some(Timestamp(first)),
            ..Signals::default()
        };
        for (failure, _) in world().iter().step_by(7) {
            let failure = Failure { timeout: kind, non_retryable: flags[3], ..*failure };
            let decide_once = || {
                decide(Some(&policy), &state, &failure, &signals, Timestamp(now), Seed::new(&["p"]))
            };
            let decision = decide_once();
            prop_assert_eq!(decision, decide_once());
            if let Decision::RetryAt { at, .. } = decision {
                prop_assert!(at >= Timestamp(now));
                prop_assert!(!flags.iter().take(2).any(|flag| *flag) && !flags[3]);
            }
            prop_assert!(!flags[0] || decision.why().reason == Reason::CancelRequested);
        }
    }

    #[test]
    fn the_lint_finds_exactly_the_rules_that_never_decide(rules in rules()) {
        let policy = compiled(rules);
        let count = policy.rules().len();
        let mut reached = vec![false; count];
        for (failure, place) in world() {
            for bits in 0..1_u32 << count {
                let spent: Vec<bool> = (0..count).map(|rule| bits >> rule & 1 == 1).collect();
                let rule = decider(&policy, &spent, &failure, place).why().rule;
                if let Some(rule) = rule {
                    reached[rule.index] = true;
                }
            }
        }
        let lints = unreachable_rules(&policy);
        let claimed = |rule: usize| lints.iter().any(|lint| {
            matches!(lint, Lint::Unreachable { rule: claimed, .. } if *claimed == rule + 1)
        });
        for (rule, reached) in reached.iter().enumerate() {
            let contradicts = contradictory(&policy.rules()[rule].rule.when);
            prop_assert!(!(claimed(rule) && *reached), "rule {} is reached", rule + 1);
            prop_assert!(
                claimed(rule) || *reached || contradicts || covered_together(&policy, rule),
                "rule {} is never reached", rule + 1
            );
        }
    }
}

/// A matcher that the small world has no failure for; the lint does not look for those.
fn contradictory(when: &Matcher) -> bool {
    !world().iter().any(|(failure, place)| {
        when.matches(failure, &Occasion { place: *place, ..Occasion::default() })
    })
}

/// Whether it takes two earlier rules to keep a rule from being reached; the lint compares pairs.
fn covered_together(policy: &Policy, rule: usize) -> bool {
    let rules = policy.rules();
    let takes = |index: usize, (failure, place): &(Failure<'_>, Place<'_>)| {
        let occasion = Occasion { place: *place, ..Occasion::default() };
        rules[index].rule.when.matches(failure, &occasion)
    };
    let mine: Vec<_> = world().into_iter().filter(|case| takes(rule, case)).collect();
    let mut lasting = (0..rule).filter(|index| !rules[*index].rule.then.can_be_spent());
    !lasting.any(|earlier| mine.iter().all(|case| takes(earlier, case)))
}
