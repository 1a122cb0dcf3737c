//! Running asides: each in a savepoint, kept away from our own tables.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use rusqlite::{
    Connection, ErrorCode, Transaction,
    hooks::{AuthAction, AuthContext, Authorization},
};

use super::{commit::begin, fault::Fault, schema};
use crate::{
    aside::{Aside, Failure},
    error::Error,
};

/// Watches what is asked of the writer's connection while an aside runs.
///
/// The database asks it when a statement is prepared, not when it is run, and our own statements are
/// prepared once: so it costs nothing between asides.
#[derive(Debug, Default)]
pub(super) struct Guard {
    within: AtomicBool,
    denied: Mutex<Option<String>>,
}

impl Guard {
    /// A guard of this connection.
    pub(super) fn of(db: &mut Connection) -> Result<Arc<Self>, Fault> {
        let guard = Arc::new(Self::default());
        let watching = Arc::clone(&guard);
        db.authorizer(Some(move |asked: AuthContext<'_>| watching.judge(&asked)))?;
        Ok(guard)
    }

    fn judge(&self, asked: &AuthContext<'_>) -> Authorization {
        if !self.within.load(Ordering::Relaxed) {
            return Authorization::Allow;
        }
        let Some(reason) = objection(&asked.action) else { return Authorization::Allow };
        *self.lock() = Some(reason);
        Authorization::Deny
    }

    /// Runs an aside, and says what was denied to it if that is why it failed.
    fn run(&self, db: &Connection, aside: &Aside) -> Result<(), Failure> {
        *self.lock() = None;
        self.within.store(true, Ordering::Relaxed);
        let done = aside.run(db);
        self.within.store(false, Ordering::Relaxed);
        match (done, self.lock().take()) {
            (Err(error), Some(reason)) => Err(format!("{error}: {reason}").into()),
            (done, _) => done,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs an aside and, if that succeeds, `then`; otherwise nothing of both is left, the aside says
/// why, and the transaction goes on.
pub(super) fn apply(
    tx: &Transaction<'_>,
    guard: &Guard,
    aside: &Aside,
    then: impl FnOnce() -> Result<(), Fault>,
) -> Result<(), Fault> {
    tx.prepare_cached("SAVEPOINT steadfast_aside")?.execute(())?;
    let Err(error) = guard.run(tx, aside) else {
        still_open(tx, aside)?;
        then()?;
        tx.prepare_cached("RELEASE steadfast_aside")?.execute(())?;
        return Ok(());
    };
    let reason = error.to_string();
    // A disk that fails is nobody's mistake: the commit is tried again.
    if let Ok(error) = error.downcast::<rusqlite::Error>()
        && is_of_the_disk(&error)
    {
        return Err((*error).into());
    }
    still_open(tx, aside)?;
    tx.execute_batch("ROLLBACK TO steadfast_aside; RELEASE steadfast_aside")?;
    aside.refuse(reason);
    Ok(())
}

/// Refuses an aside whose own statements ended the transaction, and with it everybody else's. Alone,
/// it harms nobody.
fn still_open(tx: &Transaction<'_>, aside: &Aside) -> Result<(), Fault> {
    if !tx.is_autocommit() {
        return Ok(());
    }
    let reason = "it rolled the whole transaction back";
    aside.refuse(reason);
    Err(Error::Rejected(reason.to_owned()).into())
}

/// Runs an aside in a transaction of its own.
pub(super) fn alone(db: &mut Connection, guard: &Guard, aside: &Aside) -> Result<(), Fault> {
    let tx = begin(db)?;
    apply(&tx, guard, aside, || Ok(()))?;
    if let Some(reason) = aside.failure() {
        return Err(Error::Rejected(reason).into());
    }
    Ok(tx.commit()?)
}

fn is_of_the_disk(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure))
}

/// Why an aside may not do that; `None` if it may.
fn objection(action: &AuthAction<'_>) -> Option<String> {
    match action {
        AuthAction::Transaction { .. } => {
            Some("the transaction is not its own to begin or end".to_owned())
        }
        AuthAction::Attach { .. } | AuthAction::Detach { .. } | AuthAction::Pragma { .. } => {
            Some("it may not change how the database works".to_owned())
        }
        AuthAction::Savepoint { savepoint_name: "steadfast_aside", .. } => {
            Some("the savepoint steadfast_aside is not its own".to_owned())
        }
        AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTrigger { .. } => {
            Some("what is temporary would outlive it, and be in everybody's way".to_owned())
        }
        AuthAction::Insert { table_name: table }
        | AuthAction::Update { table_name: table, .. }
        | AuthAction::Delete { table_name: table }
        | AuthAction::DropTable { table_name: table }
        | AuthAction::AlterTable { table_name: table, .. }
        | AuthAction::CreateIndex { table_name: table, .. }
        | AuthAction::DropIndex { table_name: table, .. }
        | AuthAction::CreateTrigger { table_name: table, .. } => of_ours(table),
        AuthAction::CreateTable { .. }
        | AuthAction::CreateView { .. }
        | AuthAction::CreateVtable { .. }
        | AuthAction::DropView { .. }
        | AuthAction::DropVtable { .. }
        | AuthAction::DropTrigger { .. }
        | AuthAction::DropTempTable { .. }
        | AuthAction::DropTempView { .. }
        | AuthAction::DropTempIndex { .. }
        | AuthAction::DropTempTrigger { .. }
        | AuthAction::Read { .. }
        | AuthAction::Select
        | AuthAction::Recursive
        | AuthAction::Function { .. }
        | AuthAction::Savepoint { .. }
        | AuthAction::Reindex { .. }
        | AuthAction::Analyze { .. } => None,
        AuthAction::Unknown { .. } | _ => Some("nobody knows what that does".to_owned()),
    }
}

fn of_ours(table: &str) -> Option<String> {
    let ours = schema::tables(schema::VERSION).any(|name| name.eq_ignore_ascii_case(table));
    ours.then(|| format!("the table {table} is Steadfast's own"))
}
