//! What a person keeps and finds while browsing: notes, growing files, the check's badge, the view as a command, the lab.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use markbook::record::Record;
use markbook::trace::{Provenance, Trace};
use markbook::tui::{How, Options, Place, Script};
use portable_pty::CommandBuilder;

use crate::screens::{LARGE, SMALL, Terminal, plain, sampled, two_exams, written};

fn pro(questions: std::ops::Range<i64>) -> Vec<Record> {
    questions
        .flat_map(|id| (0..5).map(move |attempt| sampled(id, attempt)))
        .collect()
}

fn trace(records: Vec<Record>) -> Trace {
    Trace::from_records("tiny", "run", records)
}

fn browse(records: Vec<Record>) -> Script {
    Script::open(vec![trace(records)], LARGE, &plain()).unwrap()
}

// Growing files.

#[test]
fn rows_that_a_file_gains_show_without_moving_cursor_filter_and_marks() {
    let mut script = browse(pro(100..104));
    script.keys("/cat:math | cat:law<enter>jjjm");
    let line = |script: &Script| {
        let screen = script.screen();
        let current = screen.lines().find(|line| line.contains('▶')).unwrap();
        current[current.find('▶').unwrap()..].trim_end().to_owned()
    };
    let before = line(&script);
    assert!(before.contains("▶◆"), "{before}");
    script.grow(vec![trace(pro(100..109))]).unwrap();
    let screen = script.screen();
    assert_eq!(line(&script), before, "{screen}");
    assert!(screen.contains("30 of 45"), "{screen}");
    // Rows that come in before the others move them all.
    script.grow(vec![trace(pro(97..109))]).unwrap();
    assert_eq!(line(&script), before, "{}", script.screen());
    script.keys("/<^u>marked<enter>");
    assert!(script.screen().contains("1 of 60"), "{}", script.screen());
}

#[test]
fn a_question_that_is_read_stays_open_while_its_file_grows() {
    let mut script = browse(pro(100..104));
    script.keys("jjjjjjj<enter>");
    let before = script.screen();
    assert!(before.contains(" Q101 "), "{before}");
    script.grow(vec![trace(pro(95..120))]).unwrap();
    assert!(script.screen().contains(" Q101 "), "{}", script.screen());
}

#[test]
fn following_is_told_and_asked_for() {
    let mut script = browse(pro(100..104));
    script.keys("F");
    assert_eq!(script.told, ["Follow(true)"]);
    assert!(script.screen().lines().next().unwrap().contains("following"));
    script.keys("F");
    assert_eq!(script.told, ["Follow(true)", "Follow(false)"]);
}

/// One row of a JSON Lines trace.
fn jsonl(id: i64) -> String {
    let pick = ["A", "B"][id as usize % 2];
    let row = serde_json::json!({
        "question_id": id, "attempt": 0, "category": "law", "question": format!("Question {id}?"),
        "reasoning": format!("So the answer is ({pick})."), "pick": pick, "answer": "A", "correct": pick == "A",
    });
    format!("{row}\n")
}

#[test]
fn a_followed_file_shows_its_new_rows_in_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.jsonl");
    std::fs::write(&path, (0..6).map(jsonl).collect::<String>()).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_markbook"));
    command.args(["open", "--follow", "-f", "wrong"]);
    command.arg(&path);
    command.env("MARKBOOK_HOME", folder.path());
    let mut terminal = Terminal::start(command);
    terminal.wait_for("3 of 6");
    terminal.type_keys("jj");
    terminal.wait_for("3/3");
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all((6..10).map(jsonl).collect::<String>().as_bytes())
        .unwrap();
    terminal.wait_for("5 of 10");
    terminal.wait_for("3/5");
    terminal.type_keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
}

// Marks and notes.

