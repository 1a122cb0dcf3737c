//! A payload codec: what workflows and activities say is readable to nobody who has not got it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use steadfast::{
    ActivityContext, App, AppBuilder, ClientError, Failure, PayloadCodec, Replayer, RetryPolicy,
    StateCell, WorkflowContext, WorkflowHandle,
    proto::{
        common::Payload,
        history::{HistoryEvent, history_event::Attributes},
        prost::Message as _,
    },
    testing::TestEnv,
};

/// In everything that is said.
const SECRET: &str = "sesame";

type Coded = Result<Payload, Box<dyn std::error::Error + Send + Sync>>;

/// Turns each byte by the key. It has a key that can be changed, and words that it cannot say.
#[derive(Clone)]
struct Turn(Arc<AtomicU8>);

impl Turn {
    fn by(key: u8) -> Self {
        Self(Arc::new(AtomicU8::new(key)))
    }

    fn key(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PayloadCodec for Turn {
    fn encode(&self, payload: Payload) -> Coded {
        let words = String::from_utf8_lossy(&payload.data);
        if words.contains("unspeakable") {
            return Err("it has no word for that".into());
        }
        assert!(!words.contains("horror"), "a codec may panic");
        let data = payload.encode_to_vec().into_iter().map(|byte| byte.wrapping_add(self.key()));
        let metadata = [
            ("encoding".to_owned(), b"binary/turned".to_vec()),
            ("key".to_owned(), vec![self.key()]),
        ];
        Ok(Payload { metadata: metadata.into(), data: data.collect(), ..Payload::default() })
    }

    fn decode(&self, payload: Payload) -> Coded {
        match payload.metadata.get("key") {
            None => return Ok(payload),
            Some(key) if key != [self.key()] => return Err("it has another key".into()),
            Some(_) => {}
        }
        let data: Vec<u8> = payload.data.iter().map(|byte| byte.wrapping_sub(self.key())).collect();
        Ok(Payload::decode(data.as_slice())?)
    }
}

/// Fails once with details, after a heartbeat; then says what it was told and what it had beaten.
async fn tell(ctx: ActivityContext, word: String) -> Result<String, Failure> {
    if ctx.attempt() == 1 {
        ctx.heartbeat(&format!("{SECRET} heart"))?;
        return Err(Failure::new("once").with_details(&format!("{SECRET} detail"))?);
    }
    let beaten: String = ctx.last_heartbeat().expect("it beat")?;
    Ok(format!("{word}, {beaten}"))
}

async fn child(_: WorkflowContext, word: String) -> Result<String, Failure> {
    Err(Failure::new("it always does").with_details(&word)?)
}

/// Says the secret in every way that there is.
async fn talk(ctx: WorkflowContext, word: String) -> Result<Vec<String>, Failure> {
    if word.ends_with("again") {
        return Ok(vec![word, ctx.info().memo::<String>("memo").expect("there")?]);
    }
    let heard = StateCell::new(Vec::new());
    let (shown, kept) = (heard.clone(), heard.clone());
    ctx.on_query("heard", move |ask: String| format!("{ask}: {:?}", shown.get()));
    ctx.on_update_if(
        "hear",
        |word: &String| match word.len() {
            0 => Err(Failure::new("nothing").with_details(SECRET).unwrap_or_else(Failure::from)),
            _ => Ok(()),
        },
        move |_: WorkflowContext, word: String| {
            let kept = kept.clone();
            async move {
                kept.change(|all| all.push(word.clone()));
                Ok::<_, Failure>(format!("heard {word}"))
            }
        },
    );
    let told =
        ctx.activity(tell, &word).retry(quick()).summary(format!("{SECRET} summary")).await?;
    heard.change(|all| all.push(told));
    let noted: String = ctx.side_effect(|| format!("{SECRET} aside"))?;
    heard.change(|all| all.push(noted));
    let here: String = ctx.local_activity(echo, &word).await?;
    heard.change(|all| all.push(here));
    let failed = ctx.child(child, format!("{SECRET} child")).await.expect_err("it always does");
    heard.change(|all| all.push(failed.to_string()));
    let signalled: String = ctx.signals("signal").receive().await?;
    heard.change(|all| all.push(signalled));
    ctx.until(|| heard.with(|all| all.iter().any(|it| it.ends_with("update")))).await;
    ctx.upsert_memo("memo", &format!("{SECRET} memo"))?;
    ctx.continue_as_new(&format!("{} again", heard.get().join("; ")))
}

async fn echo(word: String) -> Result<String, Failure> {
    Ok(format!("{word} here"))
}

fn quick() -> RetryPolicy {
    RetryPolicy::new().initial_interval(Duration::from_millis(1))
}

fn build(app: AppBuilder) -> AppBuilder {
    app.workflow(talk).workflow(child).activity(tell).activity(echo)
}

/// Says what there is to say from outside; checks that it is understood.
async fn converse(run: &WorkflowHandle<Vec<String>>) {
    run.signal("signal", &format!("{SECRET} signal")).await.expect("answered");
    let refused = run.update::<String>("hear", &String::new()).await.expect_err("refused");
    assert!(
        matches!(&refused, ClientError::Refused(why) if why.details::<String>().is_ok_and(|it| it == SECRET)),
        "{refused:?}"
    );
    let heard: String = run.query("heard", &format!("{SECRET} query")).await.expect("answered");
    assert!(heard.starts_with("sesame query: ["), "{heard}");
    let heard: String = run.update("hear", &format!("{SECRET} update")).await.expect("answered");
    assert_eq!(heard, "heard sesame update");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_has_nothing_that_its_codec_has_not_encoded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret.db");
    let codec = Turn::by(7);
    let start = || async {
        let place = format!("sqlite:{}", file.display());
        build(App::builder(place)).payload_codec(codec.clone()).start().await.unwrap()
    };
    let app = start().await;
    let run = app.client().start(talk, format!("{SECRET} word")).id("talk").await.unwrap();
    converse(&run).await;
    let said = run.result().await.unwrap();
    let words = ["word, sesame heart", "aside", "word here", "signal", "update"];
    assert!(words.iter().all(|word| said[0].contains(&format!("{SECRET} {word}"))), "{said:?}");
    assert_eq!(said[1], "sesame memo");
    app.shutdown().await;

    let mut bytes = Vec::new();
    for part in std::fs::read_dir(folder.path()).unwrap() {
        bytes.extend(std::fs::read(part.unwrap().path()).unwrap());
    }
    let has = |words: &[u8]| bytes.windows(words.len()).any(|it| it == words);
    assert!(has(b"binary/turned") && has(b"talk"), "it is the file");
    assert!(!has(SECRET.as_bytes()), "the secret is in the file");

    // Who has no codec sees what there is, and a replayer that has it reads it.
    let place = format!("sqlite:{}", file.display());
    let app = App::builder(place).workflow(child).start().await.unwrap();
    let seen = app.client().workflow::<Vec<String>>("talk");
    let events = seen.history().await.unwrap();
    assert!(seen.result().await.is_err(), "it is JSON to nobody");
    Replayer::new().workflow(talk).payload_codec(codec).replay(events.clone()).unwrap();
    let wrong = Replayer::new().workflow(talk).payload_codec(Turn::by(8)).replay(events);
    let wrong = wrong.unwrap_err().to_string();
    assert_eq!(wrong, "the payload codec could not decode a payload: it has another key");
    app.shutdown().await;
}

/// Says so much of what failed last, workflow task or activity, as there is to be seen of it.
async fn told(run: &WorkflowHandle<String>) -> String {
    let described = run.describe().await.expect("answered");
    let pending = described.pending_activities.into_iter().find_map(|it| it.last_failure);
    let events = run.history().await;
    let of_task = |event: &HistoryEvent| match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(it)) => it.failure.clone(),
        _ => None,
    };
    let tasks = events.iter().flatten().filter_map(of_task).next_back();
    pending.or(tasks).map(|it| it.message).unwrap_or_default()
}

