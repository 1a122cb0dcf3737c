//! The way in and the way out of every RPC.

use steadfast_engine::{Engine, Error};
use steadfast_proto::prost::Message;
use tonic::{Request, Response, Status};

use super::{
    deadline,
    rpc::{Right, Rpc},
    status::status,
};

/// Where calls come in. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    engine: Engine,
}

/// A call that was let in.
#[derive(Debug)]
pub(super) struct Call {
    rpc: Rpc,
    /// The engine, for as long as the caller waits.
    engine: Engine,
}

impl Door {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// Lets a call in, or says why not.
    #[expect(clippy::unnecessary_wraps, reason = "keys are asked for here")]
    pub(super) fn enter<M>(
        &self,
        rpc: Rpc,
        _right: Right,
        _namespace: Option<String>,
        request: Request<M>,
    ) -> Result<(M, Call), Status> {
        let engine = match deadline::of(request.metadata().as_ref()) {
            Some(span) => self.engine.within(deadline::for_us(span)),
            None => self.engine.clone(),
        };
        Ok((request.into_inner(), Call { rpc, engine }))
    }
}

impl Call {
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Gives the engine's answer to the caller.
    pub(super) fn leave<M: Message>(self, answer: Result<M, Error>) -> Result<Response<M>, Status> {
        match answer {
            Ok(message) => {
                let small = message.encoded_len() < COMPRESSED_FROM;
                let mut response = Response::new(message);
                if small {
                    response.disable_compression();
                }
                Ok(response)
            }
            Err(error) => {
                tracing::debug!(rpc = self.rpc.name(), code = %error.code, "{}", error.message);
                Err(status(error))
            }
        }
    }
}

/// The answer to an RPC that is not served.
pub(super) fn refuse(rpc: Rpc) -> Status {
    Status::unimplemented(format!("{} is not supported by this server", rpc.name()))
}

/// Compressing a message shorter than this costs more than sending it.
const COMPRESSED_FROM: usize = 1024;
