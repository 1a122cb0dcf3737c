//! A long activity that does not begin again: a file is copied, the process is killed in the middle,
//! and the next one goes on at the last heartbeat.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::{
    error::Error,
    fs::{self, File, OpenOptions},
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use steadfast::{
    ActivityContext, App, Failure, RetryPolicy, WorkflowContext, WorkflowIdConflictPolicy,
};

const CHUNKS: u64 = 80;
const CHUNK: u64 = 16 * 1024;

/// Copies chunk by chunk, and says after each how far it is.
async fn copy_file(ctx: ActivityContext, (from, to): (String, String)) -> Result<u64, Failure> {
    let done: u64 = ctx.last_heartbeat().transpose()?.unwrap_or(0);
    println!("attempt {} begins at {}%", ctx.attempt(), done * 100 / CHUNKS);
    let mut source = File::open(from)?;
    let mut target = OpenOptions::new().create(true).write(true).truncate(false).open(to)?;
    source.seek(SeekFrom::Start(done * CHUNK))?;
    target.seek(SeekFrom::Start(done * CHUNK))?;
    // A slow disk.
    let mut disk = tokio::time::interval(Duration::from_millis(20));
    let mut chunk = Vec::new();
    for number in done..CHUNKS {
        disk.tick().await;
        chunk.clear();
        (&source).take(CHUNK).read_to_end(&mut chunk)?;
        target.write_all(&chunk)?;
        ctx.heartbeat(&(number + 1))?;
        println!("{}%", (number + 1) * 100 / CHUNKS);
    }
    Ok(CHUNKS - done)
}

async fn copy(ctx: WorkflowContext, files: (String, String)) -> Result<u64, Failure> {
    let soon = RetryPolicy::new().initial_interval(Duration::from_millis(100));
    let copied = ctx.activity(copy_file, &files).retry(soon);
    Ok(copied.heartbeat(Duration::from_millis(500)).await?)
}

/// One life of the program.
#[tokio::main]
async fn live(folder: &Path) -> Result<(), Box<dyn Error>> {
    let file = |name: &str| folder.join(name).display().to_string();
    let target = format!("sqlite:{}", file("copy.db"));
    let app = App::builder(target).workflow(copy).activity(copy_file).start().await?;
    let client = app.client();
    let started = client
        .start(copy, (file("from"), file("to")))
        .id("copy")
        .id_conflict(WorkflowIdConflictPolicy::UseExisting)
        .await?;
    println!("the last attempt copied {} of {CHUNKS} chunks", started.result().await?);
    app.shutdown().await;
    Ok(())
}

/// Watches a life, and ends it with SIGKILL when it says the word.
fn watch(folder: &Path, word: Option<&str>) -> Result<(), Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["live".as_ref(), folder.as_os_str()])
        .stdout(Stdio::piped())
        .spawn()?;
    let out = child.stdout.take().ok_or("it has an output")?;
    for line in BufReader::new(out).lines() {
        let line = line?;
        if !line.ends_with('%') || line.starts_with("attempt") {
            println!("  {line}");
        }
        if word == Some(line.as_str()) {
            println!("  {line}: kill -9");
            child.kill()?;
        }
    }
    child.wait()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, folder] = args.as_slice()
        && verb == "live"
    {
        return live(Path::new(folder));
    }
    let scratch = tempfile::tempdir()?;
    let folder = args.first().map_or_else(|| scratch.path(), Path::new);
    fs::create_dir_all(folder)?;
    let bytes: Vec<u8> = (0..CHUNKS * CHUNK).map(|at| at.to_le_bytes()[1]).collect();
    fs::write(folder.join("from"), &bytes)?;
    println!("first life");
    watch(folder, Some("50%"))?;
    println!("second life");
    watch(folder, None)?;
    println!("the copy is the same: {}", fs::read(folder.join("to"))? == bytes);
    Ok(())
}
