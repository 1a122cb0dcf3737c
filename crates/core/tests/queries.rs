//! How a query reaches the workflow's code.

use steadfast_core::QueryRoute;
use steadfast_proto::enums::QueryRejectCondition as Condition;

use crate::common::World;

/// A script, and the route of a query after it.
#[test]
fn a_query_sees_what_came_before_it() {
    let cases = [
        ("a first task waits", "0 start Order"),
        ("a delayed start", "0 start Order delay=60s"),
        ("the first task is under way", "0 start Order\n0 take-task"),
        ("nothing is under way", "0 run Order timer(t1,1h)"),
        ("a task waits", "0 run Order timer(t1,1h)\n1 signal s"),
        ("a task is under way", "0 run Order timer(t1,1h)\n1 signal s\n1 take-task"),
        ("it is closed", "0 run Order done(ok)"),
        ("it was ended before it ran", "0 start Order\n0 terminate enough"),
        (
            "its task fails over and over",
            "0 start Order
             0 take-task
             0 fail-task nondeterminism one
             0 take-task
             0 fail-task nondeterminism two",
        ),
    ];
    let route = |(what, script): (&str, &str)| {
        let world = World::default().play(script);
        format!("{what:<30} {:?}", world.story().run.query_route(Condition::None))
    };
    insta::assert_snapshot!(cases.map(route).join("\n"), @r"
    a first task waits             WithTask
    a delayed start                WithTask
    the first task is under way    WithTask
    nothing is under way           Direct
    a task waits                   WithTask
    a task is under way            WithTask
    it is closed                   Direct
    it was ended before it ran     NeverRan
    its task fails over and over   TaskFailing
    ");
}

#[test]
fn a_caller_may_want_no_answer_from_closed_runs() {
    let route = |command: &str, condition| {
        let world = World::default().play(&format!("0 run Order {command}"));
        matches!(world.story().run.query_route(condition), QueryRoute::Rejected(_))
    };
    for (command, not_open, not_clean) in [
        ("timer(t1,1h)", false, false),
        ("done(ok)", true, false),
        ("fail(boom)", true, true),
        ("cancelled", true, true),
    ] {
        assert_eq!(route(command, Condition::NotOpen), not_open, "{command}");
        assert_eq!(route(command, Condition::NotCompletedCleanly), not_clean, "{command}");
        assert!(!route(command, Condition::None), "{command}");
    }
}