#[test]
fn notes_are_written_shown_filtered_and_taken_back() {
    let mut script = browse(pro(100..104));
    script.keys("jj<enter>");
    assert!(script.screen().contains("note: # writes one"), "{}", script.screen());
    script.keys("#The key looks wrong<enter>m");
    let screen = script.screen();
    assert!(screen.contains("note: The key looks wrong"), "{screen}");
    assert!(screen.lines().next().unwrap().contains("· marked"), "{screen}");
    let kept = script.kept.clone().unwrap();
    assert_eq!((kept.text(2), kept.is_marked(2)), ("The key looks wrong", true));
    script.keys("<esc>/note:key<enter>");
    assert!(script.screen().contains("1 of 20"), "{}", script.screen());
    script.keys("/<^u>note:Key<enter>");
    assert!(script.screen().contains("0 of 20"), "a capital counts");
    script.keys("uu<enter>u");
    assert!(!script.screen().contains("· marked"), "u takes the mark back");
    script.keys("u");
    assert!(script.screen().contains("note: # writes one"), "and then the note");
    script.keys("<esc>g<^r>'");
    assert!(script.screen().contains("no marked row here"), "{}", script.screen());
    script.keys("<^r>'");
    assert!(script.screen().contains("3/20"), "{}", script.screen());
}

#[test]
fn notes_that_cannot_be_kept_are_not_lost_without_asking() {
    let mut script = browse(pro(100..102));
    script.keys("q");
    assert_eq!(script.exit, Some(How::Done), "nothing to lose, nothing to ask");
    let mut script = browse(pro(100..102));
    script.keys("mq");
    assert_eq!(script.exit, Some(How::Done), "what is kept needs no question");
    let mut script = browse(pro(100..102));
    script.keeping = Err("cannot keep the notes: no space".to_owned());
    script.keys("m");
    assert!(script.screen().contains("no space"), "{}", script.screen());
    script.keys("q");
    assert_eq!(script.exit, None);
    assert!(
        script.screen().contains("Notes could not be kept"),
        "{}",
        script.screen()
    );
    script.keys("<esc>qy");
    assert_eq!(script.exit, Some(How::Done));
}

fn markbook(home: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_markbook"))
        .args(args)
        .env("MARKBOOK_HOME", home)
        .output()
        .unwrap();
    let text = if output.status.success() {
        output.stdout
    } else {
        output.stderr
    };
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn notes_outlive_the_session_and_go_into_exports_but_never_into_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let path = written(folder.path());
    let before = std::fs::read(&path).unwrap();
    let open = || {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_markbook"));
        command.arg("open");
        command.arg(&path);
        command.env("MARKBOOK_HOME", &home);
        Terminal::start(command)
    };
    let mut terminal = open();
    terminal.wait_for("1/45");
    terminal.type_keys("jm#odd key\r");
    terminal.wait_for("note kept");
    terminal.type_keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    assert_eq!(std::fs::read(&path).unwrap(), before, "the input is as it was");

    let mut terminal = open();
    terminal.wait_for("1/45");
    terminal.type_keys("'");
    terminal.wait_for("2/45");
    terminal.type_keys("\r");
    terminal.wait_for("note: odd key");
    terminal.type_keys("Q");
    terminal.wait_for_end();

    let file = path.to_str().unwrap();
    let (done, text) = markbook(
        &home,
        &["export", file, "-f", "marked", "--with", "note,marks", "-o", "-"],
    );
    assert!(done, "{text}");
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (&rows[0]["note"], &rows[0]["marks"], &rows[0]["attempt"]),
        (&"odd key".into(), &true.into(), &1.into())
    );
    let (_, text) = markbook(
        &home,
        &["export", file, "-f", "-note:odd", "--with", "marks", "-o", "-"],
    );
    assert_eq!(text.lines().count(), 44);
    assert!(text.lines().all(|line| line.contains("\"marks\":false")));
}

