//! What the services can do, as a table: one line an RPC.
//!
//! The macro makes of each line the method of the service trait and its row in the list that
//! `docs/compatibility.md` is printed from, so that neither can say what the other does not.

/// What it takes to be allowed to call an RPC.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Right {
    /// Look.
    Read,
    /// Start, work, change.
    Write,
    /// Set up namespaces and what they know.
    Admin,
}

/// Whether an RPC is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// It is carried out.
    Served(Right),
    /// It is answered with UNIMPLEMENTED.
    Refused,
}

/// One RPC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rpc {
    /// The name of its request, which is its own name and `Request`.
    request: &'static str,
    /// Whether it is answered.
    pub state: State,
}

/// The RPCs of a service.
#[derive(Clone, Copy, Debug)]
pub struct Rpcs {
    /// The service's full name.
    pub service: &'static str,
    /// In the order of the public definition, served ones first.
    pub rpcs: &'static [Rpc],
}

impl Rpc {
    pub(super) const fn new(request: &'static str, state: State) -> Self {
        Self { request, state }
    }

    /// Its name, `StartWorkflowExecution` for example.
    pub fn name(&self) -> &'static str {
        self.request.strip_suffix("Request").unwrap_or(self.request)
    }
}

/// Writes the implementation of a service trait and the list of its RPCs.
macro_rules! service {
    (
        $(#[$about:meta])*
        $list:ident: $trait:path as $name:literal, in $package:ident;
        serves { $($right:ident $scope:ident $served:ident($asks:ident) -> $answers:ident;)* }
        refuses { $($refused:ident($asked:ident) -> $unanswered:ident;)* }
    ) => {
        $(#[$about])*
        pub const $list: Rpcs = Rpcs {
            service: $name,
            rpcs: &[
                $(Rpc::new(stringify!($asks), State::Served(Right::$right)),)*
                $(Rpc::new(stringify!($asked), State::Refused),)*
            ],
        };

        #[tonic::async_trait]
        impl $trait for Door {
            $(
                async fn $served(
                    &self,
                    request: Request<$package::$asks>,
                ) -> Result<Response<$package::$answers>, Status> {
                    let (message, call) = self.enter(
                        const { Rpc::new(stringify!($asks), State::Served(Right::$right)) },
                        Right::$right,
                        service!(@scope $scope request),
                        request,
                    )?;
                    let answer = call.engine().$served(message).await;
                    call.leave(answer)
                }
            )*
            $(
                async fn $refused(
                    &self,
                    _: Request<$package::$asked>,
                ) -> Result<Response<$package::$unanswered>, Status> {
                    Err(refuse(const { Rpc::new(stringify!($asked), State::Refused) }))
                }
            )*
        }
    };
    (@scope namespace $request:ident) => {
        Some($request.get_ref().namespace.clone())
    };
    (@scope cluster $request:ident) => {
        None
    };
}

pub(super) use service;