async fn order(ctx: WorkflowContext, word: String) -> Result<String, Failure> {
    ctx.sleep(Duration::from_secs(60)).await?;
    Ok(ctx.activity(echo, &word).retry(quick()).await?)
}

#[tokio::test]
async fn what_a_worker_cannot_decode_waits_for_one_that_can() {
    let codec = Turn::by(1);
    let own = codec.clone();
    let build =
        move |app: AppBuilder| app.workflow(order).activity(echo).payload_codec(own.clone());
    let mut env = TestEnv::start(build).await.unwrap();
    env.client().start(order, "book").id("w").await.unwrap();
    env.wait(Duration::from_secs(10)).await;
    codec.0.store(2, Ordering::Relaxed);
    env.crash().await.unwrap();
    env.wait(Duration::from_secs(600)).await;
    let described = env.client().workflow::<String>("w").describe().await.unwrap();
    let task = described.pending_workflow_task.expect("it is tried again");
    assert!(task.attempt > 2, "at attempt {}", task.attempt);

    codec.0.store(1, Ordering::Relaxed);
    let run = env.client().workflow::<String>("w");
    assert_eq!(run.result().await.unwrap(), "book here");
    assert_eq!(
        told(&run).await,
        "the payload codec could not decode a payload: it has another key"
    );
}

