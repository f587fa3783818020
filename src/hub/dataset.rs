//! Which parquet files of a data set's repository hold which split.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::snapshot::{Snapshot, some_of};

/// One split and its files, in the order of their rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    pub name: String,
    pub files: Vec<PathBuf>,
}

/// The files that hold the splits, out of those a repository has.
pub(super) fn needed(id: &str, files: &[String], config: Option<&str>, splits: &[&str]) -> Result<Vec<String>> {
    Ok(find(id, files, config, splits)?.into_values().flatten().collect())
}

/// The files that may hold answers: the parquet files, else rows and logs of any kind; and `provenance/*.json`.
pub(super) fn traces(id: &str, files: &[String]) -> Result<Vec<String>> {
    const PACKINGS: [&str; 3] = [".gz", ".zst", ".zip"];
    const ROWS: [&str; 5] = [".jsonl", ".json", ".csv", ".tsv", ".eval"];
    let bare = |file: &str| {
        let packing = PACKINGS.iter().find_map(|ending| file.strip_suffix(ending));
        packing.unwrap_or(file).to_ascii_lowercase()
    };
    let is_provenance = |file: &str| file.starts_with("provenance/") || file.contains("/provenance/");
    let is_about = |file: &str| {
        let name = file.rsplit('/').next().unwrap_or(file);
        name.starts_with('.') || name == "dataset_infos.json" || name == "dataset_info.json"
    };
    let of = |endings: &[&str]| -> Vec<String> {
        let wanted = files.iter().filter(|file| !is_provenance(file) && !is_about(file));
        let wanted = wanted.filter(|file| {
            let file = bare(file);
            endings.iter().any(|ending| file.ends_with(ending))
        });
        wanted.cloned().collect()
    };
    let is_zip = |file: &String| Path::new(file).extension().is_some_and(|ending| ending == "zip");
    let mut found = of(&[".parquet"]);
    if found.is_empty() {
        found = of(&ROWS);
    }
    if found.is_empty() {
        found = of(&[""]).into_iter().filter(|file| is_zip(file)).collect();
    }
    if found.is_empty() {
        bail!("{id} has no files that could be traces; it has {}", some_of(files));
    }
    let is_note =
        |file: &&String| is_provenance(file) && Path::new(file).extension().is_some_and(|ending| ending == "json");
    found.extend(files.iter().filter(is_note).cloned());
    Ok(found)
}

/// The splits of a snapshot, in the order asked for.
pub(super) fn group(id: &str, config: Option<&str>, splits: &[&str], snapshot: &Snapshot) -> Result<Vec<Split>> {
    let mut found = find(id, &snapshot.names, config, splits)?;
    let split = |name: &&str| Split {
        name: (*name).to_owned(),
        files: found
            .remove(*name)
            .unwrap_or_default()
            .iter()
            .map(|file| snapshot.folder.join(file))
            .collect(),
    };
    Ok(splits.iter().map(split).collect())
}

fn find(id: &str, files: &[String], config: Option<&str>, splits: &[&str]) -> Result<BTreeMap<String, Vec<String>>> {
    let tables: Vec<Table> = files.iter().filter_map(|file| Table::read(file)).collect();
    if tables.is_empty() {
        bail!("{id} has no parquet files that are named by a split");
    }
    let folder = choose_folder(id, &tables, config)?;
    let mut found = BTreeMap::new();
    for &split in splits {
        let mut shards: Vec<&Table> = tables
            .iter()
            .filter(|table| table.folder == folder && table.split == split)
            .collect();
        shards.sort_by_key(|table| table.file);
        if shards.is_empty() {
            let known: BTreeSet<&str> = tables.iter().filter(|t| t.folder == folder).map(|t| t.split).collect();
            bail!(
                "{id} has no split {split:?}; it has {}",
                some_of(&Vec::from_iter(known))
            );
        }
        if let Some(of) = shards[0].of
            && shards.len() != of
        {
            bail!(
                "{id} lacks parts of the split {split:?}: {} of {of} files are there",
                shards.len()
            );
        }
        found.insert(
            split.to_owned(),
            shards.iter().map(|table| table.file.to_owned()).collect(),
        );
    }
    Ok(found)
}

/// A parquet file of a repository, read from its name.
struct Table<'a> {
    file: &'a str,
    /// The folder that stands for a configuration.
    folder: &'a str,
    split: &'a str,
    /// How many files the split has, where the name says.
    of: Option<usize>,
}

