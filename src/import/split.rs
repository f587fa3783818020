//! Finds the rows of a file while its bytes stream by: one a line, or the elements of an array, however long.

/// Where the rows of a text stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One object a line.
    Lines,
    /// Values one after the other, over any number of lines.
    Stream,
    /// The elements of the array under these keys (`*` matches any); no key: of the outermost array.
    Array(Vec<String>),
    /// The values of the object under these keys; no key: of the outermost object.
    Fields(Vec<String>),
}

/// A row found: byte offsets in the file, and the line on which it starts (from 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub start: u64,
    pub end: u64,
    pub line: u64,
}

/// Takes a file block by block.
#[derive(Debug)]
pub(crate) struct Splitter {
    shape: Shape,
    /// Offset of the next byte.
    at: u64,
    line: u64,
    /// The row at hand: where it began.
    open: Option<(u64, u64)>,
    tree: Tree,
}

/// The place in a document.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // the states of a byte machine, none excludes another
struct Tree {
    depth: usize,
    /// Keys of the path whose objects are open.
    matched: usize,
    /// The depth at which rows stand.
    rows: Option<usize>,
    is_string: bool,
    is_escaped: bool,
    is_key: bool,
    expects_key: bool,
    /// Rows have keys, and what comes next is one.
    expects_row_key: bool,
    key: Vec<u8>,
    /// The value that comes is under the next key of the path.
    is_on_path: bool,
    /// Where the last scalar row's text ended.
    stray: bool,
}

/// How a text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    /// Inside a row (it is given as found) or before the document was closed.
    Cut,
    /// More closing than opening brackets, from this byte on nothing was read.
    Stray(u64),
}

impl Splitter {
    /// `start` is the offset of the first byte that is fed.
    pub fn new(shape: Shape, start: u64) -> Splitter {
        let rows = match &shape {
            Shape::Stream => Some(0),
            _ => None,
        };
        Splitter {
            shape,
            at: start,
            line: 1,
            open: None,
            tree: Tree {
                rows,
                ..Tree::default()
            },
        }
    }

    /// The start of the row that is not finished yet.
    pub fn open_row(&self) -> Option<u64> {
        self.open.map(|(start, _)| start)
    }

    pub fn feed(&mut self, block: &[u8], found: &mut Vec<Found>) {
        match self.shape {
            Shape::Lines => self.feed_lines(block, found),
            _ => self.feed_tree(block, found),
        }
        self.at += block.len() as u64;
    }

    /// Ends the text; a row that is still open is given as it is.
    pub fn finish(&mut self, found: &mut Vec<Found>) -> End {
        let is_open = self.open.is_some();
        if let Some((start, line)) = self.open.take() {
            found.push(Found {
                start,
                end: self.at,
                line,
            });
        }
        if self.shape == Shape::Lines {
            return End::Whole;
        }
        if self.tree.stray {
            return End::Stray(self.at);
        }
        if is_open || self.tree.depth > 0 {
            End::Cut
        } else {
            End::Whole
        }
    }

    fn feed_lines(&mut self, block: &[u8], found: &mut Vec<Found>) {
        let mut from = 0;
        for newline in memchr::memchr_iter(b'\n', block) {
            self.take_line(&block[from..newline], from, found, true);
            self.line += 1;
            from = newline + 1;
        }
        self.take_line(&block[from..], from, found, false);
    }

    fn take_line(&mut self, piece: &[u8], from: usize, found: &mut Vec<Found>, is_ended: bool) {
        if self.open.is_none()
            && let Some(first) = piece.iter().position(|byte| !byte.is_ascii_whitespace())
        {
            self.open = Some((self.at + (from + first) as u64, self.line));
        }
        if is_ended && let Some((start, line)) = self.open.take() {
            found.push(Found {
                start,
                end: self.at + (from + piece.len()) as u64,
                line,
            });
        }
    }

