//! duroxide's own stress test of large payloads, at its default sizes.

use duroxide::{
    ActivityContext, OrchestrationContext, OrchestrationRegistryBuilder,
    runtime::registry::ActivityRegistryBuilder,
};
use serde_json::{Value, json};

use crate::payloads::{CHILDREN, FEW, LARGE_KB, LAST, MEDIUM_KB, MORE, SMALL_KB, TASK, payload};

pub fn activities(mut registry: ActivityRegistryBuilder) -> ActivityRegistryBuilder {
    for (name, kb) in [("Small", SMALL_KB), ("Medium", MEDIUM_KB), ("Large", LARGE_KB)] {
        registry = registry.register(name, move |_: ActivityContext, input: String| async move {
            tokio::time::sleep(TASK).await;
            Ok(json!({ "input": input, "payload": payload(kb), "size_kb": kb }).to_string())
        });
    }
    registry
}

pub fn orchestrations(registry: OrchestrationRegistryBuilder) -> OrchestrationRegistryBuilder {
    registry.register("Shelf", shelf).register("Pair", pair)
}

async fn shelf(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let mut books = Vec::new();
    for index in 0..FEW {
        books.push(ctx.schedule_activity("Small", page(index, SMALL_KB)).await?);
    }
    for index in 0..FEW {
        books.push(ctx.schedule_activity("Medium", page(index, MEDIUM_KB / 2)).await?);
    }
    for index in 0..MORE {
        books.push(ctx.schedule_activity("Large", page(index, LARGE_KB / 4)).await?);
    }
    let pairs = (0..CHILDREN)
        .map(|index| ctx.schedule_sub_orchestration("Pair", page(index, MEDIUM_KB)))
        .collect();
    let children = ctx.join(pairs).await.into_iter().collect::<Result<Vec<_>, _>>()?.len();
    for index in 0..LAST {
        books.push(ctx.schedule_activity("Small", format!("final-task-{index}")).await?);
    }
    let payload = payload(LARGE_KB);
    Ok(json!({ "books": books.len(), "children": children, "payload": payload }).to_string())
}

async fn pair(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let _: Value = serde_json::from_str(&input).map_err(|error| error.to_string())?;
    let one = ctx.schedule_activity("Small", page(0, SMALL_KB)).await?;
    let two = ctx.schedule_activity("Medium", page(1, MEDIUM_KB / 2)).await?;
    let books = [one, two].len();
    Ok(json!({ "books": books, "payload": payload(MEDIUM_KB) }).to_string())
}

fn page(index: usize, kb: usize) -> String {
    json!({ "index": index, "data": payload(kb) }).to_string()
}
