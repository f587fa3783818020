//! How an unknown table could be mapped: which of its columns look like which of ours.

use super::Options;
use super::columns::{self, Columns};
use super::head::Head;
use super::json::{Object, Raw};
use crate::record::gold_letters;
use crate::rows::names::{COLUMNS, OPTIONS, is_pick, of_ours, plain};

/// A row's column names for a message; a table without a header has its first row's texts there.
pub(crate) fn listed(row: &Object) -> String {
    let columns: Vec<&str> = row.keys().collect();
    let shown = columns
        .iter()
        .take(40)
        .map(|name| name.chars().take(50).collect::<String>().replace(char::is_control, " "));
    let more = if columns.len() > 40 { ", ..." } else { "" };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

/// The columns of a row and, by their path, the fields of the objects in it.
fn paths(row: &Object) -> Vec<String> {
    let mut found: Vec<String> = row.keys().map(str::to_owned).collect();
    let mut level: Vec<(String, Object)> = row.fields().map(|(key, raw)| (key.to_owned(), raw.object())).collect();
    for _ in 0..3 {
        let mut deeper = Vec::new();
        for (path, object) in level {
            for (key, raw) in object.fields().take(40) {
                let path = format!("{path}.{key}");
                deeper.push((path.clone(), raw.object()));
                found.push(path);
            }
        }
        level = deeper;
    }
    found
}

/// Whether a row has a question with its options, and nothing that a model said.
pub(crate) fn is_question_set(row: &Object) -> bool {
    let columns: Vec<String> = row.keys().map(plain).collect();
    let has = |ours: &str| of_ours(ours).iter().any(|name| columns.contains(name));
    let has_options =
        has("options") || (columns.iter().any(|name| name == "a") && columns.iter().any(|name| name == "b"));
    let has_question = has("question") || columns.iter().any(|name| name == "input");
    let has_pick = has("pick") || row.keys().any(is_pick);
    has_question && has_options && has("answer") && !has_pick && !has_output(&columns)
}

/// Whether a column bears the name of an output; `answer` alone is a gold.
fn has_output(columns: &[String]) -> bool {
    of_ours("reasoning")
        .iter()
        .any(|name| name != "answer" && columns.contains(name))
}

/// What is unknown about a table, with a map to begin with that was tried on its rows.
pub(crate) fn help(head: &Head, options: &Options) -> String {
    let sample = head.sample();
    let Some(first) = sample.first() else {
        return "rows of an unknown kind".to_owned();
    };
    let listed = listed(first);
    let found = Suggested::of(&sample, head.source, options);
    if !found.has("pick") && !found.has("reasoning") {
        return format!(
            "rows of an unknown kind, no column looks like a pick or an output; columns: {listed}. If one is, --map pick=COLUMN,answer=COLUMN,reasoning=COLUMN"
        );
    }
    if !found.has("answer") && !found.has("correct") {
        let pairs = found.renamed().chain(["answer=COLUMN".to_owned()]);
        return format!(
            "rows of an unknown kind, no column is the answer; columns: {listed}. Say which is which, e.g. --map {}",
            argument(pairs)
        );
    }
    format!(
        "rows of an unknown kind; columns: {listed}. Say which is which, e.g. --map {}",
        argument(found.renamed())
    )
}

/// A map as a shell takes it: in quotes where a column's name has blanks or marks.
fn argument(pairs: impl Iterator<Item = String>) -> String {
    let map = pairs.collect::<Vec<_>>().join(",");
    let is_bare = |c: char| c.is_alphanumeric() || "=,._-+/:@%".contains(c);
    if map.chars().all(is_bare) {
        return map;
    }
    format!("'{}'", map.replace('\'', "'\\''"))
}

/// A map that is offered: our names and the file's.
struct Suggested {
    map: Vec<(String, String)>,
}

/// The columns of the first rows, but for what lies inside the options: that is part of them.
fn columns_of(sample: &[Object]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for path in sample.iter().take(20).flat_map(paths) {
        if !columns.contains(&path) {
            columns.push(path);
        }
    }
    let mut known = OPTIONS.iter();
    let whole = known.find_map(|known| columns.iter().find(|column| plain(column) == *known));
    if let Some(whole) = whole.map(|whole| format!("{whole}.")) {
        columns.retain(|column| !column.starts_with(&whole));
    }
    columns
}

/// The columns that may be one of ours by their names and by what they hold, likeliest first.
fn candidates<'c>(columns: &'c [String], ours: &str, sample: &[Object]) -> Vec<&'c String> {
    let named = |name: String| columns.iter().filter(move |column| plain(last_part(column)) == name);
    let own = columns.iter().filter(|column| *column == ours);
    let like = columns
        .iter()
        .filter(|column| ours == "pick" && is_pick(last_part(column)));
    let all = own.chain(of_ours(ours).into_iter().flat_map(named)).chain(like);
    let mut found: Vec<&String> = Vec::new();
    for column in all.filter(|column| holds(ours, column, sample)) {
        if !found.contains(&column) {
            found.push(column);
        }
    }
    found
}

