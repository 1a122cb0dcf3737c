//! One workflow with thousands of steps: a late step must cost what an early one does.

use std::time::Duration;

use anyhow::Result;

use super::{Place, chain};
use crate::{
    report::{Line, ms, percentile, ratio},
    usage,
};

impl Place<'_> {
    pub(super) async fn long_chain(&self, case: &str, steps: usize) -> Result<Line> {
        let rig = self.open().await?;
        chain::run(&rig, "warm", 1, steps.min(100)).await?;
        usage::reset_peak();
        let counted = chain::run(&rig, "long", 1, steps.max(2)).await?;
        let rss = usage::peak_rss_mib();
        rig.close().await?;
        let (early, late) = ends(&counted.spans);
        let line = Line::new(case, self.sync.name(), counted, rss);
        Ok(line
            .with("early_step_ms", early)
            .with("late_step_ms", late)
            .with("late_to_early", ratio(late, early)))
    }
}

/// The median step at the beginning, and at the end, in milliseconds.
pub(crate) fn ends(spans: &[Duration]) -> (f64, f64) {
    let window = (spans.len() / 4).clamp(1, 200);
    let early = &spans[..window];
    let late = &spans[spans.len() - window..];
    let median = |part: &[Duration]| ms(percentile(&mut part.to_vec(), 50));
    (median(early), median(late))
}
