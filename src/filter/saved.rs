//! Filters that were given a name, in the data directory: `filters.json`, names and lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::WORDS;
use crate::files;

/// Named filter lines, as the screens offer them.
#[derive(Debug, Clone, Default)]
pub struct NamedFilters {
    /// Where they are kept; `None`: only in memory.
    pub place: Option<PathBuf>,
    pub by_name: BTreeMap<String, String>,
}

impl NamedFilters {
    /// Those of the data directory; none where there is no such file, or it cannot be read (saving one more says why).
    pub fn load() -> NamedFilters {
        let place = crate::hub::home().ok().map(|home| home.join("filters.json"));
        let by_name = place.as_deref().and_then(|place| read(place).ok()).unwrap_or_default();
        NamedFilters { place, by_name }
    }

    /// Gives a filter line a name, or takes the name away.
    ///
    /// # Errors
    /// A name that could be taken for something else in a filter line.
    pub fn name(&mut self, name: &str, filter: Option<&str>) -> Result<()> {
        let is_word = WORDS.iter().any(|(word, _)| word.trim_end_matches(':') == name);
        if is_word || !name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) || name.starts_with('-') {
            bail!("`{name}` cannot name a filter: letters, digits, - _ and . can, and no filter word");
        }
        change(&mut self.by_name, name, filter);
        Ok(())
    }

    /// Writes one change into the file, beside what other sessions have written there.
    ///
    /// # Errors
    /// Names the file that cannot be read or written.
    pub fn keep(place: &Path, name: &str, filter: Option<&str>) -> Result<()> {
        let mut known = read(place)?;
        change(&mut known, name, filter);
        std::fs::create_dir_all(files::folder_of(place)).with_context(|| place.display().to_string())?;
        files::write_aside(place, &serde_json::to_vec_pretty(&known)?)
    }
}

fn change(known: &mut BTreeMap<String, String>, name: &str, filter: Option<&str>) {
    match filter {
        Some(filter) => known.insert(name.to_owned(), filter.to_owned()),
        None => known.remove(name),
    };
}

fn read(place: &Path) -> Result<BTreeMap<String, String>> {
    match std::fs::read(place) {
        Ok(text) => serde_json::from_slice(&text)
            .with_context(|| format!("{} holds no saved filters; move it away to begin anew", place.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", place.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_beside_those_of_other_sessions_and_a_broken_file_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("deep/filters.json");
        NamedFilters::keep(&place, "law-inv", Some("invalid cat:law")).unwrap();
        NamedFilters::keep(&place, "long", Some("chars>4000")).unwrap();
        NamedFilters::keep(&place, "law-inv", None).unwrap();
        assert_eq!(
            read(&place).unwrap(),
            BTreeMap::from([("long".into(), "chars>4000".into())])
        );
        std::fs::write(&place, "no json").unwrap();
        let error = NamedFilters::keep(&place, "x", Some("ok")).unwrap_err().to_string();
        assert!(error.contains("filters.json"), "{error}");
        assert_eq!(std::fs::read(&place).unwrap(), b"no json");
        let mut saved = NamedFilters::default();
        for name in ["wrong", "cat", "a b", "-x", "a:b"] {
            assert!(saved.name(name, Some("ok")).is_err(), "{name}");
        }
    }
}
