//! The events of a stream: lines split anywhere, joined, bounded.

/// Bytes that one line may have.
const LONGEST_LINE: usize = 1 << 20;

/// Reads server-sent events out of chunks as they come.
#[derive(Debug, Default)]
pub struct Events {
    /// Bytes of a line that is not whole.
    rest: Vec<u8>,
    /// The data of an event that is not whole.
    data: String,
    has_data: bool,
    /// The last byte was `\r`, so a `\n` belongs to it.
    after_return: bool,
}

/// One thing that a stream said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The data of an event.
    Data(String),
    /// `data: [DONE]`.
    Done,
    /// A line with an error outside of an event.
    Error(String),
}

impl Events {
    /// Takes in a chunk.
    ///
    /// # Errors
    /// Where a line is longer than a megabyte.
    pub fn push(&mut self, chunk: &[u8], said: &mut Vec<Said>) -> Result<(), &'static str> {
        for byte in chunk {
            let was_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if was_return => {}
                b'\n' => self.line(said),
                b'\r' => {
                    self.after_return = true;
                    self.line(said);
                }
                _ => self.rest.push(*byte),
            }
            if self.rest.len() > LONGEST_LINE || self.data.len() > LONGEST_LINE {
                return Err("a line of more than a megabyte");
            }
        }
        Ok(())
    }

    /// The end of the stream: what stands without a last empty line counts.
    pub fn end(&mut self, said: &mut Vec<Said>) {
        if !self.rest.is_empty() {
            self.line(said);
        }
        self.dispatch(said);
    }

    fn line(&mut self, said: &mut Vec<Said>) {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned();
        if line.is_empty() {
            return self.dispatch(said);
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "error" => said.push(Said::Error(value.to_owned())),
            // A body that is JSON and no stream.
            _ if line.starts_with(['{', '[']) => said.push(Said::Data(line)),
            _ => {}
        }
    }

    fn dispatch(&mut self, said: &mut Vec<Said>) {
        if std::mem::take(&mut self.has_data) {
            let data = std::mem::take(&mut self.data);
            said.push(if data.trim() == "[DONE]" {
                Said::Done
            } else {
                Said::Data(data)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str =
        ": ping\r\ndata: {\"a\": \"é\"}\r\n\r\ndata: one\rdata: two\r\rid: 7\n\nerror: {\"code\": 1}\ndata:[DONE]\n\n";

    fn read(chunks: impl Iterator<Item = Vec<u8>>) -> Vec<Said> {
        let (mut events, mut said) = (Events::default(), Vec::new());
        for chunk in chunks {
            events.push(&chunk, &mut said).unwrap();
        }
        events.end(&mut said);
        said
    }

    #[test]
    fn a_stream_says_the_same_however_it_is_cut() {
        let expected = [
            Said::Data("{\"a\": \"é\"}".into()),
            Said::Data("one\ntwo".into()),
            Said::Error("{\"code\": 1}".into()),
            Said::Done,
        ];
        for size in 1..STREAM.len() {
            let chunks = STREAM.as_bytes().chunks(size).map(<[u8]>::to_vec);
            assert_eq!(read(chunks), expected, "chunks of {size}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let (mut events, mut said) = (Events::default(), Vec::new());
        let chunk = vec![b'x'; LONGEST_LINE + 2];
        assert!(events.push(&chunk, &mut said).is_err());
    }

    #[test]
    fn json_in_place_of_a_stream_is_one_event() {
        let chunks = std::iter::once(b"{\"choices\": []}".to_vec());
        assert_eq!(read(chunks), [Said::Data("{\"choices\": []}".into())]);
    }
}
