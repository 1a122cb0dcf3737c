//! duroxide's stress test of large payloads, at its default sizes: a few megabytes a workflow, one step
//! after the other.

use serde::{Deserialize, Serialize};
use steadfast::{AppBuilder, Failure, WorkflowContext, join_all};

use super::{
    payloads::{CHILDREN, FEW, LARGE_KB, LAST, MEDIUM_KB, MORE, SMALL_KB, TASK, payload},
    shapes::Order,
};
use crate::usage::pause;

/// Activities that complete in one workflow and its children.
pub(super) const STEPS: usize = FEW + FEW + MORE + LAST + 2 * CHILDREN;

/// What goes in.
#[derive(Deserialize, Serialize)]
struct Page {
    index: usize,
    data: String,
}

/// What comes out of an activity: what went in, and more.
#[derive(Deserialize, Serialize)]
struct Book {
    input: Page,
    payload: String,
    size_kb: usize,
}

/// What comes out of a workflow.
#[derive(Deserialize, Serialize)]
pub(super) struct Shelf {
    books: usize,
    children: usize,
    payload: String,
}

/// The workflows and activities of the case.
pub(super) fn register(app: AppBuilder) -> AppBuilder {
    app.workflow(shelf).workflow(pair).activity(small).activity(medium).activity(large)
}

pub(super) async fn shelf(ctx: WorkflowContext, _: Order) -> Result<Shelf, Failure> {
    let mut books = Vec::new();
    for index in 0..FEW {
        books.push(ctx.activity(small, Page::new(index, SMALL_KB)).await?);
    }
    for index in 0..FEW {
        books.push(ctx.activity(medium, Page::new(index, MEDIUM_KB / 2)).await?);
    }
    for index in 0..MORE {
        books.push(ctx.activity(large, Page::new(index, LARGE_KB / 4)).await?);
    }
    let pages: Vec<Page> = (0..CHILDREN).map(|index| Page::new(index, MEDIUM_KB)).collect();
    let children = join_all(pages.iter().map(|page| ctx.child(pair, page))).await;
    let children = children.into_iter().collect::<Result<Vec<Shelf>, _>>()?.len();
    for index in 0..LAST {
        let page = Page { index, data: format!("final-task-{index}") };
        books.push(ctx.activity(small, &page).await?);
    }
    Ok(Shelf { books: books.len(), children, payload: payload(LARGE_KB) })
}

async fn pair(ctx: WorkflowContext, _: Page) -> Result<Shelf, Failure> {
    let one = ctx.activity(small, Page::new(0, SMALL_KB)).await?;
    let two = ctx.activity(medium, Page::new(1, MEDIUM_KB / 2)).await?;
    Ok(Shelf { books: [one, two].len(), children: 0, payload: payload(MEDIUM_KB) })
}

async fn small(input: Page) -> Result<Book, Failure> {
    Ok(book(input, SMALL_KB).await)
}

async fn medium(input: Page) -> Result<Book, Failure> {
    Ok(book(input, MEDIUM_KB).await)
}

async fn large(input: Page) -> Result<Book, Failure> {
    Ok(book(input, LARGE_KB).await)
}

async fn book(input: Page, size_kb: usize) -> Book {
    pause(TASK).await;
    Book { input, payload: payload(size_kb), size_kb }
}

impl Page {
    fn new(index: usize, kb: usize) -> Self {
        Self { index, data: payload(kb) }
    }
}
