//! The door to standard output: into a pipe or a file bytes go as they are, to a terminal nothing that it would act on.

use std::io::{BufWriter, IsTerminal, Result, StdoutLock, Write};

use super::safe;

/// A line without end is passed on in pieces of about this size.
const LONGEST: usize = 1 << 20;

/// Standard output. What is written shows when it is flushed or dropped.
pub fn stdout() -> Safe<BufWriter<StdoutLock<'static>>> {
    safe_where_it_leads(std::io::stdout().lock())
}

/// The same for a file or device that may be a terminal.
pub fn safe_where_it_leads<W: Write + IsTerminal>(out: W) -> Safe<BufWriter<W>> {
    Safe {
        is_terminal: out.is_terminal(),
        out: BufWriter::with_capacity(1 << 16, out),
        line: Vec::new(),
    }
}

/// A writer that lets no foreign control through where it leads to a terminal.
#[derive(Debug)]
pub struct Safe<W: Write> {
    out: W,
    is_terminal: bool,
    /// What was written of a line so far.
    line: Vec<u8>,
}

impl<W: Write> Safe<W> {
    /// Passes on what is there of a line, but for the beginning of a character at its end.
    fn pass(&mut self) -> Result<()> {
        let whole = self.line.utf8_chunks().last().map_or(0, |last| {
            let is_begun = matches!(last.invalid(), [0xc2..=0xf4, ..]) && last.invalid().len() < 4;
            self.line.len() - if is_begun { last.invalid().len() } else { 0 }
        });
        let text: Vec<u8> = self.line.drain(..whole).collect();
        self.out
            .write_all(safe::lines(&String::from_utf8_lossy(&text)).as_bytes())
    }
}

impl<W: Write> Write for Safe<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.line.len() > LONGEST {
                self.pass()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.pass()?;
        self.out.flush()
    }
}

impl<W: Write> Drop for Safe<W> {
    fn drop(&mut self) {
        // Whoever wants to know whether it could be written flushes.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(is_terminal: bool, pieces: &[&[u8]]) -> String {
        let mut bytes = Vec::new();
        let mut out = Safe {
            out: &mut bytes,
            is_terminal,
            line: Vec::new(),
        };
        pieces.iter().for_each(|piece| out.write_all(piece).unwrap());
        drop(out);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_pipe_gets_bytes_as_they_are_and_a_terminal_what_it_cannot_act_on() {
        let text = "a\u{1b}]0;x\u{7}\n\u{9b}31mé".as_bytes();
        assert_eq!(written(false, &[text]).as_bytes(), text);
        let shown = "a␛]0;x␇\n<9B>31mé";
        assert_eq!(written(true, &[text]), shown);
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(written(true, &bytes), shown, "whatever the pieces are");
        assert_eq!(written(true, &[b"\xff\xc3"]), "\u{fffd}");
    }
}
