//! The clock of the simulated machine: virtual time, which somebody may set wrong.

use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::Duration,
};

use steadfast_engine::{Clock, Timestamp, Wait};

/// The clock of the simulated machine.
#[derive(Debug)]
pub(crate) struct SimClock {
    begin: tokio::time::Instant,
    /// How far it was set wrong, in nanoseconds.
    wrong: AtomicI64,
    /// The latest time that it ever showed.
    latest: AtomicI64,
    set_back: AtomicBool,
}

impl SimClock {
    /// A clock that is right. Must be made inside the runtime of the simulation.
    pub(crate) fn new() -> Self {
        let begin = tokio::time::Instant::now();
        let set_back = AtomicBool::new(false);
        Self { begin, wrong: AtomicI64::new(0), latest: AtomicI64::new(0), set_back }
    }

    /// How long the simulation has been going on; never set wrong.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Sets it wrong by so much more, forwards or backwards.
    pub(crate) fn jump(&self, millis: i64) {
        self.set_back.fetch_or(millis < 0, Ordering::Relaxed);
        self.wrong.fetch_add(millis.saturating_mul(1_000_000), Ordering::Relaxed);
    }

    /// Whether it was ever set back.
    pub(crate) fn was_set_back(&self) -> bool {
        self.set_back.load(Ordering::Relaxed)
    }

    /// The latest time that it ever showed, up to now.
    pub(crate) fn latest(&self) -> Timestamp {
        self.now();
        Timestamp(self.latest.load(Ordering::Relaxed))
    }

    /// Waits, by time that does not jump.
    pub(crate) async fn wait(&self, span: Duration) {
        self.sleep(span).await;
    }
}

impl Default for SimClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let right = Timestamp::from_secs(EPOCH).after(self.begin.elapsed());
        let now = right.nanos().saturating_add(self.wrong.load(Ordering::Relaxed));
        self.latest.fetch_max(now, Ordering::Relaxed);
        Timestamp(now)
    }

    fn sleep(&self, span: Duration) -> Wait {
        #[expect(clippy::disallowed_methods, reason = "time is virtual here")]
        let sleep = tokio::time::sleep(span);
        Box::pin(sleep)
    }
}

/// Has something done in virtual time: on one thread, which waits for nothing but itself.
pub(crate) fn run<T>(simulation: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and devices can be built");
    runtime.block_on(simulation)
}

/// When simulations begin: a Tuesday in 2033.
const EPOCH: i64 = 2_000_000_000;
