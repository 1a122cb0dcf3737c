//! An order as a saga: each step is retried, and when one of them cannot be done, those before it
//! are undone in reverse.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use steadfast::{
    ActivityContext, ActivityError, App, Failure, RetryPolicy, Saga, TerminalError, WorkflowContext,
};

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Order {
    id: String,
    sku: String,
    quantity: u32,
    is_shipped: bool,
}

async fn order(ctx: WorkflowContext, order: Order) -> Result<String, Failure> {
    let mut saga = ctx.saga();
    match steps(&ctx, &mut saga, &order).await {
        Ok(()) => Ok(format!("{} is complete", order.id)),
        Err(error) => Err(saga.undo(error).await),
    }
}

async fn steps(ctx: &WorkflowContext, saga: &mut Saga, it: &Order) -> Result<(), ActivityError> {
    ctx.activity(reserve_inventory, it).retry(attempts(3)).await?;
    saga.compensate_with(cancel_reservation, it);
    ctx.activity(process_payment, it).retry(attempts(5)).await?;
    saga.compensate_with(refund_payment, it);
    if it.is_shipped {
        ctx.activity(ship_order, it).retry(attempts(3)).await?;
        saga.compensate_with(cancel_shipment, it);
    }
    Ok(())
}

fn attempts(max: u32) -> RetryPolicy {
    RetryPolicy::new().max_attempts(max).initial_interval(Duration::from_millis(100))
}

async fn reserve_inventory(ctx: ActivityContext, order: Order) -> Result<(), Failure> {
    say(&ctx, "reserve_inventory");
    if ctx.attempt() == 1 {
        return Err(Failure::new("Database connection timeout").of_type("ConnectionError"));
    }
    let mut stock = stock();
    let have = stock.get(order.sku.as_str()).copied().unwrap_or(0);
    let Some(left) = have.checked_sub(order.quantity) else {
        let Order { sku, quantity: need, .. } = &order;
        let message = format!("Insufficient inventory for {sku} (need {need}, have {have})");
        return Err(TerminalError::new(message).into());
    };
    stock.insert(order.sku, left);
    Ok(())
}

async fn process_payment(ctx: ActivityContext, _: Order) -> Result<String, Failure> {
    say(&ctx, "process_payment");
    match ctx.attempt() {
        ..3 => Err(Failure::new("Payment gateway timeout").of_type("ConnectionError")),
        _ => Ok(format!("TXN-{}", ctx.idempotency_key())),
    }
}

async fn ship_order(ctx: ActivityContext, _: Order) -> Result<(), Failure> {
    say(&ctx, "ship_order");
    Err(Failure::new("Shipping service unavailable").of_type("ConnectionError"))
}

async fn cancel_shipment(ctx: ActivityContext, _: Order) -> Result<(), Failure> {
    say(&ctx, "undo: cancel_shipment");
    Ok(())
}

async fn refund_payment(ctx: ActivityContext, _: Order) -> Result<(), Failure> {
    say(&ctx, "undo: refund_payment");
    Ok(())
}

async fn cancel_reservation(ctx: ActivityContext, order: Order) -> Result<(), Failure> {
    say(&ctx, "undo: cancel_reservation");
    *stock().entry(order.sku).or_default() += order.quantity;
    Ok(())
}

fn say(ctx: &ActivityContext, step: &str) {
    println!("  {step}, attempt {}", ctx.attempt());
}

/// What the warehouse has.
fn stock() -> MutexGuard<'static, BTreeMap<String, u32>> {
    static STOCK: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    STOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("orders.db").display().to_string());
    stock().extend([("SKU-123".to_owned(), 10), ("SKU-456".to_owned(), 5)]);
    let app = App::builder(format!("sqlite:{file}"))
        .workflow(order)
        .activity(reserve_inventory)
        .activity(cancel_reservation)
        .activity(process_payment)
        .activity(refund_payment)
        .activity(ship_order)
        .activity(cancel_shipment)
        .start()
        .await?;
    for (id, sku, quantity, is_shipped) in [
        ("ORDER-SUCCESS", "SKU-123", 2, false),
        ("ORDER-FAIL", "SKU-456", 1, true),
        ("ORDER-TERMINAL", "INVALID-SKU", 100, true),
    ] {
        println!("{id}: {quantity} of {sku}");
        let wanted = Order { id: id.to_owned(), sku: sku.to_owned(), quantity, is_shipped };
        let handle = app.client().start(order, wanted).id(id).await?;
        match handle.result().await {
            Ok(done) => println!("  {done}"),
            Err(error) => println!("  failed: {error}"),
        }
    }
    println!("stock: {:?}", *stock());
    app.shutdown().await;
    Ok(())
}
