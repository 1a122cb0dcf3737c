//! Idempotency keys of activities that are resumed late.

use crate::common::check;

#[test]
fn what_is_resumed_after_its_key_is_forgotten_needs_a_new_one() {
    let told = check(
        "
        0 rules ending=park key-ttl=1h
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        5 take a
        6 fail a boom
        3000 resume a delay=20m
        3600 resume a
        3600 take a
        3601 fail a boom
        3700 resume a
        3700 resume a rekey by=ann
        3700 show changes
        3710 take a
        3711 fail a boom
        7000 resume a
        7000 take a
        7001 fail a boom
        7400 resume a
    ",
    );
    insta::assert_snapshot!(told, @r#"
       5     0.000  ActivityTaskScheduled a Charge
    refused at 3000: activity a was first delivered 1h9m55s before this resume, and its idempotency key is remembered for 1h: its work might be done twice; resume it with rekey to give it a new key
    refused at 3700: activity a was first delivered 1h1m35s before this resume, and its idempotency key is remembered for 1h: its work might be done twice; resume it with rekey to give it a new key
    changes at 3700: a resumed by operator ""; a resumed, with a new idempotency key by ann ""
    refused at 7400: activity a was first delivered 1h1m30s before this resume, and its idempotency key is remembered for 1h: its work might be done twice; resume it with rekey to give it a new key
    "#);
}

#[test]
fn a_resume_policy_leaves_what_needs_a_new_key_where_it_is() {
    insta::assert_snapshot!(check(r#"
        0 rules key-ttl=1m resume={"name":"later","flow":"Order","maxAttempts":9,"backOff":{"delay":90}}
        0 run Order schedule(a,Charge,stc=50s,attempts=1)
        5 take a
        6 fail a boom
        96 tick
        96 show errors due
    "#), @r#"
       5     0.000  ActivityTaskScheduled a Charge
    errors at 96: #5 parked x1 "" "boom" 6..6 "not resumed: activity a was first delivered 1m31s before this resume, and its idempotency key is remembered for 1m: its work might be done twice; resume it with rekey to give it a new key"
    due at 96: never
    "#);
}
