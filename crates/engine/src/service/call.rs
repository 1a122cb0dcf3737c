//! The two plain things to ask of a run: take this input, and let me look.

use steadfast_core::{Input, Run};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, caller::Place, not_found};
use crate::{
    error::{Code, Error},
    shard::{Address, Desk, Job, Patient},
};

impl Engine {
    /// Gives a run an input and shows what `look` wants to see of it afterwards.
    pub(super) async fn apply<T: Send + 'static>(
        &self,
        address: Address,
        chain: String,
        input: Input,
        look: impl FnOnce(&Run) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (slot, reply) = oneshot::channel();
        let job = ApplyJob { address, chain, input, look, slot };
        self.post(job);
        self.answer(reply).await
    }

    /// Shows what `look` wants to see of a run.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        address: Address,
        look: impl FnOnce(RunNumber, &Run) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (slot, reply) = oneshot::channel();
        self.post(LookJob { address, look, slot });
        self.answer(reply).await
    }

    /// Sends a job to where its address is.
    pub(super) fn post(&self, job: impl Job + 'static) {
        let mailbox = match job.address() {
            Address::Current { namespace_id, workflow_id }
            | Address::Run { namespace_id, workflow_id, .. } => {
                self.shared().mailbox_of(namespace_id, workflow_id)
            }
            // A number does not say whose it is: such a job is sent with the workflow that it is for.
            Address::Number(_) => {
                let what = "a run was asked for by its number alone";
                return Box::new(job).fail(Error::new(Code::Internal, what));
            }
        };
        match self.caller.place {
            Place::Elsewhere => Self::put(mailbox, job),
            Place::Here | Place::WorkerHere => Self::put(mailbox, Patient(Box::new(job))),
        }
    }
}

struct ApplyJob<T, L> {
    address: Address,
    /// The first run of the chain that is meant; empty for any.
    chain: String,
    input: Input,
    look: L,
    slot: oneshot::Sender<Result<T, Error>>,
}

impl<T: Send + 'static, L: FnOnce(&Run) -> T + Send> Job for ApplyJob<T, L> {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let Self { address, chain, input, look, slot } = *self;
        let run = found.and_then(|number| Some((number, desk.run(number)?)));
        let outcome = match run {
            Some((number, run)) if chain.is_empty() || run.first_run_id() == chain => desk
                .apply(number, input)
                .map_err(Error::from)
                .and_then(|()| desk.run(number).map(look).ok_or_else(|| not_found(&address))),
            _ => Err(not_found(&address)),
        };
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

struct LookJob<T, L> {
    address: Address,
    look: L,
    slot: oneshot::Sender<Result<T, Error>>,
}

impl<T: Send + 'static, L: FnOnce(RunNumber, &Run) -> T + Send> Job for LookJob<T, L> {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let Self { address, look, slot } = *self;
        let run = found.and_then(|number| Some((number, desk.run(number)?)));
        let outcome = run.map(|(number, run)| look(number, run)).ok_or_else(|| not_found(&address));
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}
