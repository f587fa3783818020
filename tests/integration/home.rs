//! Home: what bare `markbook` shows, what is opened from there, and the last view.

use std::path::{Path, PathBuf};

use markbook::trace::Trace;
use markbook::tui::{Kept, Picked, Script};
use portable_pty::CommandBuilder;

use super::screens::{LARGE, Terminal, plain, sampled, written};

fn kept(name: &str, is_run: bool) -> Kept {
    Kept {
        path: PathBuf::from(name),
        name: name.to_owned(),
        what: if is_run {
            "2 exams".to_owned()
        } else {
            "45 rows".to_owned()
        },
        accuracy: vec![("mmlu".to_owned(), 0.249, 0.05), ("mmlu_pro".to_owned(), 0.125, 0.1)],
        invalid: Some(0.5),
        when: "today 06:06".to_owned(),
        is_run,
        can_resume: false,
    }
}

fn home() -> Script {
    let stopped = Kept {
        what: "stopped".to_owned(),
        can_resume: true,
        accuracy: Vec::new(),
        ..kept("smol-stopped", true)
    };
    Script::home(
        vec![kept("smol", true), stopped, kept("answers.parquet", false)],
        LARGE,
        &plain(),
    )
}

#[test]
fn runs_files_and_what_can_be_tried_stand_on_one_screen() {
    let screen = home().screen();
    insta::assert_snapshot!("home", screen);
    assert!(
        Script::home(Vec::new(), (80, 24), &plain())
            .screen()
            .contains("none yet: markbook run")
    );
}

#[test]
fn what_is_under_the_cursor_or_marked_is_opened() {
    let paths = |names: &[&str]| Picked::Open(names.iter().map(PathBuf::from).collect());
    for (keys, picked) in [
        ("<enter>", paths(&["smol"])),
        ("jj<enter>", paths(&["answers.parquet"])),
        ("<space>j<space><enter>", paths(&["smol", "answers.parquet"])),
        ("jjj<enter>", paths(&[])),
        ("G<enter>", Picked::Demo),
        ("jr", Picked::Resume("smol-stopped".into())),
        ("oother.csv<enter>", paths(&["other.csv"])),
    ] {
        assert_eq!(home().keys(keys).picked(), Some(&picked), "{keys}");
    }
    let mut script = home();
    script.keys("r");
    assert_eq!(script.picked(), None);
    assert!(script.screen().contains("this run is complete"), "{}", script.screen());
}

#[test]
fn several_runs_stand_side_by_side_by_category_and_a_cell_is_browsed() {
    let run = |name: &str, from: i64| {
        let records = (100..109).flat_map(|id| (0..3).map(move |attempt| sampled(id + from, attempt)));
        Trace::from_records(name, name, records.collect())
    };
    let traces = vec![run("one", 0), run("two", 1), run("three", 2)];
    let mut script = Script::open(traces, LARGE, &plain()).unwrap();
    script.keys("<tab>");
    insta::assert_snapshot!("runs_by_category", script.screen());
    script.keys("ljj<enter>");
    let screen = script.screen();
    assert!(screen.contains("two ·") && screen.contains("filter  cat:"), "{screen}");
    script.keys("<esc>");
    assert!(script.screen().contains("runs open"), "{}", script.screen());
}

fn start(home: &Path, words: &[&str]) -> Terminal {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_markbook"));
    command.args(words);
    command.env("MARKBOOK_HOME", home);
    Terminal::start(command)
}

#[test]
fn bare_markbook_is_home_what_is_opened_comes_back_to_it_and_the_last_view_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (home, path) = (folder.path().join("home"), written(folder.path()));
    let mut terminal = start(&home, &["open", path.to_str().unwrap()]);
    terminal.wait_for("1/45");
    terminal.type_keys("wq");
    assert_eq!(terminal.wait_for_end(), 0);

    let mut terminal = start(&home, &[]);
    terminal.wait_for("tiny.parquet");
    terminal.wait_for("45 rows");
    terminal.type_keys("\r");
    terminal.wait_for("1/45");
    terminal.type_keys("q");
    terminal.wait_for("live demo");
    terminal.type_keys("q");
    assert_eq!(terminal.wait_for_end(), 0);

    let mut terminal = start(&home, &["open", path.to_str().unwrap(), "-f", "invalid"]);
    terminal.wait_for("[invalid]");
    terminal.wait_for("1/");
    terminal.type_keys("q");
    terminal.wait_for_end();
    let mut terminal = start(&home, &["-"]);
    terminal.wait_for("filter  invalid");
    terminal.type_keys("Q");
    assert_eq!(terminal.wait_for_end(), 0);
}
