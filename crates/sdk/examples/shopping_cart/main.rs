//! A cart that is there from the first thing that is put into it, and can be found by what it holds.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::time::Duration;

use steadfast::{
    App, Client, ClientError, Failure, Noted as _, SearchAttributeType, StateCell, WorkflowContext,
    select,
};

async fn cart(ctx: WorkflowContext, owner: String) -> Result<Vec<String>, Failure> {
    ctx.upsert_memo("owner", &owner)?;
    ctx.upsert_search_attribute("CartStage", "open")?;
    let things = StateCell::new(Vec::new());
    let kept = things.clone();
    ctx.on_update_if(
        "add",
        |thing: &String| if thing == "boat" { Err(Failure::new("too big")) } else { Ok(()) },
        move |ctx: WorkflowContext, thing: String| {
            let things = kept.clone();
            async move {
                let count = things.change(|all: &mut Vec<String>| {
                    all.push(thing);
                    all.len()
                });
                ctx.upsert_search_attribute("CartThings", &count)?;
                Ok::<_, Failure>(count)
            }
        },
    );
    let mut orders = ctx.signals::<()>("order");
    let stage = select! {
        ordered = orders.receive() => { ordered?; "ordered" },
        late = ctx.sleep(Duration::from_secs(24 * 3600)) => { late?; "forgotten" },
    };
    ctx.handlers_done().await;
    ctx.upsert_search_attribute("CartStage", stage)?;
    Ok(things.get())
}

/// Puts something into somebody's cart, which need not be there.
async fn add(client: &Client, owner: &str, thing: &str) -> Result<usize, ClientError> {
    let start = client.start(cart, owner).id(format!("cart-{owner}"));
    Ok(start.with_update("add", &thing).await?.1)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("carts.db").display().to_string());
    let app = App::builder(format!("sqlite:{file}")).workflow(cart).start().await?;
    let client = app.client();
    client.add_search_attribute("CartStage", SearchAttributeType::Keyword).await?;
    client.add_search_attribute("CartThings", SearchAttributeType::Int).await?;

    println!("Ada has {}", add(client, "Ada", "lamp").await?);
    println!("Ada has {}", add(client, "Ada", "table").await?);
    println!("Bob has {}", add(client, "Bob", "chair").await?);
    if let Err(error) = add(client, "Bob", "boat").await {
        println!("Bob cannot have a boat: {error}");
    }
    for cart in client.list("CartStage = 'open' AND CartThings > 1").await? {
        let owner: Option<String> = cart.memo_value("owner").transpose()?;
        println!("more than one thing: {}", owner.unwrap_or_default());
    }
    for owner in ["Ada", "Bob"] {
        let cart = client.workflow::<Vec<String>>(format!("cart-{owner}"));
        cart.signal("order", &()).await?;
        println!("{owner} ordered {}", cart.result().await?.join(" and "));
    }
    println!("open carts: {}", client.count("CartStage = 'open'").await?);
    app.shutdown().await;
    Ok(())
}
