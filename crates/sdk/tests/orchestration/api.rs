//! What else an orchestration can do: events, races, other orchestrations, new runs, cancellation.

use steadfast::orchestration::{
    ActivityContext, ActivityRegistry, ClientError, Either2, OrchestrationContext,
    OrchestrationRegistry, OrchestrationStatus,
};

use super::rig::{ALWAYS, Flaky, LONG, ONE, Stage, count, listing, ms, nap};

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Echo", |_: ActivityContext, input: String| async move { Ok(input) })
        .register("Slow", |_: ActivityContext, input: String| async move {
            nap(ms(60_000)).await;
            Ok(input)
        })
        .build()
}

#[tokio::test(start_paused = true)]
async fn x_06_x_07_x_09_only_calls_have_a_variant_with_retry() {
    let sources = [
        include_str!("../../src/orchestration/context.rs"),
        include_str!("../../src/orchestration/combine.rs"),
        include_str!("../../src/orchestration/retry.rs"),
    ];
    let mut found: Vec<&str> = sources
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| {
            line.trim_start()
                .strip_prefix("pub async fn ")
                .or_else(|| line.trim_start().strip_prefix("pub fn "))
        })
        .filter_map(|line| line.split(['(', '<']).next())
        .filter(|name| name.contains("retry"))
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "schedule_activity_with_retry",
            "schedule_activity_with_retry_typed",
            "schedule_sub_orchestration_with_retry",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn x_08_a_child_that_fails_is_not_called_again_by_a_plain_call() {
    let orchestrations = OrchestrationRegistry::builder()
        .register("Child", |_: OrchestrationContext, _: String| async {
            Err("the child fails".to_owned())
        })
        .register("Parent", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_sub_orchestration_with_id("Child", "child-1", input).await
        })
        .build();
    let stage = Stage::new(&activities(), orchestrations).await;
    stage.start("Parent", "x").await;
    assert_eq!(stage.result().await, Err("the child fails".to_owned()));
    insta::assert_snapshot!(listing(&stage.events(1).await), @r#"
    [1] OrchestrationStarted { name: "Parent", input: "x" }
    [2] SubOrchestrationScheduled { name: "Child", instance: "child-1", input: "x" }
    [3] SubOrchestrationFailed { source_event_id: 2, error: "the child fails" }
    [4] OrchestrationFailed { error: "the child fails" }
    "#);
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn x_09_a_detached_orchestration_outlives_its_starter() {
    let orchestrations = OrchestrationRegistry::builder()
        .register("Child", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_timer(ms(1000)).await;
            Ok(format!("{input} by itself"))
        })
        .register("Parent", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_orchestration("Child", "detached", input);
            Ok("started".to_owned())
        })
        .build();
    let stage = Stage::new(&activities(), orchestrations).await;
    stage.start("Parent", "x").await;
    assert_eq!(stage.result().await, Ok("started".to_owned()));
    assert_eq!(stage.result_of("detached").await, Ok("x by itself".to_owned()));
    insta::assert_snapshot!(listing(&stage.events(1).await), @r#"
    [1] OrchestrationStarted { name: "Parent", input: "x" }
    [2] OrchestrationChained { name: "Child", instance: "detached", input: "x" }
    [3] OrchestrationCompleted { output: "started" }
    "#);
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn an_approval_comes_or_does_not() {
    let approval = |ctx: OrchestrationContext, _: String| async move {
        let too_late = ctx.schedule_timer(ms(10_000));
        match ctx.select2(ctx.schedule_wait("Approval"), too_late).await {
            Either2::First(by) => Ok(format!("approved by {by}")),
            Either2::Second(()) => Err("nobody approved".to_owned()),
        }
    };
    let orchestrations = OrchestrationRegistry::builder().register("Approval", approval).build();
    let mut stage = Stage::new(&activities(), orchestrations).await;
    let client = stage.client();
    client.start_orchestration("approved", "Approval", "").await.unwrap();
    client.start_orchestration("forgotten", "Approval", "").await.unwrap();
    client.raise_event("approved", "Approval", "Ada").await.unwrap();
    stage.env.crash().await.unwrap();
    assert_eq!(stage.result_of("approved").await, Ok("approved by Ada".to_owned()));
    assert_eq!(stage.result_of("forgotten").await, Err("nobody approved".to_owned()));
    assert_eq!(stage.env.elapsed(), ms(10_000));
    let events = stage.client().read_execution_history("approved", 1).await.unwrap();
    assert!(listing(&events).contains(r#"ExternalEvent { name: "Approval", data: "Ada" }"#));
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_comes_back_in_order() {
    let fan_out = |ctx: OrchestrationContext, _: String| async move {
        let calls = (0..50).map(|number| ctx.schedule_activity("Echo", number.to_string()));
        let echoes: Result<Vec<_>, _> = ctx.join(calls.collect()).await.into_iter().collect();
        let (left, right) = ctx
            .join2(
                ctx.schedule_activity_typed::<_, u32>("Echo", &7),
                ctx.schedule_sub_orchestration_typed::<_, Vec<u32>>("Twice", &vec![1, 2]),
            )
            .await;
        Ok(format!("{} {} {:?}", echoes?.join(","), left?, right?))
    };
    let twice = |_: OrchestrationContext, numbers: Vec<u32>| async move {
        Ok::<Vec<u32>, String>(numbers.iter().map(|number| number * 2).collect())
    };
    let orchestrations = OrchestrationRegistry::builder()
        .register("FanOut", fan_out)
        .register_typed("Twice", twice)
        .build();
    let stage = Stage::new(&activities(), orchestrations).await;
    stage.start("FanOut", "").await;
    let all: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(stage.result().await, Ok(format!("{} 7 [2, 4]", all.join(","))));
    assert_eq!(count(&stage.events(1).await, "ActivityScheduled"), 51);
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_can_be_asked_about_and_cancelled() {
    let orchestrations = OrchestrationRegistry::builder()
        .register("Child", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Slow", input).await
        })
        .register("Parent", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_sub_orchestration_with_id("Child", "child", input).await
        })
        .build();
    let stage = Stage::new(&activities(), orchestrations).await;
    let client = stage.client();
    let status = client.get_orchestration_status(ONE).await.unwrap();
    assert_eq!(status, OrchestrationStatus::NotFound);
    stage.start("Parent", "x").await;
    stage.env.wait(ms(100)).await;
    let status = client.get_orchestration_status(ONE).await.unwrap();
    assert_eq!(status, OrchestrationStatus::Running);
    let error = client.wait_for_orchestration(ONE, ms(500)).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { .. }), "{error}");
    client.cancel_instance(ONE, "not needed any more").await.unwrap();
    assert_eq!(stage.result().await, Err("canceled: not needed any more".to_owned()));
    assert!(stage.result_of("child").await.unwrap_err().starts_with("canceled"));
    assert_eq!(stage.env.elapsed(), ms(600), "nobody waits for the activity");
    let OrchestrationStatus::Failed { details } =
        client.get_orchestration_status(ONE).await.unwrap()
    else {
        panic!("it was cancelled")
    };
    assert_eq!(details.category(), "application");
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn a_loop_goes_on_as_new_runs() {
    let count_down = |ctx: OrchestrationContext, left: u32| async move {
        let left: u32 = ctx.schedule_activity_typed("Echo", &left).await?;
        match left {
            0 => Ok("lift off".to_owned()),
            left => ctx.continue_as_new_typed(&(left - 1)).await,
        }
    };
    let orchestrations =
        OrchestrationRegistry::builder().register_typed("CountDown", count_down).build();
    let stage = Stage::new(&activities(), orchestrations).await;
    stage.start("CountDown", "3").await;
    assert_eq!(stage.result().await, Ok("lift off".to_owned()));
    assert_eq!(stage.client().list_executions(ONE).await.unwrap(), [1, 2, 3, 4]);
    insta::assert_snapshot!(listing(&stage.events(2).await), @r#"
    [1] OrchestrationStarted { name: "CountDown", input: "2" }
    [2] ActivityScheduled { name: "Echo", input: "2" }
    [3] ActivityCompleted { source_event_id: 2, result: "2" }
    [4] OrchestrationContinuedAsNew { input: "1" }
    "#);
    let error = stage.client().read_execution_history(ONE, 5).await.unwrap_err();
    assert_eq!(error.to_string(), "instance one has no execution 5");
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn a_program_says_its_lines_once() {
    // Each line is said by code that is replayed at every crash.
    let orchestrations = OrchestrationRegistry::builder()
        .register("Lines", |ctx: OrchestrationContext, _: String| async move {
            let was_replaying = ctx.is_replaying();
            ctx.schedule_timer(ms(1000)).await;
            Ok(format!("{was_replaying} {}", ctx.is_replaying()))
        })
        .build();
    let mut stage = Stage::new(&activities(), orchestrations).await;
    stage.start("Lines", "").await;
    stage.env.wait(ms(500)).await;
    stage.env.crash().await.unwrap();
    assert_eq!(stage.result().await, Ok("true false".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_activity_knows_who_called_it() {
    let activities = ActivityRegistry::builder()
        .register("Who", |ctx: ActivityContext, _: String| async move {
            let names = [ctx.instance_id(), ctx.orchestration_name(), ctx.activity_name()];
            Ok(names.join(" "))
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Ask", |ctx: OrchestrationContext, _: String| async move {
            let said = ctx.schedule_activity("Who", "").await?;
            Ok(format!("{said} | {} {}", ctx.instance_id(), ctx.orchestration_name()))
        })
        .build();
    let stage = Stage::new(&activities, orchestrations).await;
    stage.start("Ask", "").await;
    assert_eq!(stage.result().await, Ok("one Ask Who | one Ask".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_activity_is_called_once_by_a_plain_call() {
    let flaky = Flaky::failing(ALWAYS);
    let orchestrations = OrchestrationRegistry::builder()
        .register("Once", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Flaky", input).await
        })
        .build();
    let stage = Stage::new(&flaky.registered(), orchestrations).await;
    stage.start("Once", "x").await;
    let ended = stage.client().wait_for_orchestration(ONE, LONG).await.unwrap();
    let OrchestrationStatus::Failed { details } = ended else { panic!("{ended:?}") };
    assert_eq!(details.to_string(), "e1");
    assert_eq!(flaky.begun(), 1);
}
