//! The numbers as Prometheus reads them.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::SystemTime,
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet},
    metrics::MetricType,
    registry::Registry,
};
use steadfast_engine::{Engine, Histogram};

use super::{
    CODES, Metrics, RpcMetrics,
    failures::{Failing, write_tally},
    process::Process,
};
use crate::rpc::Rpc;

pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All numbers, now.
pub(crate) async fn text(metrics: &Arc<Metrics>, engine: &Engine) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    let failing = Failing::look(engine).await;
    let page = Page { metrics: Arc::clone(metrics), engine: engine.clone(), failing };
    registry.register_collector(Box::new(page));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Page {
    metrics: Arc<Metrics>,
    engine: Engine,
    failing: Failing,
}

impl Collector for Page {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut writer = Writer(encoder);
        self.metrics.doors(&mut writer)?;
        commits(&self.engine, &mut writer)?;
        self.failing.write(&mut writer)?;
        write_tally(self.engine.tally(), self.engine.now(), &mut writer)?;
        self.metrics.process(&mut writer)
    }
}

impl Metrics {
    fn doors(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let mut family = writer.family(
            "steadfast_rpc_seconds",
            "How long gRPC calls took, by how they ended",
            MetricType::Histogram,
        )?;
        for (rpc, metrics) in self.rpcs() {
            for (code, histogram) in CODES.iter().zip(&metrics.ended) {
                let Some(histogram) = histogram.get() else { continue };
                let labels = [("method", rpc.name()), ("code", code)];
                write_histogram(&mut family.encode_family(&labels)?, histogram, 1e-6)?;
            }
        }
        let mut family = writer.family(
            "steadfast_rpc_in_flight",
            "gRPC calls under way; of a Poll method, those who wait for work",
            MetricType::Gauge,
        )?;
        for (rpc, metrics) in self.rpcs() {
            let labels = [("method", rpc.name())];
            if metrics.ended.iter().any(|it| it.get().is_some()) || metrics.in_flight.get() > 0 {
                family.encode_family(&labels)?.encode_gauge(&metrics.in_flight.get())?;
            }
        }
        self.http_calls(writer)?;
        writer.gauge("steadfast_grpc_connections", "Open connections", self.grpc_connections.get())
    }

    fn http_calls(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let mut family = writer.family(
            "steadfast_http_seconds",
            "How long calls of the HTTP API took, by how they ended",
            MetricType::Histogram,
        )?;
        for ((call, status), took) in self.http.ended() {
            let status = status.to_string();
            let labels = [("operation", call), ("status", status.as_str())];
            write_histogram(&mut family.encode_family(&labels)?, &took, 1e-6)?;
        }
        let about = "Calls of the HTTP API under way";
        writer.gauge("steadfast_http_in_flight", about, self.http.in_flight.get())
    }

    fn rpcs(&self) -> impl Iterator<Item = (&Rpc, &RpcMetrics)> {
        self.services.iter().flat_map(|(rpcs, metrics)| rpcs.rpcs.iter().zip(metrics))
    }

    fn process(&self, writer: &mut Writer<'_>) -> fmt::Result {
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let begun = "When the server was opened, in seconds since 1970";
        writer.gauge("process_start_time_seconds", begun, started.as_secs_f64())?;
        let process = Process::look();
        if let Some(seconds) = process.cpu_seconds {
            writer.counter("process_cpu_seconds", "Processor time used", seconds)?;
        }
        if let Some(bytes) = process.resident_bytes {
            writer.gauge("process_resident_memory_bytes", "Memory in use", bytes)?;
        }
        if let Some(files) = process.open_files {
            writer.gauge("process_open_fds", "Files and connections open", files)?;
        }
        let labels = [("version", env!("CARGO_PKG_VERSION"))];
        let mut family = writer.family("steadfast_build", "What this is", MetricType::Info)?;
        family.encode_info(&labels)
    }
}

fn commits(engine: &Engine, writer: &mut Writer<'_>) -> fmt::Result {
    let stats = engine.commit_stats();
    let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    writer.counter("steadfast_commits", "Commits, each one write to disk", of(&stats.commits))?;
    writer.counter("steadfast_commit_works", "Pieces of work committed", of(&stats.works))?;
    let retries = "Commits that failed and were tried again";
    writer.counter("steadfast_commit_retries", retries, of(&stats.retries))?;
    let histogram = MetricType::Histogram;
    let size = "Pieces of work in a commit";
    write_histogram(
        &mut writer.family("steadfast_commit_size", size, histogram)?,
        &stats.sizes,
        1.0,
    )?;
    let took = "How long the store took to make a commit durable";
    let mut family = writer.family("steadfast_commit_seconds", took, histogram)?;
    write_histogram(&mut family, &stats.micros, 1e-6)?;
    let size = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let unwritten = size(stats.unwritten_bytes.load(Ordering::Relaxed));
    let about = "Bytes of what was done and is not durable yet";
    writer.gauge("steadfast_unwritten_bytes", about, unwritten)?;
    let (workflow, activity) = engine.backlog();
    let waiting = "Tasks that wait for a worker";
    let mut family = writer.family("steadfast_backlog_tasks", waiting, MetricType::Gauge)?;
    for (kind, count) in [("workflow", workflow), ("activity", activity)] {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        family.encode_family(&[("kind", kind)])?.encode_gauge(&count)?;
    }
    let held = engine.held();
    writer.gauge("steadfast_cached_runs", "Runs in memory", size(held.runs))?;
    let about = "Bytes of inputs, pending work and newest events that they keep, about";
    writer.gauge("steadfast_cached_bytes", about, size(held.run_bytes))?;
    writer.gauge("steadfast_cached_schedules", "Schedules in memory", size(held.schedules))?;
    let waiting = "Clients that wait for a workflow to go on or for an update, about";
    writer.gauge("steadfast_waiting_clients", waiting, size(held.watchers))?;
    let about = "1 if the data is lost to this process: another one has it, or its file is gone";
    writer.gauge("steadfast_fenced", about, u64::from(engine.lost().is_some()))
}

pub(super) struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    pub(super) fn family<'s>(
        &'s mut self,
        name: &'s str,
        help: &'s str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }

    fn counter<V>(&mut self, name: &str, help: &str, value: V) -> fmt::Result
    where
        V: prometheus_client::encoding::EncodeCounterValue
            + prometheus_client::encoding::EncodeExemplarValue
            + Copy,
    {
        self.family(name, help, MetricType::Counter)?
            .encode_counter::<NoLabelSet, _, V>(&value, None)
    }

    pub(super) fn gauge<V>(&mut self, name: &str, help: &str, value: V) -> fmt::Result
    where
        V: prometheus_client::encoding::EncodeGaugeValue + Copy,
    {
        self.family(name, help, MetricType::Gauge)?.encode_gauge(&value)
    }
}

pub(super) fn write_histogram(
    encoder: &mut MetricEncoder<'_>,
    histogram: &Histogram,
    unit: f64,
) -> fmt::Result {
    let buckets: Vec<(f64, u64)> = histogram
        .buckets()
        .map(|(bound, count)| (bound.map_or(f64::INFINITY, |bound| float(bound) * unit), count))
        .collect();
    let count = buckets.iter().map(|(_, count)| count).sum();
    encoder.encode_histogram::<NoLabelSet>(float(histogram.sum()) * unit, count, &buckets, None)
}

/// The nearest: what is lost beyond nine quadrillions, nobody misses in a chart.
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "there is no other way")]
fn float(value: u64) -> f64 {
    value as f64
}