async fn say(word: String) -> Result<String, Failure> {
    Ok(word)
}

/// Asks for words that the codec has not.
async fn ask(ctx: WorkflowContext, parts: (String, String)) -> Result<String, Failure> {
    ctx.on_query("word", |parts: (String, String)| parts.0 + &parts.1);
    let said = ctx.activity(spell, &parts).retry(quick().max_attempts(2)).await;
    let failed = said.expect_err("it cannot be said");
    ctx.signals::<()>("end").receive().await?;
    Ok(format!("{failed:?}"))
}

async fn spell(parts: (String, String)) -> Result<String, Failure> {
    Ok(parts.0 + &parts.1)
}

#[tokio::test]
async fn what_cannot_be_encoded_is_told_and_the_worker_goes_on() {
    let build = |app: AppBuilder| {
        app.workflow(ask).workflow(utter).activity(spell).activity(say).payload_codec(Turn::by(3))
    };
    let env = TestEnv::start(build).await.unwrap();
    for (first, rest, why) in
        [("unspeak", "able", "it has no word for that"), ("hor", "ror", "it panicked")]
    {
        let parts = (first.to_owned(), rest.to_owned());
        let run = env.client().start(ask, parts.clone()).id(first).await.unwrap();
        let wrong = format!("the payload codec could not encode a payload: {why}");
        let asked = run.query::<String>("word", &parts).await.unwrap_err();
        assert!(asked.to_string().contains(&wrong), "{asked}");
        run.signal("end", &()).await.unwrap();
        let failed = run.result().await.unwrap();
        assert!(failed.contains(&wrong), "{failed}");

        // The client hears it at once, and nothing is begun.
        let not = env.client().start(say_it, format!("{first}{rest}")).id("not").await.unwrap_err();
        assert!(not.to_string().contains(&wrong), "{not}");
        assert!(env.client().workflow::<String>("not").describe().await.is_err());
    }
    let run = env.client().start(utter, ("unspeak".to_owned(), "able".to_owned())).await.unwrap();
    env.wait(Duration::from_secs(60)).await;
    assert_eq!(
        told(&run).await,
        "the payload codec could not encode a payload: it has no word for that"
    );
}

async fn say_it(_: WorkflowContext, word: String) -> Result<String, Failure> {
    Ok(word)
}

/// Ends with what cannot be said.
async fn utter(_: WorkflowContext, parts: (String, String)) -> Result<String, Failure> {
    Ok(parts.0 + &parts.1)
}
