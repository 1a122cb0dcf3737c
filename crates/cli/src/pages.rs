//! Answers that come in pages.

use std::future::Future;

use anyhow::Result;

/// Collects pages until there are no more, or enough.
pub(crate) async fn collect<T, F>(limit: usize, page: impl Fn(Vec<u8>, i32) -> F) -> Result<Vec<T>>
where
    F: Future<Output = Result<(Vec<T>, Vec<u8>)>>,
{
    let mut all = Vec::new();
    let mut token = Vec::new();
    loop {
        let missing = limit - all.len();
        let size = i32::try_from(missing.min(PAGE)).unwrap_or(i32::MAX);
        let (items, next) = page(token, size).await?;
        all.extend(items);
        all.truncate(limit);
        if next.is_empty() || all.len() == limit {
            return Ok(all);
        }
        token = next;
    }
}

const PAGE: usize = 1_000;