#[test]
fn blind_mode_hides_key_and_picks_until_the_reader_has_answered() {
    let mut script = browse(pro(100..104));
    script.keys("/at:0<enter><enter>b");
    assert_snapshot!("blind", script.screen());
    for told in ["attempts", "answer is", "✓", "✗"] {
        assert!(!script.screen().contains(told), "{told}: {}", script.screen());
    }
    script.keys("C");
    let screen = script.screen();
    assert!(screen.contains("  you") && screen.contains("key"), "{screen}");
    assert_eq!(script.kept.clone().unwrap().get(0).unwrap().label, Some('C'));
    script.keys("n");
    assert!(script.screen().contains(" Q101 "), "{}", script.screen());
    assert!(!script.screen().contains("key "), "the next is hidden again");
    script.keys("b");
    assert!(script.screen().contains("key"), "{}", script.screen());
    script.keys("<esc>b");
    let list = script.screen();
    assert!(!list.contains("[invalid] ") || list.contains("·"), "{list}");
}

// The check's badge.

#[test]
fn what_the_check_finds_is_in_the_title_and_listed_by_its_key() {
    let mut records = pro(100..109);
    records[3].answer = "F".into();
    records.push(records[0].clone());
    let mut script = browse(records);
    let title = script.screen().lines().next().unwrap().to_owned();
    assert!(title.contains("check: 2 warnings (I)"), "{title}");
    script.keys("I");
    let screen = script.screen();
    assert!(
        screen.contains("duplicated_rows: 1 row") && screen.contains("gold_differs: 1 row (question 100)"),
        "{screen}"
    );
    script.keys("<esc>");
    assert!(!script.screen().contains("duplicated_rows"));
    script.resize(SMALL);
    assert!(script.screen().lines().next().unwrap().contains("2 warnings (I)"));
    let fine = browse(pro(100..109)).screen();
    assert!(!fine.contains("check"), "{fine}");
}

#[test]
fn provenance_beside_a_set_is_shown() {
    let mut trace = trace(pro(100..102));
    let made = serde_json::json!({"provenance": {"serving": {"gpu": "one H100", "commit": "abc"}}});
    trace.manifest = Some(Provenance::Foreign(made));
    let mut script = Script::open(vec![trace], LARGE, &plain()).unwrap();
    script.keys("I");
    let screen = script.screen();
    assert!(
        screen.contains("provenance/serving.json") && screen.contains("\"gpu\": \"one H100\""),
        "{screen}"
    );
}

// The filter line.

#[test]
fn every_word_of_the_filter_is_offered_explained_and_understood() {
    let shown = browse(pro(100..109)).keys("?/ ").screen();
    assert!(shown.contains("/ wrong"), "{shown}");
    let words = [
        "wrong",
        "ok",
        "invalid",
        "cat:law",
        "sub:comp",
        "exam:mmlu_pro",
        "why:loop,cut",
        "flag:truncated",
        "finish:length",
        "pick:B",
        "key:C",
        "at:1",
        "seed:43",
        "q:101",
        "q:100-102",
        "text:\"case by\"",
        "prompt:about",
        "question:careful",
        "re:/answer is .?[A-J]/",
        "chars>40",
        "chars<=40",
        "loop",
        "cut",
        "multi",
        "word",
        "unoffered",
        "agree:5",
        "agree<=2",
        "same-wrong",
        "split",
        "marked",
        "note:key",
    ];
    for word in words {
        for line in [word.to_owned(), format!("-{word}"), format!("{word} | cat:math")] {
            let options = Options {
                filter: Some(line.clone()),
                ..plain()
            };
            let screen = Script::open(vec![trace(pro(100..109))], LARGE, &options)
                .unwrap()
                .screen();
            let filter = screen.lines().nth(1).unwrap();
            assert!(
                filter.contains(" of 45") && !filter.contains("as text") && !filter.contains("does not filter"),
                "{line}: {filter}"
            );
        }
        let name: String = word.chars().take_while(|c| c.is_alphabetic() || *c == '-').collect();
        let help = browse(pro(100..109)).keys(&format!("?/ {name}")).screen();
        assert!(help.contains(&format!("/ {name}")), "{name} has no help: {help}");
    }
    let screen = browse(pro(100..109)).keys("/a-only<enter>").screen();
    assert!(
        screen.contains("does not filter: `a-only` takes two runs") && screen.contains("45 of 45"),
        "{screen}"
    );
}

