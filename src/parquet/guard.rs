//! The parquet reader may panic on damaged pages instead of failing: here that becomes an error, and is not told as a
//! crash of the program.

use std::cell::Cell;
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

/// Reads damaged data safely: a panic of the reader is an error.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
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
        Err(_) => bail!("the parquet file is damaged"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_is_an_error_and_the_thread_is_unguarded_again() {
        let error = guarded(|| -> Result<()> { panic!("page 3") }).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
        assert!(!is_guarded());
        assert_eq!(guarded(|| Ok(7)).unwrap(), 7);
    }
}