impl Table<'_> {
    /// Knows `CONFIG/SPLIT-00000-of-00001.parquet` (a hash may follow), `CONFIG/SPLIT.parquet` and the hub's own
    /// conversion, `CONFIG/SPLIT/0000.parquet`.
    fn read(file: &str) -> Option<Table<'_>> {
        let stem = file.strip_suffix(".parquet")?;
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        if name.chars().all(|c| c.is_ascii_digit()) {
            let (folder, split) = folder.rsplit_once('/').unwrap_or(("", folder));
            return Some(Table {
                file,
                folder,
                split,
                of: None,
            });
        }
        let count = |text: &str| -> Option<usize> { text.get(..5)?.parse().ok() };
        let shards = name.split_once("-of-").and_then(|(front, of)| {
            let (split, number) = front.rsplit_once('-')?;
            count(number)?;
            Some((split, count(of)?))
        });
        let (split, of) = shards.map_or((name, None), |(split, of)| (split, Some(of)));
        Some(Table {
            file,
            folder,
            split,
            of,
        })
    }
}

fn choose_folder<'a>(id: &str, tables: &[Table<'a>], config: Option<&str>) -> Result<&'a str> {
    let folders: BTreeSet<&str> = tables.iter().map(|table| table.folder).collect();
    let last = |folder: &str| {
        Path::new(folder)
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("")
            .to_owned()
    };
    let wanted: &[&str] = match config {
        Some(config) => &[config],
        None => &["data", "", "default"],
    };
    let named = wanted
        .iter()
        .find_map(|name| folders.iter().find(|folder| *folder == name));
    let named = named.or_else(|| {
        wanted
            .iter()
            .find_map(|name| folders.iter().find(|folder| last(folder) == *name))
    });
    match (named, config) {
        (Some(folder), _) => Ok(folder),
        (None, None) if folders.len() == 1 => Ok(folders.first().copied().unwrap_or("")),
        (None, None) => bail!(
            "{id} has several configurations, name one: {}",
            some_of(&Vec::from_iter(folders))
        ),
        (None, Some(config)) => bail!(
            "{id} has no configuration {config:?}; it has {}",
            some_of(&Vec::from_iter(folders))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn splits_are_found_under_the_hubs_own_file_names() {
        let mmlu = files(&[
            "README.md",
            "abstract_algebra/test-00000-of-00001.parquet",
            "all/dev-00000-of-00001.parquet",
            "all/test-00000-of-00001.parquet",
            "auxiliary_train/train-00000-of-00001.parquet",
        ]);
        assert_eq!(
            needed("cais/mmlu", &mmlu, Some("all"), &["test", "dev"]).unwrap(),
            ["all/dev-00000-of-00001.parquet", "all/test-00000-of-00001.parquet"]
        );
        let pro = files(&[
            "data/test-00000-of-00001.parquet",
            "data/validation-00000-of-00001.parquet",
        ]);
        assert_eq!(
            needed("org/pro", &pro, None, &["validation"]).unwrap(),
            ["data/validation-00000-of-00001.parquet"]
        );
        let others = files(&[
            "data/test-00001-of-00002-ab12.parquet",
            "data/test-00000-of-00002-cd34.parquet",
        ]);
        assert_eq!(
            needed("org/set", &others, None, &["test"]).unwrap(),
            [
                "data/test-00000-of-00002-cd34.parquet",
                "data/test-00001-of-00002-ab12.parquet"
            ]
        );
        assert_eq!(
            needed("org/set", &files(&["test.parquet"]), None, &["test"]).unwrap(),
            ["test.parquet"]
        );
        let converted = files(&["default/test/0000.parquet", "default/test/0001.parquet"]);
        assert_eq!(needed("org/set", &converted, None, &["test"]).unwrap(), converted);
    }

    #[test]
    fn trace_sets_are_their_parquet_files_else_their_rows_with_the_notes_on_how_they_were_made() {
        let set = files(&[
            "README.md",
            ".gitattributes",
            "data/test-00000-of-00002.parquet",
            "data/test-00001-of-00002.parquet",
            "extra.jsonl",
            "provenance/run.json",
        ]);
        assert_eq!(
            traces("org/set", &set).unwrap(),
            [
                "data/test-00000-of-00002.parquet",
                "data/test-00001-of-00002.parquet",
                "provenance/run.json"
            ]
        );
        let rows = files(&["a.jsonl.gz", "b.json", "dataset_infos.json", "logs/x.eval"]);
        assert_eq!(
            traces("org/set", &rows).unwrap(),
            ["a.jsonl.gz", "b.json", "logs/x.eval"]
        );
        let error = traces("org/set", &files(&["README.md"])).unwrap_err().to_string();
        assert!(
            error.contains("no files that could be traces; it has README.md"),
            "{error}"
        );
    }

    #[test]
    fn what_is_missing_is_named_beside_what_is_there() {
        let all = files(&["a/dev-00000-of-00001.parquet", "b/test-00000-of-00002.parquet"]);
        let cases = [
            (None, "test", "name one: a, b"),
            (Some("c"), "test", "no configuration \"c\"; it has a, b"),
            (Some("a"), "test", "no split \"test\"; it has dev"),
            (Some("b"), "test", "1 of 2 files"),
        ];
        for (config, split, said) in cases {
            let error = needed("org/set", &all, config, &[split]).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
