//! The start of a file: what tells its format.

use std::path::Path;

use anyhow::{Context, Result, anyhow};

use super::archive::Member;
use super::json::{self, Object, Raw};
use super::source::{self, Layer};
use super::split::{Shape, Splitter};
use super::{refuse, tables};
use crate::json as python;
use crate::rows::names::{is_known, is_of};
use crate::rows::{frames, sheets};

/// Bytes that are read of each file to tell what it is. Where its first row is longer, so many times more are read, and
/// again, but not more than [`LONGEST`].
pub(crate) const LENGTH: u64 = 256 << 10;
pub(crate) const STEP: u64 = 8;
pub(crate) const LONGEST: u64 = LENGTH * STEP * STEP * STEP;

/// Rows of a parquet file that are read to tell what it is.
pub(super) const PARQUET_SAMPLE: usize = 200;

/// A JSON document of unknown layout is read whole to find its rows, up to this size.
pub(super) const DOCUMENT: u64 = 64 << 20;

/// The start of a file as JSON, whatever it is packed in.
#[derive(Debug)]
pub(crate) struct Start {
    /// Taken off so far.
    pub layers: Vec<Layer>,
    pub bytes: Vec<u8>,
    /// The bytes are all there is.
    pub is_whole: bool,
    /// An Inspect archive's `header.json`.
    pub header: Option<Vec<u8>>,
    /// What the rows are written in.
    pub source: &'static str,
}

/// What formats are told by.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    /// The file's name without endings.
    pub stem: String,
    /// The names of the folders it lies in, the innermost first.
    pub folders: Vec<String>,
    /// The start itself.
    pub bytes: &'a [u8],
    pub shape: Shape,
    /// The first rows; the last may lack fields where the start ends inside it.
    pub rows: Vec<Object<'a>>,
    /// The fields of a document that is one object, as far as the start reaches.
    pub document: Option<Object<'a>>,
    pub is_eval_log: bool,
    pub source: &'static str,
}

/// Reads the start of a file whose outer `layers` are known, `length` bytes of it. `None` where more have to be read to
/// tell what it is.
pub(crate) fn start(path: &Path, layers: &[Layer], length: u64) -> Result<Option<Start>> {
    let mut layers = layers.to_vec();
    loop {
        let bytes = source::head(path, &layers, length)?;
        let is_whole = (bytes.len() as u64) < length;
        let packing = match bytes.as_slice() {
            [0x1f, 0x8b, ..] => Some(Layer::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Layer::Zstd),
            start if sheets::is_utf16(start) => Some(Layer::Utf16),
            _ => None,
        };
        match packing {
            Some(layer) if layers.len() < 3 => layers.push(layer),
            Some(_) => return Err(anyhow!("packed more than three times over")),
            None if bytes.starts_with(b"PAR1") => return table(path, layers, &bytes, Layer::Parquet).map(Some),
            None => return text(path, layers, &bytes, is_whole),
        }
    }
}

fn text(path: &Path, layers: Vec<Layer>, bytes: &[u8], is_whole: bool) -> Result<Option<Start>> {
    let content = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if is_frame(content, is_whole) {
        return table(path, layers, content, Layer::Frame).map(Some);
    }
    match content.iter().find(|byte| !byte.is_ascii_whitespace()) {
        first if matches!(first, Some(b'{' | b'[')) || are_objects(content) => {
            let bytes = content.to_vec();
            Ok(Some(Start {
                layers,
                bytes,
                is_whole,
                header: None,
                source: "JSON",
            }))
        }
        _ if is_binary(content) => Err(anyhow!(refuse::other(content))),
        _ => match tables::csv_separator(content, is_whole) {
            Some(separator) => table(path, layers, content, Layer::Csv(separator)).map(Some),
            None if !is_whole && (bytes.len() as u64) < LONGEST && tables::is_cut_early(content) => Ok(None),
            None => Err(anyhow!(refuse::other(content))),
        },
    }
}

/// Whether a document is a table that is no list of rows.
fn is_frame(content: &[u8], is_whole: bool) -> bool {
    let content = content.trim_ascii();
    let is_list = content.starts_with(b"[") && content[1..].trim_ascii_start().starts_with(b"[");
    let (object, end) = Object::read(content);
    let begins = || {
        let (key, raw) = object.fields().next()?;
        let value = if raw.0.is_empty() {
            &content[content.iter().position(|byte| *byte == b':')? + 1..]
        } else {
            raw.0
        };
        Some(frames::begins_by_column(key, value))
    };
    let is_one = end
        .as_ref()
        .map_or_else(|error| error.is_cut && !is_whole, |end| *end == content.len());
    let may_be = is_list || (is_one && begins() == Some(true));
    if !may_be || !is_whole {
        return may_be && !is_list;
    }
    let document = python::parse(&String::from_utf8_lossy(content));
    document.is_ok_and(|document| frames::rows(&document).is_some())
}

/// Whether NULs are more than the few that a text may hold.
fn is_binary(content: &[u8]) -> bool {
    memchr::memchr_iter(0, content).count() * 100 > content.len()
}

