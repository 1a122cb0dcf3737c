//! What ends a running `steadfast`: Ctrl-C, the signal that service managers send, or the loss of its
//! data.

use anyhow::{Context as _, Result};
use steadfast_engine::{Engine, Lost};
use tokio::runtime::{Builder, Runtime};

/// A request to stop that has not come yet.
#[derive(Debug)]
pub(crate) struct Asked {
    runtime: Runtime,
    signals: Signals,
}

impl Asked {
    /// Begins to listen: from now on a signal no longer ends the process by itself.
    pub(crate) fn listen() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build().context("starting up")?;
        let signals = runtime.block_on(async { Signals::listen() }).context("starting up")?;
        Ok(Self { runtime, signals })
    }

    /// Returns once somebody has asked. An error if the engine is of no use before: whoever looks after
    /// this process can start another one, and hears why.
    pub(crate) fn wait(mut self, engine: &Engine) -> Result<(), Lost> {
        self.runtime.block_on(async {
            tokio::select! {
                () = self.signals.first() => Ok(()),
                lost = engine.wait_until_lost() => Err(lost),
            }
        })
    }
}

#[cfg(unix)]
#[derive(Debug)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn first(&mut self) {
        std::future::poll_fn(|cx| {
            let interrupted = self.interrupt.poll_recv(cx).is_ready();
            let terminated = self.terminate.poll_recv(cx).is_ready();
            if interrupted || terminated {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
    }
}

#[cfg(windows)]
#[derive(Debug)]
struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(windows)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { interrupt: tokio::signal::windows::ctrl_c()? })
    }

    async fn first(&mut self) {
        self.interrupt.recv().await;
    }
}
