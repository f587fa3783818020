//! The one place that prints. A lost standard error is no reason to lose a run: what nobody can read is dropped.

use std::fmt::Display;
use std::io::{Write, stderr};

use anyhow::{Context, Result};

use super::End;
use crate::text::terminal;

/// A line for the user, on standard error.
pub(crate) fn tell(line: impl Display) {
    tell_part(format!("{line}\n"));
}

/// A part of a line, on standard error.
pub(crate) fn tell_part(text: impl Display) {
    let mut err = stderr().lock();
    let _ = err.write_all(text.to_string().as_bytes()).and_then(|()| err.flush());
}

/// Standard output, for a result: it is written when it is flushed, and nothing that a terminal would act on goes to one.
pub(crate) fn out() -> impl Write {
    terminal::stdout()
}

/// A line of a result, on standard output.
///
/// # Errors
/// When it cannot be written; see [`is_unheard`].
pub(crate) fn say(line: impl Display) -> Result<()> {
    let mut out = out();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .context("cannot write to standard output")
}

/// How a command ends whose result was printed, or not: a reader that went away (`| head`) changes nothing, nor does a
/// terminal that is gone where a signal ended the command.
///
/// # Errors
/// When the result could not be written for another reason.
pub(crate) fn ended(printed: Result<()>, end: End) -> Result<End> {
    match printed {
        Err(error) if !is_unheard(&error) && !matches!(end, End::Signal(_)) => Err(error),
        _ => Ok(end),
    }
}

/// Whether the reader of our output went away, as `| head` and a closed terminal do.
pub(crate) fn is_unheard(error: &anyhow::Error) -> bool {
    let broken = Some(std::io::ErrorKind::BrokenPipe);
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind) == broken
            || cause
                .downcast_ref::<serde_json::Error>()
                .and_then(serde_json::Error::io_error_kind)
                == broken
            || matches!(
                cause.downcast_ref::<csv::Error>().map(csv::Error::kind),
                Some(csv::ErrorKind::Io(io)) if Some(io.kind()) == broken
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(kind: std::io::ErrorKind) -> Result<()> {
        Err(std::io::Error::from(kind)).context("cannot write to standard output")
    }

    #[test]
    fn a_reader_that_went_away_keeps_the_exit_code_and_a_full_disk_is_told() {
        let gone = || broken(std::io::ErrorKind::BrokenPipe);
        assert_eq!(ended(gone(), End::Stopped).unwrap(), End::Stopped);
        assert_eq!(ended(Ok(()), End::Done).unwrap(), End::Done);
        let full = ended(broken(std::io::ErrorKind::StorageFull), End::Done).unwrap_err();
        assert!(full.to_string().contains("standard output"), "{full}");
    }
}
