//! Schedules, as a client makes and changes them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use steadfast::{
    Calendar, CalendarField, ClientError, Failure, Schedule, ScheduleOverlapPolicy, ScheduleSpec,
    SearchAttributeType, WorkflowContext, testing::TestEnv,
};

const HOUR: Duration = Duration::from_secs(3600);

async fn report(ctx: WorkflowContext, of: String) -> Result<u32, Failure> {
    ctx.sleep(Duration::from_secs(60)).await?;
    let before = ctx.info().last_result::<u32>().transpose()?.unwrap_or_default();
    ctx.log(format_args!("a report of {of}"));
    Ok(before + 1)
}

async fn env() -> TestEnv {
    TestEnv::start(|app| app.workflow(report)).await.expect("it works")
}

fn hourly() -> ScheduleSpec {
    ScheduleSpec::new().every(HOUR)
}

#[tokio::test]
async fn a_schedule_starts_its_workflow_again_and_again_through_a_crash() {
    let mut env = env().await;
    let schedule = Schedule::new(hourly(), env.client().start(report, "sales")).note("by Ada");
    let schedule = schedule.memo("owner", &"Ada").unwrap();
    let handle = env.client().create_schedule("hourly", schedule).await.unwrap();
    assert_eq!(handle.describe().await.unwrap().actions, 0);
    env.wait(HOUR * 2).await;
    env.crash().await.unwrap();
    env.wait(HOUR).await;
    let described = env.client().schedule("hourly").describe().await.unwrap();
    assert_eq!((described.actions, described.missed, described.is_paused), (3, 0, false));
    assert_eq!(described.note, "by Ada");
    assert_eq!(described.memo::<String>("owner").unwrap().unwrap(), "Ada");
    let recent = &described.recent;
    assert_eq!(recent.len(), 3);
    assert!(recent.iter().all(|it| it.workflow_id.starts_with("hourly-")), "{recent:?}");
    assert_eq!(recent[1].scheduled_at.duration_since(recent[0].scheduled_at).unwrap(), HOUR);
    assert!(described.next[0] > recent[2].scheduled_at);
    let last = env.client().workflow::<u32>(&recent[2].workflow_id);
    assert_eq!(last.result().await.unwrap(), 3, "each knows what the one before gave");
}

#[tokio::test]
async fn a_schedule_is_paused_triggered_filled_in_changed_and_deleted() {
    let env = env().await;
    let client = env.client();
    let schedule = Schedule::new(hourly(), client.start(report, "sales").id("sales"));
    let handle = client.create_schedule("s", schedule.paused(true).limited_to(9)).await.unwrap();
    let twice = Schedule::new(hourly(), client.start(report, "sales"));
    let twice = client.create_schedule("s", twice).await.unwrap_err();
    assert!(matches!(twice, ClientError::ScheduleExists { schedule_id } if schedule_id == "s"));
    env.wait(HOUR * 3).await;
    let described = handle.describe().await.unwrap();
    assert_eq!((described.actions, described.remaining, described.is_paused), (0, Some(9), true));

    handle.trigger().await.unwrap();
    env.wait(Duration::from_secs(120)).await;
    let described = handle.describe().await.unwrap();
    assert_eq!(described.actions, 1);
    assert!(described.recent[0].workflow_id.starts_with("sales-"), "{described:?}");

    let begin = UNIX_EPOCH + HOUR * 24 * 9000;
    let overlap = ScheduleOverlapPolicy::AllowAll;
    handle.backfill(begin, begin + HOUR * 2, overlap).await.unwrap();
    env.wait(Duration::from_secs(120)).await;
    assert_eq!(handle.describe().await.unwrap().actions, 4);

    let daily = ScheduleSpec::new().calendar(Calendar::new().hour(6).minute([0, 30]));
    handle.update(|schedule| schedule.at(daily.clone()).note("daily")).await.unwrap();
    handle.unpause("go").await.unwrap();
    let described = handle.describe().await.unwrap();
    assert_eq!((described.is_paused, described.note.as_str()), (false, "go"));
    let half_hour = described.next[1].duration_since(described.next[0]).unwrap();
    assert_eq!(half_hour.as_secs() % 1800, 0);
    handle.pause("").await.unwrap();
    assert!(handle.describe().await.unwrap().is_paused);

    let listed = client.list_schedules("").await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].schedule_id.as_str(), listed[0].workflow_type.as_str()), ("s", "report"));
    handle.delete().await.unwrap();
    assert!(matches!(handle.describe().await, Err(ClientError::NotFound(_))));
    assert!(client.list_schedules("").await.unwrap().is_empty());
}

