//! Readers of other crates may panic on damaged data instead of failing: here that becomes an error, and is not told as
//! a crash of the program.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use anyhow::{Result, bail};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside [`guarded`]: a panic hook has then nothing to tell.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Reads damaged data safely: a panic of the reader is an error that says so.
pub fn guarded<T>(damaged: impl fmt::Display, work: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !is_guarded() {
                before(info);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    match outcome {
        Ok(result) => result,
        Err(_) => bail!("{damaged}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_is_an_error_and_the_thread_is_unguarded_again() {
        let error = guarded("it is damaged", || -> Result<()> { panic!("page 3") }).unwrap_err();
        assert_eq!(error.to_string(), "it is damaged");
        assert!(!is_guarded());
        assert_eq!(guarded("", || Ok(7)).unwrap(), 7);
    }
}
