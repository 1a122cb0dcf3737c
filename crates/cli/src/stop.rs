//! How a running `steadfast` is asked to stop: Ctrl-C, or the signal that service managers send.

use anyhow::{Context as _, Result};
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

    /// Returns once somebody has asked.
    pub(crate) fn wait(mut self) {
        self.runtime.block_on(self.signals.first());
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