#[tokio::test]
async fn what_a_spec_says_are_its_times() {
    let env = env().await;
    let client = env.client();
    let day = Duration::from_secs(24 * 3600);
    // 2001-09-09 is a Sunday, and day 11574 of all.
    let sunday = UNIX_EPOCH + day * 11_574;
    let times = async |spec: ScheduleSpec, days: u32| -> Vec<u64> {
        let schedule = Schedule::new(spec, client.start(report, "x")).paused(true);
        let handle = client.create_schedule("t", schedule).await.unwrap();
        let found = handle.times(sunday, sunday + day * days).await.unwrap();
        handle.delete().await.unwrap();
        let since = |time: SystemTime| time.duration_since(sunday).unwrap().as_secs() / 60;
        found.into_iter().map(since).collect()
    };
    let work = Calendar::new()
        .minute(CalendarField::stepped(0..=59, 30))
        .hour(9..=10)
        .day_of_week(1..=5)
        .comment("at work");
    let at_work = ScheduleSpec::new().calendar(work);
    assert_eq!(times(at_work.clone(), 2).await, [1980, 2010, 2040, 2070]);
    let not_at_ten = at_work.except(Calendar::new().hour(10).minute(0..=59));
    assert_eq!(times(not_at_ten, 2).await, [1980, 2010]);
    assert_eq!(times(ScheduleSpec::new().cron("15 3 * * *"), 2).await, [195, 1635]);
    let brussels = ScheduleSpec::new().cron("15 3 * * *").time_zone("Europe/Brussels");
    assert_eq!(times(brussels, 1).await, [75]);
    let every = ScheduleSpec::new().every_from(HOUR * 12, HOUR);
    assert_eq!(times(every.clone(), 1).await, [60, 780]);
    let limits = every.from(sunday + HOUR * 2).until(sunday + HOUR * 20);
    assert_eq!(times(limits, 2).await, [780]);
}

#[tokio::test]
async fn a_schedule_is_found_by_its_search_attributes() {
    let env = env().await;
    let client = env.client();
    client.add_search_attribute("Team", SearchAttributeType::Keyword).await.unwrap();
    for team in ["red", "blue"] {
        let schedule = Schedule::new(hourly(), client.start(report, team)).paused(true);
        let schedule = schedule.search_attribute("Team", &team).unwrap();
        client.create_schedule(team, schedule).await.unwrap();
    }
    let red = client.list_schedules("Team = 'red'").await.unwrap();
    assert_eq!(red.len(), 1);
    assert_eq!(red[0].search_attribute::<String>("Team").unwrap().unwrap(), "red");
    let wrong = Schedule::new(ScheduleSpec::new().cron("every day"), client.start(report, "x"));
    let wrong = client.create_schedule("wrong", wrong).await.unwrap_err();
    assert!(wrong.to_string().contains("every day"), "{wrong}");
}

#[tokio::test]
async fn a_schedule_that_is_triggered_when_made_acts_at_once() {
    let env = env().await;
    let client = env.client();
    let schedule = Schedule::new(hourly(), client.start(report, "sales"))
        .overlap(ScheduleOverlapPolicy::BufferOne)
        .catchup_window(HOUR)
        .pause_on_failure(true)
        .triggered();
    let handle = client.create_schedule("s", schedule).await.unwrap();
    env.wait(Duration::from_secs(1)).await;
    let described = handle.describe().await.unwrap();
    assert_eq!((described.actions, described.running.len()), (1, 1));
    let policies = described.schedule.policies.unwrap();
    assert!(policies.pause_on_failure);
    assert_eq!(policies.overlap_policy(), ScheduleOverlapPolicy::BufferOne);
}
