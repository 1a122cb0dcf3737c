//! A start of a new workflow id asks the store for nothing, and no id is ever given out twice.

use std::sync::atomic::Ordering;

use steadfast_engine::{Code, Limits};

use crate::common::{Base, Fault, Rig, calls::start_request, timer};

fn loads(rig: &Rig) -> u64 {
    rig.store().tally.loads.load(Ordering::Relaxed)
}

async fn is_taken(rig: &Rig, id: &str) -> bool {
    match rig.engine().start_workflow_execution(start_request(id)).await {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.code, Code::AlreadyExists, "{error}");
            true
        }
    }
}

async fn asleep(rig: &Rig, id: &str) {
    rig.start(id).await;
    rig.step(vec![timer("t", 36_000)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_new_workflow_id_is_not_asked_for() {
    for base in [Base::memory(), Base::sqlite()] {
        let rig = Rig::on(base).await;
        for n in 0..40 {
            rig.start(&format!("order-{n}")).await;
        }
        assert_eq!(loads(&rig), 0, "the store was empty");
        rig.crash().await;
        rig.settle().await;
        let before = loads(&rig);
        assert!(!is_taken(&rig, "order-40").await);
        rig.settle().await;
        assert!(loads(&rig) > before, "nobody knows the ids yet");
        let before = loads(&rig);
        for n in 41..60 {
            assert!(!is_taken(&rig, &format!("order-{n}")).await);
        }
        assert_eq!(loads(&rig), before, "they were read meanwhile");
        for n in 0..60 {
            assert!(is_taken(&rig, &format!("order-{n}")).await, "order-{n}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_that_was_on_its_way_to_the_disk_when_the_ids_were_read_is_known() {
    let limits = Limits { cached_runs_max: 4, ..Limits::default() };
    let rig = Rig::with(Base::memory(), limits).await;
    asleep(&rig, "order-0").await;
    rig.crash().await;
    rig.settle().await;
    rig.store().fail_commits([Fault::Full; 20]);
    // That it was not there has the ids read, and it is not there yet.
    let engine = rig.engine();
    let first =
        tokio::spawn(
            async move { engine.start_workflow_execution(start_request("order-1")).await },
        );
    rig.wait(1).await;
    assert!(!first.is_finished());
    first.await.expect("whole").expect("started");
    rig.step(vec![timer("t", 36_000)]).await;
    for n in 2..20 {
        asleep(&rig, &format!("order-{n}")).await;
    }
    for n in 0..20 {
        assert!(is_taken(&rig, &format!("order-{n}")).await, "order-{n}");
    }
}

#[tokio::test(start_paused = true)]
async fn ids_that_cannot_be_read_are_asked_for() {
    for nth in 0..6 {
        let rig = Rig::new().await;
        for n in 0..100 {
            rig.start(&format!("order-{n}")).await;
        }
        rig.crash().await;
        rig.settle().await;
        for n in 100..130 {
            if n == 110 {
                let quiet = std::iter::repeat_n(Fault::None, nth);
                rig.store().fail_reads(quiet.chain([Fault::LostBefore; 3]));
            }
            assert!(!is_taken(&rig, &format!("order-{n}")).await, "order-{n}, read {nth}");
        }
        for n in 0..130 {
            assert!(is_taken(&rig, &format!("order-{n}")).await, "order-{n}, read {nth}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_whose_runs_were_let_go_of_is_known() {
    let limits = Limits { cached_runs_max: 4, ..Limits::default() };
    let rig = Rig::with(Base::sqlite(), limits).await;
    for n in 0..20 {
        asleep(&rig, &format!("order-{n}")).await;
    }
    assert!(rig.engine().held().runs < 20);
    for n in 0..20 {
        assert!(is_taken(&rig, &format!("order-{n}")).await, "order-{n}");
    }
}
