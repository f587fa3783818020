//! The floors of `src/lib.rs`: a module uses lower floors only.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;

/// Each module's floor, as the page in `src/lib.rs` tells it: lines such as `//! 2  engine trace`.
fn floors(page: &str) -> BTreeMap<String, usize> {
    let line = Regex::new(r"(?m)^//! (\d+)  ([a-z_ ]+)$").unwrap();
    let floor = |line: regex::Captures| {
        let number: usize = line[1].parse().unwrap();
        let modules = line[2].split(' ').filter(|name| !name.is_empty());
        modules.map(|name| (name.to_owned(), number)).collect::<Vec<_>>()
    };
    line.captures_iter(page).flat_map(floor).collect()
}

/// The Rust files of a folder and of those below it.
fn sources(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    below
        .flatten()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

#[test]
fn a_module_uses_lower_floors_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let page = std::fs::read_to_string(src.join("lib.rs")).unwrap();
    let floors = floors(&page);
    let module = Regex::new(r"(?m)^pub mod (\w+);").unwrap();
    for found in module.captures_iter(&page) {
        assert!(
            floors.contains_key(&found[1]),
            "src/lib.rs gives no floor to {}",
            &found[1]
        );
    }
    let used = Regex::new(r"crate::(?:(\w+)|\{([^}]*)\})").unwrap();
    let first = Regex::new(r"(?:^|,)\s*(\w+)").unwrap();
    let mut climbs = Vec::new();
    for path in sources(&src) {
        let below = path.strip_prefix(&src).unwrap().with_extension("");
        let name = below.iter().next().unwrap().to_string_lossy().into_owned();
        let Some(floor) = floors.get(&name) else { continue };
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        for names in used.captures_iter(text) {
            let list = names.get(1).or(names.get(2)).map_or("", |list| list.as_str());
            for other in first.captures_iter(list).map(|other| other[1].to_owned()) {
                if other != name && floors.get(&other).is_some_and(|lower| lower >= floor) {
                    climbs.push(format!("{} (floor {floor}) uses {other}", path.display()));
                }
            }
        }
    }
    assert!(climbs.is_empty(), "{}", climbs.join("\n"));
}
