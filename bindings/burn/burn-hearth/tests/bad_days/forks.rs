//! Children of fork(): told, and never stuck.
#![cfg(target_os = "linux")]

use std::panic::catch_unwind;

use burn_backend::ops::FloatTensorOps;
use burn_hearth::Hearth;

use crate::*;

unsafe extern "C" {
    fn fork() -> i32;
    fn alarm(seconds: u32) -> u32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn exit(status: i32) -> !;
}

/// The exit status of a child that runs `body`, 0 where that says true.
fn status_in_child(body: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child runs `body` and ends; that libraries may refuse to work in it is what is tested.
    let child = unsafe { fork() };
    if child == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { alarm(60) };
        // SAFETY: ends the child with what runs at exit.
        unsafe { exit(i32::from(!body())) };
    }
    let mut status = -1;
    // SAFETY: waits for a child of this process, and writes one number.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    status
}

#[test]
fn a_child_is_told_and_ends() {
    let _alone = alone();
    let x = floats(vec![0.0; 1000]);
    let pending = Hearth::float_exp(x.clone());
    let read_begun = Hearth::float_into_data(Hearth::float_exp(x.clone()));
    let status = status_in_child(|| {
        let told = |error: ExecutionError| error.to_string().contains("in a child of fork()");
        let recorded = catch_unwind(|| Hearth::float_add(x.clone(), x.clone()));
        let panicked = recorded.err().is_some_and(|panic| {
            let message = panic.downcast_ref::<String>();
            message.is_some_and(|message| message.contains("in a child of fork()"))
        });
        panicked && read(pending.clone()).is_err_and(told) && Hearth::sync(&CPU).is_err_and(told)
    });
    assert_eq!(status, 0);
    assert_eq!(
        read(pending).unwrap(),
        vec![1.0; 1000],
        "the parent goes on"
    );
    let data = read_sync(read_begun).unwrap();
    assert_eq!(data.into_vec::<f32>().unwrap(), vec![1.0; 1000]);
}
