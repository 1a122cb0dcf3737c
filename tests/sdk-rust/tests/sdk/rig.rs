//! A server, a client and a worker, for as long as a test needs them.

use std::{cell::RefCell, time::Duration};

use anyhow::Result;
use steadfast_sdk_rust::{activities::Work, server::Server, workflows};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, WorkflowHandle, WorkflowStartOptions,
    errors::WorkflowGetResultError,
};
use temporalio_common::{HasWorkflowDefinition, WorkflowDefinition};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use url::Url;

/// Where the worker waits.
pub const QUEUE: &str = "rust";

/// What a test has to do with.
pub struct Rig {
    pub client: Client,
    pub work: Work,
    server: RefCell<Server>,
}

impl Rig {
    /// Starts a workflow under an id.
    pub async fn start<W>(&self, id: &str, workflow: W, input: W::Input) -> Handle<W>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
    {
        let options = WorkflowStartOptions::new(QUEUE, id).build();
        self.client.start_workflow(workflow, input, options).await.expect("it starts")
    }

    /// Runs a workflow to its end.
    pub async fn run<W>(&self, id: &str, workflow: W, input: W::Input) -> Ended<W>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
    {
        self.start(id, workflow, input).await.get_result(Default::default()).await
    }

    /// Pulls the plug on the server, and starts it again.
    pub fn kill_the_server(&self) {
        self.server.borrow_mut().kill_and_restart().expect("it serves again");
    }
}

pub type Handle<W> = WorkflowHandle<Client, W>;
pub type Ended<W> = Result<<W as WorkflowDefinition>::Output, WorkflowGetResultError>;

/// Runs a story beside a worker, for a minute or two at the most.
pub fn with_a_worker(story: impl AsyncFnOnce(&Rig)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("threads can be started");
    let story = async {
        let server = Server::start()?;
        let client = connect(&server).await?;
        let work = Work::default();
        let mut worker = worker(client.clone(), work.clone())?;
        let rig = Rig { client, work, server: RefCell::new(server) };
        let ask_to_stop = worker.shutdown_handle();
        let told = async {
            story(&rig).await;
            ask_to_stop();
        };
        let (ran, ()) = tokio::join!(worker.run(), told);
        anyhow::Ok(ran?)
    };
    let limited = async { tokio::time::timeout(PATIENCE, story).await };
    runtime.block_on(limited).expect("the story ends in time").expect("worker and server run");
}

const PATIENCE: Duration = Duration::from_secs(120);

async fn connect(server: &Server) -> Result<Client> {
    let url: Url = format!("http://{}", server.address()).parse()?;
    let connection = Connection::connect(ConnectionOptions::new(url).build()).await?;
    Ok(Client::new(connection, ClientOptions::new("default").build())?)
}

fn worker(client: Client, work: Work) -> Result<Worker> {
    let runtime = Runtime::from_current_tokio(Default::default())?;
    let options = WorkerOptions::new(QUEUE)
        .graceful_shutdown_period(Duration::from_millis(100))
        .register_activities(work)
        .register_workflow::<workflows::Retried>()?
        .register_workflow::<workflows::UsedUp>()?
        .register_workflow::<workflows::NotRetried>()?
        .register_workflow::<workflows::Delayed>()?
        .register_workflow::<workflows::Heartbeats>()?
        .register_workflow::<workflows::TimesOut>()?
        .register_workflow::<workflows::Waits>()?
        .register_workflow::<workflows::TidiesUp>()?
        .register_workflow::<workflows::Adder>()?
        .register_workflow::<workflows::Parent>()?
        .register_workflow::<workflows::CountsDown>()?
        .register_workflow::<workflows::Local>()?
        .register_workflow::<workflows::Coloured>()?
        .register_workflow::<workflows::Load>()?
        .build();
    Ok(Worker::new(&runtime, client, options)?)
}
