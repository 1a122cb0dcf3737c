//! The server's power is cut while a hundred workflows are under way.

use steadfast_sdk_rust::workflows::Load;

use crate::rig::with_a_worker;

#[test]
fn the_server_is_killed_under_load() {
    with_a_worker(async |rig| {
        let mut running = Vec::new();
        for index in 0..100 {
            let key = format!("load-{index}");
            running.push((key.clone(), rig.start(&key, Load::run, key.clone()).await));
            if index % 40 == 39 {
                rig.kill_the_server();
            }
        }
        for (key, run) in running {
            let result = run.get_result(Default::default()).await.unwrap();
            assert_eq!(result, format!("{key} v1"));
            // The first attempt fails, so there were two. One that was given out when the power was
            // cut counts, but may never have reached the worker.
            assert!(rig.work.starts(&key) >= 1, "{key} was never tried");
        }
    });
}
