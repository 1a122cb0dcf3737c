//! A schedule that starts a workflow, is triggered, filled in, paused and deleted.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::time::{Duration, SystemTime};

use steadfast::{
    App, Calendar, ClientError, Failure, Schedule, ScheduleHandle, ScheduleOverlapPolicy,
    ScheduleSpec, WorkflowContext,
};

/// One report. It knows what the one before gave.
async fn report(ctx: WorkflowContext, what: String) -> Result<u32, Failure> {
    let before = ctx.info().last_result::<u32>().transpose()?.unwrap_or_default();
    ctx.log(format_args!("report {} on {what}", before + 1));
    Ok(before + 1)
}

/// Waits until it has acted so often.
async fn acted(schedule: &ScheduleHandle, times: u64) -> Result<String, ClientError> {
    loop {
        let described = schedule.describe().await?;
        if described.actions >= times
            && let Some(last) = described.recent.last()
        {
            return Ok(last.workflow_id.clone());
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("reports.db").display().to_string());
    let app = App::builder(format!("sqlite:{file}")).workflow(report).start().await?;
    let client = app.client();

    // At six on working days, where Brussels is.
    let mornings = Calendar::new().hour(6).day_of_week(1..=5);
    let spec = ScheduleSpec::new().calendar(mornings).time_zone("Europe/Brussels");
    let schedule = Schedule::new(spec, client.start(report, "sales")).note("asked for by Ada");
    let reports = client.create_schedule("reports", schedule).await?;
    println!("acts next on {} mornings that are known", reports.describe().await?.next.len());

    reports.trigger().await?;
    let first = acted(&reports, 1).await?;
    println!("triggered: report {}", client.workflow::<u32>(first).result().await?);

    // As if it had been there in the first week of 2024, which has five working days.
    let monday = SystemTime::UNIX_EPOCH + Duration::from_secs(1_704_067_200);
    let week = Duration::from_secs(7 * 24 * 3600);
    reports.backfill(monday, monday + week, ScheduleOverlapPolicy::BufferAll).await?;
    let last = acted(&reports, 6).await?;
    println!("filled in: report {}", client.workflow::<u32>(last).result().await?);

    reports.pause("the printer is broken").await?;
    let described = reports.describe().await?;
    println!("paused: {}, because {}", described.is_paused, described.note);
    reports.update(|schedule| schedule.at(ScheduleSpec::new().cron("0 3 * * *"))).await?;
    reports.delete().await?;
    println!("schedules left: {}", client.list_schedules("").await?.len());
    app.shutdown().await;
    Ok(())
}
