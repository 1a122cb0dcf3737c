//! What the services can do, as a table: one line an RPC.
//!
//! The macro makes of each line what carries out the RPC and its row in the list that
//! `docs/compatibility.md` is printed from, so that neither can say what the other does not.

use std::fmt;

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

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "administer",
        })
    }
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

/// The place of an RPC in the list of its service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) rpc: Rpc,
    pub(crate) service: &'static str,
    pub(crate) number: usize,
}

impl Rpc {
    pub(crate) const fn new(request: &'static str, state: State) -> Self {
        Self { request, state }
    }

    /// Its name, `StartWorkflowExecution` for example.
    pub fn name(&self) -> &'static str {
        self.request.strip_suffix("Request").unwrap_or(self.request)
    }
}

impl Rpcs {
    /// The row of the RPC with this request. Asked for while compiling, so that a call does not
    /// look for itself.
    pub(crate) const fn row(&self, request: &str) -> Row {
        let mut number = 0;
        while number < self.rpcs.len() {
            if is_same(self.rpcs[number].request, request) {
                return Row { rpc: self.rpcs[number], service: self.service, number };
            }
            number += 1;
        }
        panic!("a handler is made from its row")
    }
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Writes what carries out each RPC of a service, and the list of them.
///
/// Beside its right, a row says where the call works: in the `namespace` that it names, in the
/// `cluster` as a whole, or nowhere in particular, so that `anyone` with a key may ask.
macro_rules! service {
    (
        $(#[$about:meta])*
        $list:ident: $name:literal, in $package:ident, by $handlers:ident;
        serves { $($right:ident $scope:ident $served:ident($asks:ident);)* }
        refuses { $($asked:ident;)* }
    ) => {
        $(#[$about])*
        pub const $list: Rpcs = Rpcs {
            service: $name,
            rpcs: &[
                $(Rpc::new(stringify!($asks), State::Served(Right::$right)),)*
                $(Rpc::new(stringify!($asked), State::Refused),)*
            ],
        };

        /// What carries out each of them, in the same order.
        pub(super) const $handlers: &[Handler] = &[
            $(|door, request| Box::pin(async move {
                let (Parts { headers, .. }, body) = request.into_parts();
                let answer = async {
                    let asked: $package::$asks = unary::asked(&headers, body).await?;
                    let call = door.enter(
                        const { $list.row(stringify!($asks)) },
                        Wanted { right: Right::$right, place: service!(@place $scope asked) },
                        &headers,
                    )?;
                    let answer = call.engine().$served(asked).await;
                    call.leave(answer)
                };
                let answer = answer.await;
                Ok(unary::say(answer, &headers))
            }),)*
            $(|door, request| Box::pin(async move {
                let (Parts { headers, .. }, body) = request.into_parts();
                // It is read nonetheless: a call ends in better order if all of it has come.
                let asked: Result<(), Status> = unary::asked(&headers, body).await;
                let row = const { $list.row(stringify!($asked)) };
                Ok(unary::say(asked.and_then(|()| Err::<(), _>(door.refuse(row))), &headers))
            }),)*
        ];
    };
    (@place namespace $asked:ident) => {
        Place::Namespace(&$asked.namespace)
    };
    (@place cluster $asked:ident) => {
        Place::Cluster
    };
    (@place anyone $asked:ident) => {
        Place::Anywhere
    };
}

pub(crate) use service;