/// Whether most of the first lines are objects: a log may stand before or among them.
fn are_objects(content: &[u8]) -> bool {
    let lines = content
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    let (mut objects, mut others) = (0, 0);
    for line in lines.take(50) {
        match Object::parse(line) {
            Ok(_) => objects += 1,
            Err(error) if error.is_cut => {}
            Err(_) => others += 1,
        }
    }
    objects > 0 && objects >= others
}

/// A table's start, as rows of JSON.
fn table(path: &Path, mut layers: Vec<Layer>, bytes: &[u8], table: Layer) -> Result<Start> {
    let mut rows = Vec::new();
    let kind = if let Layer::Csv(separator) = table {
        tables::csv_rows(bytes, separator, SAMPLE, &mut rows)?;
        "CSV"
    } else if matches!(table, Layer::Frame) {
        let bytes = source::head(path, &layers, DOCUMENT)?;
        tables::frame_rows(&bytes, SAMPLE, &mut rows)?;
        "JSON by column"
    } else {
        let file = source::Source::new(path, layers.clone(), None).unpacked()?;
        tables::parquet_rows(file, (PARQUET_SAMPLE, &[]), &mut rows)?;
        "parquet"
    };
    layers.push(table);
    Ok(Start {
        layers,
        bytes: rows,
        is_whole: false,
        header: None,
        source: kind,
    })
}

/// The header of an Inspect archive.
pub(crate) fn log_header(members: &[Member]) -> Option<&Member> {
    let named = |name: &&str| members.iter().find(|member| member.name == **name);
    ["header.json", "_journal/start.json"]
        .iter()
        .find_map(|name| named(&name))
}

/// The start of an Inspect archive: its header, and its first sample as the only row.
pub(crate) fn eval_log(path: &Path, members: &[Member]) -> Result<Start> {
    let part = |member: &Member| source::head(path, &[Layer::Member(member.clone())], DOCUMENT);
    let header = part(log_header(members).context("an Inspect log without a header")?)?;
    let first = members.iter().find(|member| member.is_sample());
    let bytes = first.map(part).transpose()?.unwrap_or_default();
    Ok(Start {
        layers: vec![Layer::Samples],
        bytes,
        is_whole: true,
        header: Some(header),
        source: "JSON",
    })
}

impl Start {
    /// Whether the first row, if the rows are the outermost values, is there as a whole.
    pub fn has_row(&self) -> bool {
        let shape = match first_byte(&self.bytes) {
            Some(b'[') => Shape::Array(Vec::new()),
            _ => Shape::Stream,
        };
        // A first row that is broken is followed by whole ones.
        let lines = self.bytes.split_inclusive(|byte| *byte == b'\n').take(20);
        let mut whole = lines.filter(|line| line.ends_with(b"\n"));
        self.source != "JSON" || whole.any(|line| Object::parse(line).is_ok()) || self.has_row_at(&shape)
    }

    /// The same for rows of a known shape.
    pub fn has_row_at(&self, shape: &Shape) -> bool {
        let mut splitter = Splitter::new(shape.clone(), 0);
        let mut found = Vec::new();
        self.bytes.chunks(LENGTH as usize).any(|block| {
            splitter.feed(block, &mut found);
            !found.is_empty()
        })
    }

    pub fn head(&self, stem: &str) -> Result<Head<'_>> {
        let mut head = Head {
            stem: stem.rsplit('/').next().unwrap_or(stem).to_owned(),
            folders: stem
                .rsplit('/')
                .skip(1)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            bytes: &self.bytes,
            shape: Shape::Lines,
            rows: Vec::new(),
            document: None,
            is_eval_log: false,
            source: self.source,
        };
        if let Some(header) = &self.header {
            head.is_eval_log = true;
            head.shape = Shape::Stream;
            head.document = Some(Object::read(header).0);
        } else if self.source != "JSON" {
            head.shape = Shape::Lines;
        } else if first_byte(&self.bytes) == Some(b'[') {
            head.shape = Shape::Array(Vec::new());
        } else {
            (head.shape, head.document) = self.objects()?;
            if head.document.as_ref().is_some_and(are_rows_under_keys) {
                head.shape = Shape::Fields(Vec::new());
            }
        }
        head.rows = head.rows_at(&head.shape);
        Ok(head)
    }

    /// The shape of a text that starts with an object, and its fields where it may be one document.
    fn objects(&self) -> Result<(Shape, Option<Object<'_>>)> {
        let (object, end) = Object::read(&self.bytes);
        let start = self
            .bytes
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())
            .unwrap_or(0);
        let first_line = memchr::memchr(b'\n', &self.bytes[start..]).map_or(self.bytes.len(), |at| start + at);
        match end {
            Ok(end) => {
                let shape = if end <= first_line { Shape::Lines } else { Shape::Stream };
                let has_more = self.bytes[end..].iter().any(|byte| !byte.is_ascii_whitespace());
                Ok((shape, Some(object).filter(|_| !has_more)))
            }
            Err(error) if error.is_cut && !self.is_whole => {
                let shape = if error.at <= first_line {
                    Shape::Lines
                } else {
                    Shape::Stream
                };
                Ok((shape, Some(object)))
            }
            Err(error) => {
                let later = self.bytes.split(|byte| *byte == b'\n').skip(1).take(1000);
                let is_lines = later.filter(|line| Object::parse(line).is_ok()).count() > 0;
                if is_lines || (error.is_cut && !object.is_empty()) {
                    return Ok((Shape::Lines, Some(object).filter(|_| !is_lines)));
                }
                Err(anyhow!("broken JSON: {error}"))
            }
        }
    }
}