#[test]
fn counts_and_accuracy_of_categories_are_of_the_same_rows() {
    let lines = |keys: &str| -> Vec<String> {
        let screen = browse(pro(100..109)).keys(keys).screen();
        screen
            .lines()
            .skip(3)
            .take(4)
            .map(|line| line.chars().take(36).collect())
            .collect()
    };
    assert_snapshot!(
        "categories",
        [
            lines("").join("\n"),
            lines("/at:0<enter>").join("\n"),
            lines("i").join("\n"),
            lines("iclaw<enter>").join("\n")
        ]
        .join("\n\n")
    );
}

// The view as a command.

/// The options that a copied command line gives.
fn options_of(command: &str) -> Options {
    let mut options = plain();
    let words: Vec<String> = command
        .split('\'')
        .enumerate()
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
            _ => vec![part.to_owned()],
        })
        .collect();
    let after = |flag: &str| {
        words
            .iter()
            .position(|word| word == flag)
            .map(|at| words[at + 1].clone())
    };
    options.filter = after("-f");
    options.place = Place::parse(&after("--view").unwrap_or_default()).unwrap();
    options
}

#[test]
fn the_copied_command_opens_the_very_same_view() {
    for keys in [
        "",
        "jjj",
        "iclaw<enter>jj",
        "schars<enter>s<enter>jj",
        "a",
        "/exam:mmlu_pro<enter>jj<enter>",
        "/exam:mmlu_pro invalid<enter>j<enter>=zjj",
        "jj<enter>p",
        "/exam:mmlu_pro<enter><enter>=/case<enter>",
        "/text:\"case by\"<enter>G",
    ] {
        let mut script = Script::open(two_exams(), LARGE, &plain()).unwrap();
        script.keys(keys);
        let shown = script.screen();
        script.keys("Y");
        let command = script.copied.last().unwrap().clone();
        let again = Script::open(two_exams(), LARGE, &options_of(&command))
            .unwrap()
            .screen();
        assert_eq!(again, shown, "{keys}: {command}");
    }
}

#[test]
fn any_screen_is_printed_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let file = path.to_str().unwrap();
    let view = "row:103.2 question";
    let (done, text) = markbook(
        folder.path(),
        &["open", file, "--print", "--size", "80x24", "--view", view],
    );
    assert!(done, "{text}");
    assert!(text.starts_with(" Question   Q103 · "), "{text}");
    assert_eq!(text.lines().count(), 24);
    let (done, text) = markbook(folder.path(), &["open", file, "--print", "--view", "rows:3"]);
    assert!(!done && text.contains("known: sort:"), "{text}");
}

// The regex lab.

#[test]
fn the_lab_reads_every_output_as_the_rule_is_typed_and_writes_nothing() {
    let mut script = browse(pro(100..109));
    script.keys("r");
    assert_snapshot!("lab", script.screen());
    script.keys("<^u>take[n]? for ([g])<enter>");
    assert!(script.screen().contains("[invalid] 40.0 ->"), "{}", script.screen());
    script.keys("r<^u>answer is (<enter>");
    assert!(script.screen().contains("is not a regular expr"), "{}", script.screen());
    script.keys("r<^u>tiger_chain<enter><tab>");
    assert_snapshot!("lab_chain", script.screen());
    script.resize(SMALL);
    assert_snapshot!("lab_small", script.screen());
    assert!(script.kept.is_none() && script.written.is_empty());
}

#[test]
fn an_adopted_rule_gives_the_picks_until_it_is_given_back() {
    let mut script = browse(pro(100..109));
    let before = script.screen();
    script.keys("r<^u>case by case<enter>:adopt<enter>");
    let screen = script.screen();
    assert!(screen.contains("rule re:case b"), "{screen}");
    assert!(screen.contains("[invalid] "), "{screen}");
    script.keys(":adopt off<enter><esc>");
    assert_eq!(script.screen(), before);
}