    fn feed_tree(&mut self, block: &[u8], found: &mut Vec<Found>) {
        let mut i = 0;
        while i < block.len() && !self.tree.stray {
            if self.tree.is_string {
                i = self.pass_string(block, i);
                continue;
            }
            let at = self.at + i as u64;
            match block[i] {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' => {}
                b'"' => self.begin_string(at),
                b'{' | b'[' => self.begin_container(block[i], at),
                b'}' | b']' => self.end_container(at, found),
                b',' => self.comma(at, found),
                b':' => self.colon(),
                _ => self.begin_scalar(at),
            }
            i += 1;
        }
    }

    /// Passes over a string's inside; gives the next place.
    fn pass_string(&mut self, block: &[u8], from: usize) -> usize {
        let mut i = from;
        if self.tree.is_escaped {
            self.tree.is_escaped = false;
            i += 1;
        }
        let rest = block.get(i..).unwrap_or_default();
        let stop = memchr::memchr2(b'"', b'\\', rest);
        let end = i + stop.unwrap_or(rest.len());
        if self.tree.is_key && self.tree.key.len() < 256 {
            self.tree.key.extend_from_slice(&block[from..end.min(from + 256)]);
        }
        match stop {
            None => block.len(),
            Some(_) if block[end] == b'\\' => {
                self.tree.is_escaped = true;
                end + 1
            }
            Some(_) => {
                self.tree.is_string = false;
                end + 1
            }
        }
    }

    fn is_row_level(&self) -> bool {
        self.tree.rows == Some(self.tree.depth)
    }

    fn path(&self) -> &[String] {
        match &self.shape {
            Shape::Array(path) | Shape::Fields(path) => path,
            _ => &[],
        }
    }

    /// Whether the innermost open object is one in which the path goes on.
    fn is_path_level(&self) -> bool {
        self.tree.rows.is_none() && self.tree.depth == self.tree.matched + 1 && self.tree.matched < self.path().len()
    }

    fn begin_row(&mut self, at: u64) {
        if self.is_row_level() && self.open.is_none() && !self.tree.expects_row_key {
            self.open = Some((at, self.line));
        }
    }

    fn begin_string(&mut self, at: u64) {
        self.begin_row(at);
        self.tree.is_string = true;
        self.tree.is_key = self.is_path_level() && self.tree.expects_key;
        if self.tree.is_key {
            self.tree.key.clear();
        } else {
            self.tree.is_on_path = false;
        }
    }

    fn begin_scalar(&mut self, at: u64) {
        self.begin_row(at);
        self.tree.is_on_path = false;
    }

    fn begin_container(&mut self, bracket: u8, at: u64) {
        self.begin_row(at);
        if self.tree.rows.is_none() {
            let length = self.path().len();
            let is_outermost = self.tree.depth == 0;
            let is_keyed = matches!(self.shape, Shape::Fields(_));
            if bracket == if is_keyed { b'{' } else { b'[' }
                && ((is_outermost && length == 0) || (self.tree.is_on_path && self.tree.matched + 1 == length))
            {
                self.tree.rows = Some(self.tree.depth + 1);
                self.tree.expects_row_key = is_keyed;
            } else if bracket == b'{' && self.tree.is_on_path && self.tree.matched + 1 < length {
                self.tree.matched += 1;
                self.tree.expects_key = true;
            } else if bracket == b'{' && is_outermost {
                self.tree.expects_key = true;
            }
        }
        self.tree.is_on_path = false;
        self.tree.depth += 1;
    }

    fn end_container(&mut self, at: u64, found: &mut Vec<Found>) {
        if self.tree.depth == 0 {
            self.tree.stray = true;
            return;
        }
        if self.is_row_level() {
            self.end_row(at, found);
            self.tree.rows = None;
            self.tree.expects_row_key = false;
        } else if self.tree.rows.is_none() && self.tree.depth == self.tree.matched + 1 && self.tree.matched > 0 {
            self.tree.matched -= 1;
        }
        self.tree.depth -= 1;
        self.tree.is_on_path = false;
        if self.is_row_level() {
            self.end_row(at + 1, found);
        }
    }

    fn end_row(&mut self, end: u64, found: &mut Vec<Found>) {
        if let Some((start, line)) = self.open.take() {
            found.push(Found { start, end, line });
        }
    }

