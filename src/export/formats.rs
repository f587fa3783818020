//! The formats that are written, and which one a target's name asks for.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::target::Ending;
use super::{Slice, csv, jsonl, lm_eval, parquet};
use crate::trace::Trace;

/// A file format.
#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
    /// What its files' names end with, the usual one first; a folder has none.
    pub(super) endings: &'static [&'static str],
    pub about: &'static str,
    /// Whether its bytes are packed already.
    pub(super) is_packed: bool,
    pub(super) write: Writer,
}

/// How a format is written.
#[derive(Debug)]
pub(super) enum Writer {
    /// One file, rows one after another.
    Rows(fn(&Slice, &mut dyn Write) -> Result<()>),
    /// A folder of files.
    Folder(fn(&Trace, &[u32], &Path) -> Result<Vec<PathBuf>>),
}

impl Format {
    /// Whether a file's ending says that it is of this format.
    pub fn is_named_by(&self, target: &Path) -> bool {
        let ending = Ending::of(target).format;
        ending.is_some_and(|ending| self.endings.contains(&ending.as_str()))
    }

    /// A target's name with this format's ending in place of another format's; as it is where it has none.
    pub fn renamed(&self, target: &Path) -> PathBuf {
        if ALL.iter().any(|format| format.is_named_by(target)) {
            self.named(&Ending::of(target).stem)
        } else {
            target.to_owned()
        }
    }

    /// A name with this format's ending; a folder has none.
    pub fn named(&self, stem: &Path) -> PathBuf {
        let mut name = stem.as_os_str().to_owned();
        if let Some(ending) = self.endings.first() {
            name.push(".");
            name.push(ending);
        }
        name.into()
    }

    /// Whether it is written as a folder of files.
    pub fn is_folder(&self) -> bool {
        matches!(self.write, Writer::Folder(_))
    }
}

/// How many formats there are.
pub const FORMATS: usize = 4;

/// Every format, the default first.
pub static ALL: [Format; FORMATS] = [
    Format {
        name: "jsonl",
        endings: &["jsonl", "ndjson"],
        is_packed: false,
        about: "one JSON object a row, the source's columns in order",
        write: Writer::Rows(jsonl::write),
    },
    Format {
        name: "csv",
        endings: &["csv"],
        is_packed: false,
        about: "comma-separated with a header; lists as JSON",
        write: Writer::Rows(csv::write),
    },
    Format {
        name: "parquet",
        endings: &["parquet"],
        is_packed: true,
        about: "markbook's records, zstd",
        write: Writer::Rows(parquet::write),
    },
    Format {
        name: "lm-eval",
        endings: &[],
        is_packed: false,
        about: "a folder of the harness's own samples and results files, one folder an attempt",
        write: Writer::Folder(lm_eval::write_folder),
    },
];

/// The format of a name.
///
/// # Errors
/// For an unknown name, with the list of known ones.
pub fn format(name: &str) -> Result<&'static Format> {
    ALL.iter().find(|format| format.name == name).with_context(|| {
        let known: Vec<&str> = ALL.iter().map(|format| format.name).collect();
        format!("no export format `{name}`; known: {}", known.join(", "))
    })
}

/// The format in which a target is written: the one named, else that of its ending, else the default.
///
/// # Errors
/// For an ending that names no format, or another than the one named; says what would work.
pub fn format_of(name: Option<&str>, target: &Path) -> Result<&'static Format> {
    let named = name.map(format).transpose()?;
    let ending = Ending::of(target);
    let shown = |path: &Path| path.display().to_string();
    let full = shown(target);
    let by_ending = match (&ending.format, ending.packing) {
        (None, None) => return Ok(named.unwrap_or(&ALL[0])),
        (None, Some(_)) => named.filter(|format| !format.is_folder()),
        (Some(word), _) => ALL.iter().find(|format| format.endings.contains(&word.as_str())),
    };
    let files = ALL.iter().filter(|format| !format.is_folder());
    match (by_ending, named) {
        (None, Some(folder)) if folder.is_folder() && ending.packing.is_none() => Ok(folder),
        (None, _) => {
            let names: Vec<String> = files.map(|format| shown(&format.named(&ending.stem))).collect();
            bail!(
                "{full}: the ending names no format that can be written; name it {} (.gz or .zst after it packs)",
                names.join(" or ")
            )
        }
        (Some(format), _) if format.is_packed && ending.packing.is_some() => {
            bail!(
                "{full}: {} packs its columns itself; name it {}",
                format.name,
                shown(&format.named(&ending.stem))
            )
        }
        (Some(format), Some(named)) if named.is_folder() => {
            bail!(
                "{full}: the ending says {}, the format is {}, a folder of files: name the folder {}, or take {}",
                format.name,
                named.name,
                shown(&ending.stem),
                format.name
            )
        }
        (Some(format), Some(named)) if format.name != named.name => bail!(
            "{full}: the ending says {}, the format is {}: name it {}, or take {}",
            format.name,
            named.name,
            shown(&named.named(&ending.stem)),
            format.name
        ),
        (Some(format), _) => Ok(format),
    }
}