impl Suggested {
    /// Pick and gold are those columns that give most rows a letter for both; the others go by their names and by what
    /// they hold.
    fn of(sample: &[Object], source: &'static str, options: &Options) -> Suggested {
        let columns = columns_of(sample);
        let candidates = |ours: &str| candidates(&columns, ours, sample);
        let choices = candidates("options").first().map(|column| (*column).clone());
        let try_out = |pick: Option<&String>, gold: Option<&String>| {
            let pairs = [("pick", pick), ("answer", gold), ("options", choices.as_ref())];
            let map = pairs
                .into_iter()
                .filter_map(|(ours, column)| Some((ours.to_owned(), column?.clone())));
            letters_in(&Columns::new(map.collect(), source, sample, options.gold_base), sample)
        };
        let (picks, golds) = (candidates("pick"), candidates("answer"));
        let mut best: (usize, Option<&String>, Option<&String>) = (0, picks.first().copied(), None);
        for pick in &picks {
            for gold in golds.iter().filter(|gold| *gold != pick) {
                let (both, _) = try_out(Some(pick), Some(gold));
                if both > best.0 {
                    best = (both, Some(pick), Some(gold));
                }
            }
        }
        let (_, pick, mut gold) = best;
        if pick.is_none() {
            // Where only texts are there, a gold is what gives letters.
            let letters = |gold: &&&String| try_out(None, Some(gold)).1;
            gold = golds
                .iter()
                .filter(|gold| letters(gold) > 0)
                .max_by_key(letters)
                .copied();
        }
        let mut map: Vec<(String, String)> = Vec::new();
        for (ours, _) in &COLUMNS {
            let column = match *ours {
                "pick" => pick,
                "answer" => gold,
                _ => candidates(ours).into_iter().find(|column| {
                    let is_taken = |(_, theirs): &(String, String)| theirs == *column;
                    !map.iter().any(is_taken)
                }),
            };
            map.extend(column.map(|column| ((*ours).to_owned(), column.clone())));
        }
        Suggested { map }
    }

    fn has(&self, ours: &str) -> bool {
        self.map.iter().any(|(name, _)| name == ours)
    }

    /// The pairs that a map needs: columns of our own names need none.
    fn renamed(&self) -> impl Iterator<Item = String> {
        let pairs = self.map.iter().filter(|(ours, theirs)| ours != theirs);
        pairs.map(|(ours, theirs)| format!("{ours}={theirs}"))
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Whether what stands in a column can be what ours is: no object is a pick, a gold or a score, no long text a gold.
fn holds(ours: &str, column: &str, sample: &[Object]) -> bool {
    const LONG: usize = 200;
    let cells: Vec<Raw> = sample
        .iter()
        .filter_map(|row| columns::column(row, column))
        .filter(|raw| !raw.is_null())
        .collect();
    let all = |is_it: fn(&Raw) -> bool| cells.iter().all(is_it);
    let are_long = || cells.iter().filter(|raw| raw.0.len() > LONG).count() * 2 > cells.len();
    match ours {
        "correct" => all(|raw| raw.truth().is_some()),
        "pick" | "answer" => all(|raw| !raw.is_object()) && !are_long(),
        "attempt" | "seed" => all(|raw| raw.int().is_some()),
        "question_id" | "category" | "subject" | "benchmark" => all(|raw| !raw.is_object() && !raw.is_list()),
        "reasoning" => {
            all(|raw| raw.is_string() || raw.is_list()) && (plain(last_part(column)) != "answer" || are_long())
        }
        "logprobs" => all(|raw| raw.is_list() && raw.list().iter().all(|item| item.float().is_some())),
        "question" | "prompt" => all(|raw| !raw.is_object()),
        _ => true,
    }
}

/// In how many rows pick and gold are both letters or equal, and in how many the gold is one.
fn letters_in(columns: &Columns, sample: &[Object]) -> (usize, usize) {
    let records = sample.iter().filter_map(|row| columns.record(row, 0).ok());
    let is_letter = |text: &str| gold_letters(text).is_some();
    records.fold((0, 0), |(both, golds), record| {
        let gold = is_letter(&record.answer);
        let are_alike = record.correct || (gold && is_letter(&record.pick));
        (both + usize::from(are_alike), golds + usize::from(gold))
    })
}