/// Rows by which it is found how a file writes its values.
const SAMPLE: usize = 1000;

impl<'a> Head<'a> {
    /// More rows than the first: as many as the start reaches.
    pub fn sample(&self) -> Vec<Object<'a>> {
        let rows = self.rows_among(&self.shape, SAMPLE);
        if rows.is_empty() { self.rows.clone() } else { rows }
    }

    /// The rows of a shape that the start reaches, as objects.
    pub fn rows_at(&self, shape: &Shape) -> Vec<Object<'a>> {
        self.rows_among(shape, 20)
    }

    fn rows_among(&self, shape: &Shape, most: usize) -> Vec<Object<'a>> {
        let mut splitter = Splitter::new(shape.clone(), 0);
        let mut found = Vec::new();
        splitter.feed(self.bytes, &mut found);
        splitter.finish(&mut found);
        let objects = found
            .iter()
            .map(|row| Object::read(&self.bytes[row.start as usize..row.end as usize]).0);
        objects.filter(|object| !object.is_empty()).take(most).collect()
    }
}

/// Whether a document holds nothing but rows, each under a key.
fn are_rows_under_keys(document: &Object) -> bool {
    let is_row = |raw: Raw| {
        let row = raw.object();
        row.keys().any(|name| is_of(&["question", "answer"], name))
            && row.keys().filter(|name| is_known(name)).count() > 1
    };
    let mut fields = document.fields().filter(|(_, raw)| !raw.0.is_empty()).peekable();
    fields.peek().is_some() && fields.all(|(_, raw)| is_row(raw))
}

fn first_byte(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// A whole document; `None` where it is broken, or larger than one that is read whole.
pub(crate) fn document(path: &Path, layers: &[Layer]) -> Result<Option<Vec<u8>>> {
    let mut bytes = source::head(path, layers, DOCUMENT)?;
    if bytes.len() as u64 >= DOCUMENT {
        return Ok(None);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    let start = bytes.len() - bytes.trim_ascii_start().len();
    bytes.drain(..start);
    Ok(json::value_end(&bytes, 0).ok().map(|end| {
        bytes.truncate(end);
        bytes
    }))
}

/// Finds the rows inside a document of unknown layout: the arrays of objects that have the same keys as the first such
/// array. Gives the path to them and the start of a text in which they are the rows.
pub(crate) fn rows_within(path: &Path, layers: &[Layer]) -> Result<Option<(Shape, Vec<u8>)>> {
    let Some(document) = document(path, layers)? else {
        return Ok(None);
    };
    let value = json::Raw(&document).value();
    let mut tables = Vec::new();
    find_tables(&value, &mut Vec::new(), &mut tables);
    // What bears our names goes before what lies before it: a schema, a list of settings.
    let is_ours = |(_, rows): &&Table| {
        columns_of(rows)
            .iter()
            .any(|name| is_of(&["pick", "answer", "question"], name))
    };
    let Some((first_path, first)) = tables.iter().find(is_ours).or(tables.first()) else {
        return Ok(None);
    };
    let columns = columns_of(first);
    let same = tables
        .iter()
        .filter(|(path, rows)| path.len() == first_path.len() && columns_of(rows) == columns);
    let mut path = first_path.clone();
    for (other, _) in same {
        for (key, other_key) in path.iter_mut().zip(other) {
            if key != other_key {
                "*".clone_into(key);
            }
        }
    }
    let rows: Vec<String> = first.iter().take(5).map(serde_json::Value::to_string).collect();
    Ok(Some((Shape::Array(path), rows.join("\n").into_bytes())))
}

type Table<'a> = (Vec<String>, &'a [serde_json::Value]);

fn columns_of(rows: &[serde_json::Value]) -> Vec<&String> {
    rows.first()
        .and_then(serde_json::Value::as_object)
        .map(|row| row.keys().collect())
        .unwrap_or_default()
}

fn find_tables<'a>(value: &'a serde_json::Value, path: &mut Vec<String>, tables: &mut Vec<Table<'a>>) {
    let Some(fields) = value.as_object().filter(|_| path.len() < 8) else {
        return;
    };
    for (key, value) in fields {
        path.push(key.clone());
        match value.as_array() {
            Some(rows)
                if rows
                    .first()
                    .and_then(serde_json::Value::as_object)
                    .is_some_and(|row| row.len() > 1) =>
            {
                tables.push((path.clone(), rows));
            }
            _ => find_tables(value, path, tables),
        }
        path.pop();
    }
}
