//! What schedules do when the last run still goes on: each policy, with the plug pulled anywhere.

use steadfast_engine::Limits;
use steadfast_proto::enums::ScheduleOverlapPolicy as Policy;

use crate::common::{
    Base, QUEUE, Rig, action, cancelled, complete, continue_as_new, fail, payloads, schedule,
    survives,
};

/// Two times come while the first run goes on; then it ends.
async fn busy(rig: &Rig, policy: Policy) -> String {
    rig.create_schedule("s", schedule(policy)).await;
    rig.at(101).await;
    let mut told = rig.schedule("s").await;
    rig.at(301).await;
    told += &rig.schedule("s").await;
    rig.step(vec![complete("one")]).await;
    rig.at(302).await;
    told += &rig.schedule("s").await;
    told
}

#[tokio::test(start_paused = true)]
async fn skip() {
    let told = survives(async |rig: &Rig| {
        let mut told = busy(rig, Policy::Unspecified).await;
        rig.at(401).await;
        told += &rig.schedule("s").await;
        told
    });
    insta::assert_snapshot!(told.await, @r"
    101  done 1 running [13:48:20] recent [13:48:20 Running]
    301  done 1 skipped 2 running [13:48:20] recent [13:48:20 Running]
    302  done 1 skipped 2 running [] recent [13:48:20 Completed]
    401  done 2 skipped 2 running [13:53:20] recent [13:48:20 Completed, 13:53:20 Running]
    ");
}

#[tokio::test(start_paused = true)]
async fn buffer_one() {
    let told = survives(async |rig: &Rig| busy(rig, Policy::BufferOne).await);
    insta::assert_snapshot!(told.await, @r"
    101  done 1 running [13:48:20] recent [13:48:20 Running]
    301  done 1 skipped 1 buffer 1 running [13:48:20] recent [13:48:20 Running]
    302  done 2 skipped 1 running [13:50:00] recent [13:48:20 Completed, 13:50:00 Running]
    ");
}

#[tokio::test(start_paused = true)]
async fn buffer_all() {
    let told = survives(async |rig: &Rig| {
        let mut told = busy(rig, Policy::BufferAll).await;
        rig.step(vec![complete("two")]).await;
        rig.at(303).await;
        told += &rig.schedule("s").await;
        told
    });
    insta::assert_snapshot!(told.await, @r"
    101  done 1 running [13:48:20] recent [13:48:20 Running]
    301  done 1 buffer 2 running [13:48:20] recent [13:48:20 Running]
    302  done 2 buffer 1 running [13:50:00] recent [13:48:20 Completed, 13:50:00 Running]
    303  done 3 running [13:51:40] recent [13:48:20 Completed, 13:50:00 Completed, 13:51:40 Running]
    ");
}

#[tokio::test(start_paused = true)]
async fn cancel_other() {
    let told = survives(async |rig: &Rig| {
        rig.create_schedule("s", schedule(Policy::CancelOther)).await;
        rig.at(101).await;
        rig.step(vec![]).await;
        rig.at(201).await;
        let mut told = rig.schedule("s").await;
        // The first run is asked to end, and does.
        rig.step(vec![cancelled()]).await;
        rig.at(202).await;
        told += &rig.schedule("s").await;
        told
    });
    insta::assert_snapshot!(told.await, @r"
    201  done 1 buffer 1 running [13:48:20] recent [13:48:20 Running]
    202  done 2 running [13:50:00] recent [13:48:20 Canceled, 13:50:00 Running]
    ");
}

#[tokio::test(start_paused = true)]
async fn terminate_other() {
    let told = survives(async |rig: &Rig| {
        rig.create_schedule("s", schedule(Policy::TerminateOther)).await;
        rig.at(101).await;
        rig.at(301).await;
        let told = rig.schedule("s").await;
        let last = rig.text("w-1970-01-12T13:48:20Z", "").await;
        format!("{told}{}", last.lines().last().expect("a last event"))
    });
    insta::assert_snapshot!(told.await, @r"
    301  done 3 running [13:51:40] recent [13:48:20 Terminated, 13:50:00 Terminated, 13:51:40 Running]
      3   100.000  WorkflowExecutionTerminated terminated by schedule overlap policy
    ");
}

#[tokio::test(start_paused = true)]
async fn allow_all() {
    let told = survives(async |rig: &Rig| {
        rig.create_schedule("s", schedule(Policy::AllowAll)).await;
        rig.at(201).await;
        rig.step(vec![complete("either")]).await;
        rig.step(vec![complete("other")]).await;
        rig.at(202).await;
        rig.schedule("s").await
    });
    insta::assert_snapshot!(told.await, @r" 202  done 2 running [] recent [13:48:20 Completed, 13:50:00 Completed]");
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_as_long_as_its_chain_does() {
    let told = survives(async |rig: &Rig| {
        rig.create_schedule("s", schedule(Policy::BufferOne)).await;
        rig.at(101).await;
        rig.step(vec![continue_as_new()]).await;
        rig.at(201).await;
        let mut told = rig.schedule("s").await;
        rig.step(vec![fail("no luck")]).await;
        rig.at(202).await;
        told += &rig.schedule("s").await;
        told
    });
    insta::assert_snapshot!(told.await, @r"
    201  done 1 buffer 1 running [13:48:20] recent [13:48:20 Running]
    202  done 2 running [13:50:00] recent [13:48:20 Failed, 13:50:00 Running]
    ");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_reset_counts_until_it_ends() {
    let told = survives(async |rig: &Rig| {
        rig.create_schedule("s", schedule(Policy::Skip)).await;
        rig.at(101).await;
        rig.step(vec![]).await;
        rig.reset("w-1970-01-12T13:48:20Z", 4).await.expect("reset");
        rig.at(201).await;
        let mut told = rig.schedule("s").await;
        rig.step(vec![complete("done")]).await;
        rig.at(202).await;
        told += &rig.schedule("s").await;
        told
    });
    insta::assert_snapshot!(told.await, @r"
    201  done 1 skipped 1 running [13:48:20] recent [13:48:20 Running]
    202  done 1 skipped 1 running [] recent [13:48:20 Completed]
    ");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_deleted_makes_room() {
    let told = survives(async |rig: &Rig| {
        rig.create_schedule("s", schedule(Policy::BufferOne)).await;
        rig.at(201).await;
        // Whoever pulls the plug after it asks again, and there is nothing any more.
        let _ = rig.delete("w-1970-01-12T13:48:20Z").await;
        rig.at(202).await;
        rig.schedule("s").await
    });
    insta::assert_snapshot!(told.await, @r" 202  done 2 running [13:50:00] recent [13:48:20 Terminated, 13:50:00 Running]");
}

#[tokio::test(start_paused = true)]
async fn schedules_that_are_not_in_memory_do_the_same() {
    let limits = Limits { cached_schedules_max: 0, ..Limits::default() };
    let mut told = Vec::new();
    for base in [Base::memory(), Base::sqlite()] {
        let rig = Rig::with(base, limits.clone()).await;
        told.push(busy(&rig, Policy::BufferAll).await);
    }
    let rig = Rig::new().await;
    told.push(busy(&rig, Policy::BufferAll).await);
    assert_eq!(told[0], told[2]);
    assert_eq!(told[1], told[2]);
}

#[tokio::test(start_paused = true)]
async fn schedules_with_large_inputs_do_not_fill_the_memory_and_all_have_their_turn() {
    let limits = Limits { cached_schedule_bytes_max: 400_000, ..Limits::default() };
    for base in [Base::memory(), Base::sqlite()] {
        let rig = Rig::with(base, limits.clone()).await;
        for n in 0..100 {
            let mut large = schedule(Policy::Skip);
            action(&mut large).workflow_id = format!("w-{n}");
            action(&mut large).input = Some(payloads(&"x".repeat(10_000)));
            rig.create_schedule(&format!("s-{n}"), large).await;
        }
        let held = rig.engine().held().schedules;
        assert!((20..=40).contains(&held), "{held} of 100 schedules are held");
        rig.at(103).await;
        let held = rig.engine().held().schedules;
        assert!((20..=40).contains(&held), "{held} of 100 schedules are held");
        assert_eq!(rig.count("").await, Ok(100), "each has started its workflow");
    }
}

/// The plug is pulled after the n-th commit from the time on at which the schedule decides: what it
/// decided on happens, and happens once.
#[tokio::test(start_paused = true)]
async fn a_start_is_neither_lost_nor_doubled_wherever_the_plug_is_pulled() {
    use crate::common::Fault;
    for commits in 0..6 {
        let rig = Rig::new().await;
        rig.create_schedule("s", schedule(Policy::Skip)).await;
        rig.at(99).await;
        let faults = [vec![Fault::None; commits], vec![Fault::Busy; 8]].concat();
        rig.store().fail_commits(faults);
        rig.at(101).await;
        rig.crash().await;
        rig.at(150).await;
        let told = rig.schedule("s").await;
        let expected = " 150  done 1 running [13:48:20] recent [13:48:20 Running]\n";
        assert_eq!(told, expected, "after {commits} commits");
        assert_eq!(rig.list("TemporalScheduledById = 's'").await.expect("a list").len(), 1);
        rig.step_on(QUEUE, vec![complete("done")]).await;
        rig.at(190).await;
        assert!(rig.schedule("s").await.contains("running [] recent [13:48:20 Completed]"));
    }
}
