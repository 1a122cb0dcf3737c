//! A thread with a way to the server of its own, for what must be heard in time.
//!
//! Code that holds its thread keeps a runtime from much: from the task that it is, from those that wait
//! behind it, at times from timers and connections. A worker must be heard of meanwhile, or its attempts
//! would be tried again beside themselves.

use std::{convert::Infallible, io, sync::OnceLock, thread};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

use crate::door::Door;

/// The thread, if there is one: it is started when it is wanted first.
#[derive(Debug, Default)]
pub(super) struct Pulse(OnceLock<Option<Beating>>);

/// A thread that runs, as long as there is this.
#[derive(Debug)]
pub(super) struct Beating {
    runtime: Handle,
    door: Door,
    _until: oneshot::Sender<Infallible>,
}

impl Pulse {
    /// The thread, if `door` leads to a server. An engine in this process is no further away from
    /// there, and time in tests is that of their runtime.
    pub(super) fn of(&self, door: &Door) -> Option<&Beating> {
        if door.engine().is_some() {
            return None;
        }
        let start = || {
            let warn = |error: &io::Error| {
                tracing::warn!(%error, "no thread for signs of life: code must not hold its own");
            };
            Beating::start(door).inspect_err(warn).ok()
        };
        self.0.get_or_init(start).as_ref()
    }
}

impl Beating {
    fn start(door: &Door) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        // The connection belongs to the runtime in which it is made.
        let door = {
            let _within = runtime.enter();
            door.apart()
        };
        let (until, ended) = oneshot::channel::<Infallible>();
        // What it waits for never comes: an error is the end.
        let beat = move || drop(runtime.block_on(ended));
        thread::Builder::new().name("steadfast-pulse".to_owned()).spawn(beat)?;
        Ok(Self { runtime: handle, door, _until: until })
    }

    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    pub(super) fn door(&self) -> &Door {
        &self.door
    }
}
