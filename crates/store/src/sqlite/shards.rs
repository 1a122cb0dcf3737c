//! Who owns the shards.

use rusqlite::{Connection, Transaction};

use super::{
    commit::begin,
    fault::Fault,
    number,
    packed::{Packed, unpack},
};
use crate::{
    check,
    error::Error,
    rows::{Batch, Epoch, Lease, RunNumber, ShardNumber},
};

pub(super) fn acquire(
    db: &mut Connection,
    shards: u32,
    owner: &str,
    packed: &Packed,
) -> Result<Lease, Fault> {
    let mut waiting = packed.waiting();
    let tx = begin(db)?;
    // What whoever had them before has left.
    unpack(&tx, &mut waiting)?;
    let (found, newest) = tx
        .prepare_cached("SELECT count(*), ifnull(max(epoch), 0) FROM shards")?
        .query_row((), |row| Ok((row.get::<_, u32>(0)?, row.get::<_, i64>(1)?)))?;
    let shards = check::shards(found, shards)?;
    let epoch = newest + 1;
    {
        let sql = "INSERT OR REPLACE INTO shards (shard, epoch, owner) VALUES (?1, ?2, ?3)";
        let mut put = tx.prepare_cached(sql)?;
        for shard in 0..shards {
            put.execute((shard, epoch, owner))?;
        }
    }
    let (last_commit, last_run) = progress(&tx)?;
    tx.commit()?;
    packed.forget(&mut waiting);
    packed.set_ours(true);
    let epoch = Epoch(number::unsigned("epoch", epoch)?);
    Ok(Lease { shards, epoch, next_run: RunNumber(last_run + 1), last_commit })
}

pub(super) fn last_commit(db: &mut Connection) -> Result<u64, Fault> {
    Ok(progress(db)?.0)
}

/// Number of the newest commit, and the highest run number in the tables.
pub(super) fn progress(db: &Connection) -> Result<(u64, i64), Fault> {
    let (sequence, last_run) = db
        .prepare_cached(
            "SELECT ifnull((SELECT max(sequence) FROM packed_commits), sequence), last_run
            FROM commits",
        )?
        .query_row((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((number::unsigned("sequence", sequence)?, last_run))
}

/// Refuses a batch whose owner has lost one of its shards.
pub(super) fn fence(tx: &Transaction<'_>, batch: &Batch) -> Result<(), Fault> {
    let mut select = tx.prepare_cached("SELECT shard, epoch FROM shards ORDER BY shard")?;
    let mut rows = select.query(())?;
    let mut leases = batch.leases.iter().peekable();
    while let Some(row) = rows.next()? {
        let shard = ShardNumber(row.get(0)?);
        let Some((_, held)) = leases.next_if(|(held, _)| **held == shard) else { continue };
        let found = number::unsigned("epoch", row.get(1)?)?;
        if found != held.0 {
            return Err(Error::Fenced { shard: shard.0, held: held.0, found }.into());
        }
    }
    match leases.next() {
        Some((shard, _)) => Err(check::unknown_shard(shard.0).into()),
        None => Ok(()),
    }
}