    fn comma(&mut self, at: u64, found: &mut Vec<Found>) {
        if self.is_row_level() {
            self.end_row(at, found);
            self.tree.expects_row_key = matches!(self.shape, Shape::Fields(_));
        }
        self.tree.expects_key = self.is_path_level();
        self.tree.is_on_path = false;
    }

    fn colon(&mut self) {
        if self.is_row_level() {
            self.tree.expects_row_key = false;
        }
        if self.is_path_level() && self.tree.is_key {
            let wanted = &self.path()[self.tree.matched];
            self.tree.is_on_path = wanted == "*" || wanted.as_bytes() == self.tree.key;
            self.tree.expects_key = false;
            self.tree.is_key = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(shape: Shape, text: &str, block: usize) -> (Vec<String>, Vec<u64>, End) {
        let mut splitter = Splitter::new(shape, 0);
        let mut found = Vec::new();
        for piece in text.as_bytes().chunks(block) {
            splitter.feed(piece, &mut found);
        }
        let end = splitter.finish(&mut found);
        let text_of = |row: &Found| text[row.start as usize..row.end as usize].trim().to_owned();
        (
            found.iter().map(text_of).collect(),
            found.iter().map(|row| row.line).collect(),
            end,
        )
    }

    #[test]
    fn rows_are_the_same_whatever_the_block_size() {
        let path = |keys: &[&str]| Shape::Array(keys.iter().map(|key| (*key).to_owned()).collect());
        let document = r#"{"a": {"rows": [9]}, "b": "rows", "rows": [ {"x": "],\"}"}, 5 , "s" ], "z": [1]}"#;
        let nested = r#"{"m": {"k": {"details": {"p": [{"a": 1}], "q": [{"a": 2}]}, "splits": {"p": 1}}}}"#;
        for block in [1, 2, 3, 7, 1000] {
            assert_eq!(
                rows(path(&[]), "[\n {\"a\": [1]},\n\"t\", 3]\n", block).0,
                ["{\"a\": [1]}", "\"t\"", "3"]
            );
            assert_eq!(
                rows(path(&["rows"]), document, block).0,
                [r#"{"x": "],\"}"}"#, "5", "\"s\""]
            );
            assert_eq!(
                rows(path(&["*", "*", "details", "*"]), nested, block).0,
                ["{\"a\": 1}", "{\"a\": 2}"]
            );
            let fields = |keys: &[&str]| Shape::Fields(keys.iter().map(|key| (*key).to_owned()).collect());
            assert_eq!(
                rows(
                    fields(&[]),
                    "{\"0\": {\"a\": \"}\"},\n\"1\": [2], \"k\" : \"v\"}",
                    block
                )
                .0,
                ["{\"a\": \"}\"}", "[2]", "\"v\""]
            );
            assert_eq!(
                rows(
                    fields(&["d"]),
                    r#"{"x": {"0": 1}, "d": {"type": "GEN", "0": {"p": {"q": 1}}}, "y": 2}"#,
                    block
                )
                .0,
                ["\"GEN\"", r#"{"p": {"q": 1}}"#]
            );
            assert_eq!(
                rows(Shape::Stream, "{\"a\":\n1}\n{\"b\": 2}", block).0,
                ["{\"a\":\n1}", "{\"b\": 2}"]
            );
            let (lines, numbers, _) = rows(Shape::Lines, "\n{\"a\": 1}\r\n\r\n{\"b\": 2}", block);
            assert_eq!(
                (lines, numbers),
                (vec!["{\"a\": 1}".to_owned(), "{\"b\": 2}".to_owned()], vec![2, 4])
            );
        }
    }

    #[test]
    fn a_text_that_is_cut_or_closed_twice_is_told() {
        assert_eq!(rows(Shape::Array(Vec::new()), "[{\"a\": 1}, {\"b\"", 4).2, End::Cut);
        assert_eq!(rows(Shape::Array(Vec::new()), "[{\"a\": 1}]]", 4).2, End::Stray(11));
        assert_eq!(rows(Shape::Array(Vec::new()), "[{\"a\": 1}]", 4).2, End::Whole);
    }
}
