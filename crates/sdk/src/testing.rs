//! An environment for tests: an engine in memory, on time that passes only when everybody waits.
//!
//! A week's timers take milliseconds, nothing listens on a port, and the plug can be pulled at any
//! moment.

use std::{fmt, sync::Arc, time::Duration};

use steadfast_engine::{Clock, Timestamp, Wait};
use steadfast_store::Memory;

use crate::{
    app::{App, AppBuilder, StartError},
    client::Client,
};

/// An application under test.
///
/// ```
/// use std::time::Duration;
/// use steadfast::{Activity, Failure, WorkflowContext, testing::TestEnv};
///
/// async fn charge(order: String) -> Result<String, Failure> {
///     Err(Failure::new(format!("no bank in a test for {order}")))
/// }
///
/// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
///     ctx.sleep(Duration::from_secs(7 * 24 * 60 * 60)).await?;
///     Ok(ctx.activity(charge, &id).await?)
/// }
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     // The bank is mocked by a closure.
///     let charged = |order: String| async move { Ok::<_, Failure>(format!("{order} is paid")) };
///     let mut env = TestEnv::start(move |app| {
///         app.workflow(order).register_activity(Activity::new(charged).named("charge"))
///     })
///     .await?;
///     let order = env.client().start(order, "17").id("order-17").await?;
///     env.wait(Duration::from_secs(60 * 60)).await;
///     env.crash().await?;
///     let order = env.client().workflow::<String>(order.workflow_id());
///     assert_eq!(order.result().await?, "17 is paid");
///     assert_eq!(env.elapsed().as_secs(), 7 * 24 * 60 * 60);
///     Ok(())
/// }
/// ```
pub struct TestEnv {
    app: Option<App>,
    store: Arc<Memory>,
    clock: Arc<VirtualClock>,
    build: Box<dyn Fn(AppBuilder) -> AppBuilder>,
    opened: u64,
}

impl TestEnv {
    /// Starts an application. It is built again after each crash, so the function is asked again.
    ///
    /// Time is that of the runtime, which stands still from here on: the test must run on a runtime
    /// of one thread, as `#[tokio::test]` does. With `#[tokio::test(start_paused = true)]` it stands
    /// still from the first moment, and sleeps end to the millisecond.
    pub async fn start(
        build: impl Fn(AppBuilder) -> AppBuilder + 'static,
    ) -> Result<Self, StartError> {
        let clock = Arc::new(VirtualClock::start());
        let store = Arc::new(Memory::new());
        let mut env = Self { app: None, store, clock, build: Box::new(build), opened: 0 };
        env.open().await?;
        Ok(env)
    }

    /// The application that runs.
    pub fn app(&self) -> &App {
        self.app.as_ref().expect("it is gone only while it is started again")
    }

    /// Starts workflows and talks to them.
    pub fn client(&self) -> &Client {
        self.app().client()
    }

    /// Pulls the plug, and starts again on what was durable.
    pub async fn crash(&mut self) -> Result<(), StartError> {
        if let Some(app) = self.app.take() {
            app.abandon();
        }
        // Tasks that were aborted end at their next turn.
        tokio::task::yield_now().await;
        self.open().await
    }

    /// Stops in good order, and starts again.
    pub async fn restart(&mut self) -> Result<(), StartError> {
        if let Some(app) = self.app.take() {
            app.shutdown().await;
        }
        self.open().await
    }

    /// Lets time pass.
    pub async fn wait(&self, span: Duration) {
        self.clock.sleep(span).await;
    }

    /// How much time has passed.
    pub fn elapsed(&self) -> Duration {
        self.clock.start.elapsed()
    }

    async fn open(&mut self) -> Result<(), StartError> {
        self.opened += 1;
        let builder = App::builder("memory:")
            .store(self.store.clone())
            .clock(self.clock.clone())
            .seed(self.opened)
            .identity(format!("test-{}", self.opened));
        self.app = Some((self.build)(builder).start().await?);
        Ok(())
    }
}

/// Time that passes only when everybody waits.
#[derive(Debug)]
struct VirtualClock {
    start: tokio::time::Instant,
}

impl VirtualClock {
    fn start() -> Self {
        // It stands still already if somebody made the runtime so.
        if !is_paused() {
            tokio::time::pause();
        }
        Self { start: tokio::time::Instant::now() }
    }
}

/// Whether the runtime's time stands still: then a moment of real time changes nothing.
fn is_paused() -> bool {
    let before = tokio::time::Instant::now();
    std::thread::yield_now();
    #[expect(clippy::disallowed_methods, reason = "real time is the yardstick here")]
    let real = std::time::Instant::now();
    while real.elapsed() < Duration::from_micros(50) {}
    before.elapsed().is_zero()
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1_000_000_000).after(self.start.elapsed())
    }

    fn sleep(&self, span: Duration) -> Wait {
        #[expect(clippy::disallowed_methods, reason = "virtual time")]
        let sleep = tokio::time::sleep(span);
        Box::pin(sleep)
    }
}

impl fmt::Debug for TestEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestEnv").field("app", &self.app).finish_non_exhaustive()
    }
}
