//! What the disk itself takes: the floor under every commit that waits for it.

use std::{fs::File, io::Write as _, path::Path, time::Duration};

use anyhow::{Context as _, Result};

use crate::usage::now;

/// How long it takes to append 4 KiB to a file in `folder` and wait for the disk, each of `writes`
/// times.
pub(crate) fn fdatasyncs(folder: &Path, writes: usize) -> Result<Vec<Duration>> {
    let path = folder.join("probe");
    let mut file = File::create(&path).with_context(|| path.display().to_string())?;
    let page = [0x5a; 4096];
    let mut spans = Vec::with_capacity(writes);
    for _ in 0..writes {
        let began = now();
        file.write_all(&page)?;
        file.sync_data()?;
        spans.push(began.elapsed());
    }
    std::fs::remove_file(&path)?;
    Ok(spans)
}
