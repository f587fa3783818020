//! The screens as a user sees them: keys in, text out, on data made here.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use markbook::engine::Pulse;
use markbook::record::{Finish, INVALID, Record, letter};
use markbook::run::{Exam, Update};
use markbook::trace::{GrowingTexts, Memory, Trace};
use markbook::tui::{ColorChoice, How, Opener, Options, Script};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::{cases, shared};

pub(super) const LARGE: (u16, u16) = (120, 40);
pub(super) const SMALL: (u16, u16) = (80, 24);

const SUBJECTS: [(&str, &str); 4] = [
    ("STEM", "astronomy"),
    ("Humanities", "philosophy"),
    ("Social Sciences", "econometrics"),
    ("Other", "nutrition"),
];

fn question(benchmark: &str, id: i64, group: (&str, &str), options: usize) -> Record {
    let name = group.1.replace('_', " ");
    let question =
        format!("Which statement about {name} number {id} holds in every case that a careful reader can name?");
    let options: Vec<String> = (0..options)
        .map(|at| format!("{name} holds for case {}", at + 1))
        .collect();
    let answer = letter((id as usize * 5 + 2) % options.len()).unwrap().to_string();
    Record {
        question_id: id,
        benchmark: benchmark.into(),
        category: group.0.into(),
        subject: group.1.into(),
        prompt: format!("The following is about {name}.\n\n{question}\nAnswer:"),
        question,
        options,
        answer,
        doc_hash: format!("{id:08x}deadbeef"),
        prompt_hash: format!("{id:08x}cafebabe"),
        ..Record::default()
    }
}

fn cloze(id: i64) -> Record {
    let mut record = question("mmlu", id, SUBJECTS[id as usize % 4], 4);
    let mut scores: Vec<f64> = vec![-1.4, -1.52, -2.25, -0.91];
    scores.rotate_left((id * id) as usize % 4);
    let best = (0..4).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap();
    record.pick = letter(best).unwrap().to_string();
    record.correct = record.pick == record.answer;
    record.logprobs = Some(scores.into_iter().map(|score| score as f32).collect());
    record.letter_mass = Some(0.41);
    record.top_token = Some(" The".into());
    record
}

pub(super) fn sampled(id: i64, attempt: i64) -> Record {
    let category = ["law", "math", "computer science"][id as usize % 3];
    let mut record = question("mmlu_pro", id, (category, category), 6);
    record.attempt = attempt;
    record.seed = Some(42 + attempt);
    record.finish = Some(Finish::Eos);
    let (pick, text) = match (id + attempt * 2) % 5 {
        0 => (
            record.answer.clone(),
            format!(" Let us see. Case by case, the answer is ({}).", record.answer),
        ),
        1 => (
            "B".into(),
            "We look at each case. So the answer is (B).\nQuestion: something else entirely".into(),
        ),
        2 => (
            INVALID.into(),
            format!(
                "I begin. {}",
                "It is the view of the matter from the matter itself. ".repeat(7)
            ),
        ),
        3 => (
            INVALID.into(),
            "The cases differ in what they take for granted, and then".into(),
        ),
        _ => (
            "D".into(),
            "答案 is hard\tto see\u{1b}[2J\u{7}; the answer is (D)".into(),
        ),
    };
    if (id + attempt * 2) % 5 == 3 {
        record.finish = Some(Finish::Length);
    }
    record.correct = pick == record.answer;
    record.pick = pick;
    record.reasoning_chars = text.chars().count() as i64;
    record.reasoning = text;
    record.output_tokens = Some(40);
    record
}

pub(super) fn two_exams() -> Vec<Trace> {
    let mmlu = (0..12).map(cloze).collect();
    let pro = (100..109)
        .flat_map(|id| (0..5).map(move |attempt| sampled(id, attempt)))
        .collect();
    vec![
        Trace::from_records("tiny", "run", mmlu),
        Trace::from_records("tiny", "run", pro),
    ]
}

pub(super) fn plain() -> Options {
    Options {
        color: ColorChoice::Never,
        ..Options::default()
    }
}

fn opened(size: (u16, u16)) -> Script {
    Script::open(two_exams(), size, &plain()).unwrap()
}

fn screen(keys: &str, size: (u16, u16)) -> String {
    opened(size).keys(keys).screen()
}

#[test]
fn browse_shows_every_pane() {
    assert_snapshot!("browse", screen("", LARGE));
    assert_snapshot!("browse_small", screen("", SMALL));
}

#[test]
fn quick_keys_lead_to_an_invalid_answer() {
    assert_snapshot!("invalid_law", screen("iclaw<enter>jj", LARGE));
    assert_snapshot!("invalid_law_open", screen("iclaw<enter>jj<enter>", LARGE));
    assert_snapshot!("invalid_law_open_small", screen("iclaw<enter>jj<enter>", SMALL));
}

#[test]
fn a_cloze_question_shows_its_scores() {
    assert_snapshot!("cloze", screen("jj<enter>", LARGE));
    assert_snapshot!("cloze_small", screen("jj<enter>", SMALL));
}

#[test]
fn the_filter_line_completes_and_counts_as_it_is_typed() {
    assert_snapshot!("filter_typed", screen("/inv cat:", LARGE));
    let typed = screen("/wrong cat:comp<tab>", SMALL);
    assert!(typed.contains(" / wrong cat:\"computer science\""), "{typed}");
    let kept = screen("/inv<enter>", LARGE);
    assert!(kept.contains("filter  inv ") && kept.contains(" of 57"), "{kept}");
    assert_eq!(screen("/inv<esc>", LARGE), screen("", LARGE), "Esc restores");
    let counts = |keys: &str| screen(keys, LARGE).lines().nth(1).unwrap().to_owned();
    assert!(counts("i").contains("18 of 57"), "{}", counts("i"));
    assert!(counts("iu").contains("57 of 57"), "u takes it back");
    assert!(counts("iu<^r>").contains("18 of 57"), "^r brings it again");
    assert!(
        counts("/careful<enter>").contains("as text"),
        "{}",
        counts("/careful<enter>")
    );
}

#[test]
fn a_filter_with_a_name_is_offered_and_becomes_its_words() {
    let mut script = opened(LARGE);
    script.keys("iclaw<enter>:save law-inv<enter>");
    assert!(
        script.screen().contains("law-inv is invalid cat:law"),
        "{}",
        script.screen()
    );
    let kept = script.keys("j").screen();
    script.keys("<esc>/law");
    assert!(
        script.screen().contains("law-inv") && script.screen().contains("saved"),
        "{}",
        script.screen()
    );
    script.keys("<tab><enter>j");
    assert_eq!(script.screen(), kept);
    script.keys(":save wrong<enter>");
    assert!(
        script.screen().contains("`wrong` cannot name a filter"),
        "{}",
        script.screen()
    );
    script.keys("<esc>:save law-inv<enter>");
    assert!(script.screen().contains("law-inv is forgotten"), "{}", script.screen());
}

#[test]
fn a_jump_is_gone_back_from_with_its_view_and_its_question() {
    let mut script = opened(LARGE);
    let first = script.keys("jjj").screen();
    assert_eq!(script.keys("G<^o>").screen(), first, "the last row and back");
    assert_eq!(script.keys("ij<^o>").screen(), first, "another filter and back");
    let read = script.keys("<enter>").screen();
    script.keys(":9<enter>");
    assert_ne!(script.screen(), read);
    assert_eq!(script.keys("<^o>").screen(), read, "another question and back");
    let none = script.keys("<^o><^o><^o><^o><^o><^o>").screen();
    assert!(none.contains("no jump to go back from"), "{none}");
}

#[test]
fn the_longest_output_is_four_keys_away() {
    let screen = screen("jjjschars<enter>", LARGE);
    let chars = |line: &str| line.split_whitespace().last().unwrap().parse::<usize>();
    let rows: Vec<&str> = screen.lines().filter(|line| line.contains('│')).collect();
    let shown: Vec<usize> = rows.iter().filter_map(|line| chars(line).ok()).collect();
    let current = screen.lines().find(|line| line.contains('▶')).unwrap();
    assert_eq!(chars(current).unwrap(), *shown.iter().max().unwrap(), "{screen}");
}

#[test]
fn tabs_say_where_one_is_and_a_click_goes_there() {
    let mut script = opened(LARGE);
    let head = |script: &Script| script.screen().lines().next().unwrap().to_owned();
    assert!(
        head(&script).starts_with(" Browse Question Charts Compare Lab "),
        "{}",
        head(&script)
    );
    let browse = script.screen();
    script.click(10, 0);
    assert!(
        script.screen().contains("h/l attempt") || script.screen().contains(" Q"),
        "{}",
        script.screen()
    );
    script.click(18, 0);
    assert!(script.screen().contains("calibration"), "{}", script.screen());
    script.click(2, 0);
    assert_eq!(script.screen(), browse);
    assert!(
        screen("<enter>", SMALL).starts_with(" Question "),
        "{}",
        screen("<enter>", SMALL)
    );
}

#[test]
fn pickers_help_and_export_stand_above_the_screen() {
    assert_snapshot!("category_picker", screen("c", LARGE));
    assert_snapshot!("help", screen("?", LARGE));
    assert_snapshot!("help_small", screen("?mark", SMALL));
    assert_snapshot!("export_dialog", screen("ie", LARGE));
}

#[test]
fn help_presses_the_key_that_is_found() {
    assert_eq!(screen("?only rows without<enter>", LARGE), screen("i", LARGE));
}

#[test]
fn escape_never_quits_and_q_does() {
    let mut script = opened(SMALL);
    script.keys("<enter><esc><esc><esc>");
    assert_eq!(script.exit, None);
    script.keys("<enter>q");
    assert_eq!(script.exit, None, "q on Question goes back");
    script.keys("q");
    assert_eq!(script.exit, Some(How::Done));
}

#[test]
fn rows_of_one_question_fold_into_one() {
    assert_snapshot!("by_question", screen("/exam:mmlu_pro<enter>a", SMALL));
}

#[test]
fn outputs_stand_side_by_side_stacked_or_alone() {
    assert_snapshot!("stacked", screen("/exam:mmlu_pro<enter><enter>=", LARGE));
    assert_snapshot!(
        "alone_unfolded",
        screen("/exam:mmlu_pro invalid why:loop<enter><enter>==z", LARGE)
    );
    assert_snapshot!("prompt", screen("/exam:mmlu_pro<enter><enter>p", SMALL));
}

#[test]
fn find_goes_to_the_place_and_says_when_there_is_none() {
    let found = screen("/exam:mmlu_pro<enter><enter>fcase by<enter>", LARGE);
    assert!(!found.contains("is not on this screen"), "{found}");
    let missing = screen("/exam:mmlu_pro<enter><enter>fzebra<enter>", LARGE);
    assert!(missing.contains("`zebra` is not on this screen"), "{missing}");
}

#[test]
fn rows_jump_sort_and_mark() {
    assert!(screen(":20<enter>", LARGE).contains("20/57"));
    assert!(screen(":103.2<enter>", LARGE).contains("Q103 "));
    let sorted = screen("schars<enter>", LARGE);
    assert!(sorted.contains("by chars ↓"), "the longest first: {sorted}");
    let again = screen("schars<enter>s<enter>", LARGE);
    assert!(again.contains("by chars · "), "the same column again reverses: {again}");
    let mut script = opened(LARGE);
    script.keys("jmjjmg'");
    assert!(script.screen().contains("2/57"), "{}", script.screen());
    script.keys("/marked<enter>");
    assert!(script.screen().contains("2 of 57"), "{}", script.screen());
}

#[test]
fn the_view_is_copied_as_a_command_and_the_output_as_it_is() {
    let options = Options {
        command: vec!["my runs/a".into()],
        ..plain()
    };
    let mut script = Script::open(two_exams(), LARGE, &options).unwrap();
    script.keys("iclaw<enter>Y<enter>y");
    assert_eq!(script.copied[0], "markbook open 'my runs/a' -f 'invalid cat:law'");
    assert!(script.copied[1].starts_with("I begin. It is the view") || script.copied[1].starts_with("The cases"));
}

#[test]
fn clicks_select_filter_and_press() {
    let mut script = opened(LARGE);
    script.click(60, 6);
    assert!(script.screen().contains("3/57"), "{}", script.screen());
    script.click(60, 6);
    assert!(
        script.screen().contains(" Q2 "),
        "a click on the selected row opens it: {}",
        script.screen()
    );
    let mut script = opened(LARGE);
    script.click(5, 5);
    assert!(
        script.screen().contains("filter  cat:"),
        "a click on a category filters: {}",
        script.screen()
    );
    let mut script = opened(LARGE);
    script.click(23, 39);
    assert!(
        script.screen().contains("filter  invalid"),
        "a click on a footer key presses it: {}",
        script.screen()
    );
}

#[test]
fn export_writes_exactly_the_slice_and_never_over_a_file_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slice.jsonl");
    let mut script = opened(LARGE);
    let typed = path.display().to_string().replace('<', "<lt>");
    script.keys(&format!("i:export {typed}<enter>"));
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 18);
    assert!(script.screen().contains("18 rows written"), "{}", script.screen());
    std::fs::write(&path, "mine").unwrap();
    script.keys(&format!(":export {typed}<enter>"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    assert!(script.screen().contains("^o replaces it"), "{}", script.screen());
    script.keys("<^o>");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn small_terminals_show_the_rows_and_say_so() {
    let narrow = screen("", (40, 12));
    assert_snapshot!("tiny", screen("/exam:mmlu_pro<enter>", (40, 12)));
    assert!(narrow.contains("too small"), "{narrow}");
    for width in [1, 7, 20, 39, 59, 61, 79, 103, 104, 200] {
        for height in [1, 3, 9, 15, 16, 23, 29, 60] {
            for keys in ["", "<enter>", "c", "?", "e", "/inv", "2", "<enter>p"] {
                screen(keys, (width, height));
            }
        }
    }
}

#[test]
fn marks_tell_without_colour_what_colours_tell() {
    let text = screen("/exam:mmlu_pro<enter>", LARGE);
    for mark in [" ✓ ", " ✗ ", INVALID, " ! ", "▶ "] {
        assert!(text.contains(mark), "{mark}: {text}");
    }
}

#[test]
fn ascii_screens_hold_only_ascii_of_ours() {
    let options = Options { ascii: true, ..plain() };
    let keys = [
        "",
        "i<enter>",
        "?",
        "e",
        "jj<enter>",
        "/inv cat:",
        "iclaw<enter><enter>",
    ];
    for text in keys.map(|keys| Script::open(two_exams(), LARGE, &options).unwrap().keys(keys).screen()) {
        let foreign: String = text.chars().filter(|c| !c.is_ascii() && !"答案".contains(*c)).collect();
        assert_eq!(foreign, "", "{text}");
    }
    let mut script = Script::open(two_exams(), LARGE, &options).unwrap();
    assert_snapshot!("ascii_question", script.keys("/exam:mmlu_pro<enter><enter>").screen());
}

#[test]
fn nothing_a_terminal_acts_on_reaches_the_screen() {
    for case in cases("terminals.jsonl") {
        let text = case["text"].as_str().unwrap().to_owned();
        let records = vec![Record {
            question: text.clone(),
            options: vec![text.clone(), text.clone()],
            prompt: text.clone(),
            reasoning: text.clone(),
            pick: text.clone(),
            answer: text.clone(),
            category: text.clone(),
            subject: text.clone(),
            benchmark: text.clone(),
            flags: vec![text.clone()],
            top_token: Some(text.clone()),
            doc_hash: text.clone(),
            ..Record::default()
        }];
        let trace = Trace::from_records(&text, &text, records);
        for keys in ["", "<enter>", "<enter>p", "c", "+", ":", "2", "?", "ie"] {
            for size in [LARGE, SMALL, (40, 12)] {
                let screen = Script::open(vec![trace.clone()], size, &plain())
                    .unwrap()
                    .keys(keys)
                    .screen();
                let acted: Vec<char> = screen
                    .chars()
                    .filter(|c| *c != '\n' && (c.is_control() || "\u{202e}\u{202c}\u{200b}\u{feff}".contains(*c)))
                    .collect();
                assert!(acted.is_empty(), "{} {keys}: {acted:?}", case["id"]);
            }
        }
    }
}

#[test]
fn shared_trace_third_invalid_law_answer_is_nine_keys_away() {
    let Some(folder) = shared() else { return };
    let path = folder.join("data/traces/localgate-like/localgate_like.parquet");
    let mut script = Script::open(vec![markbook::parquet::open(&path).unwrap()], LARGE, &plain()).unwrap();
    script.keys("iclaw<enter>");
    let list = script.screen();
    assert!(list.contains("237 of 60,160 · 214 questions"), "{list}");
    script.keys("jj");
    assert!(
        script.screen().lines().any(|line| line.contains("▶   876  2 ! ")),
        "{}",
        script.screen()
    );
    script.keys("<enter>");
    let open = script.screen();
    assert!(open.contains(" Q876 · law · 3/237"), "{open}");
    assert!(
        open.contains("━ attempt 2 (0-4) · [invalid]") && open.contains("The carpenter and"),
        "{open}"
    );
    script.resize(SMALL);
    assert!(
        script.screen().contains("attempt 2 (0-4) · [invalid]"),
        "{}",
        script.screen()
    );
}

// The screens over a run at work.

pub(super) fn exams() -> Vec<Exam> {
    let mmlu = Exam {
        benchmark: "mmlu".into(),
        method: "cloze · 0-shot".into(),
        is_cloze: true,
        questions: 40,
        rows: 40,
        seeds: Vec::new(),
        subjects: SUBJECTS
            .iter()
            .map(|(category, subject)| ((*category).into(), (*subject).into(), 10))
            .collect(),
        resumed: 0,
        path: "runs/tiny/mmlu".into(),
    };
    let pro = Exam {
        benchmark: "mmlu_pro".into(),
        method: "5 seeds 42-46 · T 1.0 p 0.95 k 64".into(),
        is_cloze: false,
        questions: 12,
        rows: 60,
        seeds: (42..47).collect(),
        subjects: ["law", "math", "computer science"]
            .iter()
            .map(|name| ((*name).into(), (*name).into(), 20))
            .collect(),
        resumed: 0,
        path: "runs/tiny/mmlu_pro".into(),
    };
    vec![mmlu, pro]
}

pub(super) fn started(size: (u16, u16), exams: Vec<Exam>) -> Script {
    let mut script = Script::live(size, &plain());
    let kept = |records: Vec<Record>| GrowingTexts(Arc::new(Memory::new(records)));
    script.hear(Update::Started {
        model: "tiny".into(),
        dtype: "f32".into(),
        exams,
        texts: vec![
            kept((0..24).map(cloze).collect()),
            kept((0..60).map(|step| sampled(100 + step / 5, step % 5)).collect()),
        ],
    });
    script
}

/// Lands some rows of both exams, one a second.
pub(super) fn at_work(size: (u16, u16)) -> Script {
    let mut script = started(size, exams());
    let mut pulse = Pulse::default();
    for step in 0..24 {
        script.hear(Update::Landed {
            exam: 0,
            record: Arc::new(Record {
                seconds: 0.5,
                ..cloze(step)
            }),
        });
        let record = Record {
            seconds: 0.7,
            ..sampled(100 + step / 5, step % 5)
        };
        script.hear(Update::Landed {
            exam: 1,
            record: Arc::new(record),
        });
        pulse.tokens_in_logical += 130;
        pulse.tokens_out += 40;
        pulse.in_flight = 8;
        script.hear(Update::Pulse(pulse)).advance(Duration::from_secs(1));
    }
    script
}

#[test]
fn landed_rows_open_while_the_run_goes_on() {
    let mut script = at_work(LARGE);
    script.keys("<tab><enter>jj<enter>");
    let screen = script.screen();
    assert!(screen.contains(" Q104 "), "{screen}");
    script.keys("<esc>b");
    let screen = script.screen();
    assert!(
        screen.contains("filter  exam:mmlu_pro") && screen.contains("24 of 48"),
        "{screen}"
    );
    script.keys("<esc>");
    assert!(!script.screen().contains("exam:mmlu_pro"), "{}", script.screen());
}

#[test]
fn a_row_under_the_cursor_stays_when_others_land() {
    let mut script = at_work(LARGE);
    script.keys("<tab><enter>jjj");
    let line_of = |script: &Script| {
        let screen = script.screen();
        let (at, line) = screen
            .lines()
            .enumerate()
            .find(|(_, line)| line.contains('▶'))
            .expect("a cursor");
        (at, line.to_owned())
    };
    let before = line_of(&script);
    for step in 24..30 {
        script.hear(Update::Landed {
            exam: 1,
            record: Arc::new(sampled(100 + step / 5, step % 5)),
        });
        script.advance(Duration::from_secs(1));
    }
    assert_eq!(line_of(&script), before);
    script.keys("b");
    script.keys("jjjj");
    let before = line_of(&script);
    script
        .hear(Update::Landed {
            exam: 1,
            record: Arc::new(sampled(107, 0)),
        })
        .advance(Duration::from_secs(1));
    assert_eq!(line_of(&script), before);
}

#[test]
fn quitting_a_run_asks_saves_and_then_ends() {
    let mut script = at_work(LARGE);
    script.keys("q");
    assert_eq!(script.exit, None);
    assert!(script.screen().contains("A run is at work"));
    script.keys("<esc>");
    assert!(script.told.is_empty(), "{:?}", script.told);
    script.keys("qs");
    assert_eq!(
        (script.told.as_slice(), script.exit),
        (&["StopRun".to_owned()][..], None),
        "it waits for the last word"
    );
    script.hear(Update::Ended { stopped: true });
    assert_eq!(script.exit, Some(How::Stopped));
}

#[test]
fn a_run_that_is_done_stays_to_be_browsed() {
    let mut script = at_work(LARGE);
    script
        .hear(Update::Complete { exam: 0 })
        .hear(Update::Complete { exam: 1 })
        .hear(Update::Ended { stopped: false });
    assert!(script.screen().starts_with(" DONE"), "{}", script.screen());
    script.keys("q");
    assert_eq!(script.exit, Some(How::Done));
}

#[test]
fn exams_pause_and_share_compute() {
    let mut script = at_work(LARGE);
    script.keys("P><tab>P");
    assert_eq!(
        script.told,
        [
            "Pause { lane: 0, paused: true }",
            "Share { lane: 0, share: 6 }",
            "Share { lane: 1, share: 4 }",
            "Pause { lane: 1, paused: true }"
        ]
    );
    assert!(script.screen().contains("paused"), "{}", script.screen());
}

// In a real terminal.

/// Writes the made-up trace as a file.
pub(super) fn written(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("tiny.parquet");
    let records: Vec<Record> = (100..109)
        .flat_map(|id| (0..5).map(move |attempt| sampled(id, attempt)))
        .collect();
    markbook::parquet::write_records(&path, &records, markbook::parquet::Order::ByQuestion).unwrap();
    path
}

/// A program in a terminal of 120x40.
pub(super) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keyboard: Option<Box<dyn Write + Send>>,
    /// Every byte that the program sent.
    sent: Arc<Mutex<Vec<u8>>>,
    is_closing: Arc<AtomicBool>,
}

impl Terminal {
    pub(super) fn start(mut command: CommandBuilder) -> Terminal {
        let size = PtySize {
            rows: LARGE.1,
            cols: LARGE.0,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).unwrap();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let is_closing = Arc::new(AtomicBool::new(false));
        let closing = Arc::clone(&is_closing);
        let (mut reader, keep) = (pair.master.try_clone_reader().unwrap(), Arc::clone(&sent));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if closing.load(Ordering::SeqCst) {
                    return;
                }
                keep.lock().unwrap().extend(&buffer[..count]);
            }
        });
        let keyboard = pair.master.take_writer().unwrap();
        Terminal {
            child,
            master: Some(pair.master),
            keyboard: Some(keyboard),
            sent,
            is_closing,
        }
    }

    fn browse(path: &Path, environment: &[(&str, &str)]) -> Terminal {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_markbook"));
        command.arg("open");
        command.arg(path);
        command.env("MARKBOOK_CATALOGUE", "off");
        command.env_remove("NO_COLOR");
        for (name, value) in environment {
            command.env(name, value);
        }
        Terminal::start(command)
    }

    pub(super) fn screen(&self) -> String {
        let mut parser = vt100::Parser::new(LARGE.1.try_into().unwrap(), LARGE.0.try_into().unwrap(), 0);
        parser.process(&self.sent.lock().unwrap());
        parser.screen().contents()
    }

    pub(super) fn has_sent(&self, text: &str) -> bool {
        self.text_sent().contains(text)
    }

    fn text_sent(&self) -> String {
        String::from_utf8_lossy(&self.sent.lock().unwrap()).into_owned()
    }

    #[track_caller]
    pub(super) fn wait_for(&self, text: &str) {
        let since = Instant::now();
        while !self.screen().contains(text) {
            assert!(
                since.elapsed() < Duration::from_mins(1),
                "no {text:?} on:\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn type_keys(&mut self, keys: &str) {
        self.keyboard.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    #[track_caller]
    pub(super) fn wait_for_end(&mut self) -> u32 {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                std::thread::sleep(Duration::from_millis(100));
                return status.exit_code();
            }
            assert!(
                since.elapsed() < Duration::from_mins(1),
                "still running:\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Closes the terminal, as a window that is closed does.
    pub(super) fn close(&mut self) {
        // The thread that reads holds the terminal too: it lets go with the next frame.
        self.is_closing.store(true, Ordering::SeqCst);
        self.type_keys("j");
        drop(self.keyboard.take());
        drop(self.master.take());
    }

    /// Sends the program a signal, if it is still there.
    pub(super) fn signal(&self, name: &str) {
        let id = self.child.process_id().unwrap().to_string();
        let _ = std::process::Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
    }

    #[track_caller]
    pub(super) fn assert_left_sane(&self) {
        let sent = self.text_sent();
        for (mode, what) in [
            ("\u{1b}[?1049l", "alternate screen"),
            ("\u{1b}[?1000l", "mouse"),
            ("\u{1b}[?2004l", "paste"),
        ] {
            let on = mode.replace('l', "h");
            assert!(
                !sent.contains(&on) || sent.rfind(mode) > sent.rfind(&on),
                "{what} is left on"
            );
        }
        let hidden = sent.rfind("\u{1b}[?25l");
        assert!(
            hidden.is_none() || sent.rfind("\u{1b}[?25h") > hidden,
            "the cursor is left hidden"
        );
    }
}

/// The sequences sent that set a colour.
fn colours_in(sent: &str) -> Vec<String> {
    let sequences = sent.split("\u{1b}[").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        rest[end..].starts_with('m').then(|| &rest[..end])
    });
    let is_colour = |code: &str| matches!(code.parse(), Ok(30..=38 | 40..=48 | 90..=107));
    sequences
        .filter(|codes| codes.split(';').next().is_some_and(is_colour))
        .map(str::to_owned)
        .collect()
}

#[test]
fn without_colour_no_colour_is_sent_and_the_terminal_is_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let mut terminal = Terminal::browse(&path, &[("NO_COLOR", "1")]);
    terminal.wait_for("1/45");
    terminal.type_keys("i");
    terminal.wait_for("18 of 45");
    terminal.type_keys("q");
    assert_eq!(terminal.wait_for_end(), 0);
    let sent = terminal.text_sent();
    assert_eq!(colours_in(&sent), Vec::<String>::new());
    terminal.assert_left_sane();
    let mut terminal = Terminal::browse(&path, &[]);
    terminal.wait_for("1/45");
    assert!(
        !colours_in(&terminal.text_sent()).is_empty(),
        "with colour there is colour"
    );
    terminal.type_keys("q");
    terminal.wait_for_end();
}

#[test]
fn a_closed_terminal_ends_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::browse(&written(folder.path()), &[]);
    terminal.wait_for("1/45");
    terminal.close();
    assert_eq!(terminal.wait_for_end(), 129, "as a shell tells it of SIGHUP");
}

#[cfg(unix)]
#[test]
fn a_request_to_end_leaves_the_terminal_sane() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::browse(&written(folder.path()), &[]);
    terminal.wait_for("1/45");
    terminal.signal("TERM");
    assert_eq!(terminal.wait_for_end(), 143, "as a shell tells it of SIGTERM");
    terminal.assert_left_sane();
}

/// Set for the run that panics.
const PANICKING: &str = "MARKBOOK_TEST_PANICKING";

#[test]
fn a_panic_leaves_the_terminal_sane_and_its_message_readable() {
    // This very test runs once more, in a terminal of its own: there it is the program that panics.
    if std::env::var_os(PANICKING).is_some() {
        let open = || {
            std::thread::sleep(Duration::from_millis(500));
            panic!("broken on purpose")
        };
        assert!(markbook::tui::browse(Opener::new(open), Options::default()).is_err());
        return;
    }
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    let name = "screens::a_panic_leaves_the_terminal_sane_and_its_message_readable";
    command.args(["--exact", name, "--nocapture"]);
    command.env(PANICKING, "1");
    let mut terminal = Terminal::start(command);
    terminal.wait_for_end();
    let screen = terminal.screen();
    assert!(screen.contains("broken on purpose"), "{screen}");
    let sent = terminal.text_sent();
    assert!(sent.contains("\u{1b}[?1049h"), "the screen was up: {sent:?}");
    terminal.assert_left_sane();
}

// Whatever the size.

/// Numbers that depend on nothing but their seed.
fn dice(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |sides| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % sides
    }
}

#[test]
fn every_screen_and_window_fits_into_whatever_size_the_terminal_has_by_now() {
    let keys = [
        "j",
        "k",
        "G",
        "g",
        "<enter>",
        "<esc>",
        "<tab>",
        "1",
        "2",
        "3",
        "4",
        "5",
        "i",
        "w",
        "c",
        "?",
        "e",
        "p",
        "=",
        "z",
        "r",
        "I",
        ":",
        "/",
        "f",
        "#",
        "s",
        "+",
        "-",
        "d",
        "x",
        "X",
        "h",
        "l",
        "J",
        "K",
        " ",
        "b",
        "u",
        "a",
        "n",
        "W",
        "q",
        "law",
        "F",
        "<^d>",
        "<backspace>",
        "<down>",
    ];
    let open = |which: usize, size| match which {
        0 => Script::open(two_exams(), size, &plain()).unwrap(),
        1 => {
            let records = |name: &str, from: i64| {
                let rows = (100..106).flat_map(|id| (0..3).map(move |attempt| sampled(id + from, attempt)));
                Trace::from_records(name, name, rows.collect())
            };
            Script::open(vec![records("one", 0), records("other", 1)], size, &plain()).unwrap()
        }
        2 => {
            let run = |name: &str| Trace::from_records(name, name, vec![sampled(100, 0), sampled(101, 0)]);
            Script::open(vec![run("one"), run("two"), run("three")], size, &plain()).unwrap()
        }
        _ => at_work(size),
    };
    for seed in 0..200 {
        let mut throw = dice(seed);
        let mut size = || {
            let wide = |throw: &mut dyn FnMut(usize) -> usize| match throw(4) {
                0 => 1 + throw(30),
                _ => 1 + throw(300),
            };
            (wide(&mut throw) as u16, 1 + throw(100) as u16)
        };
        let told = size();
        let sizes: Vec<(u16, u16)> = (0..24).map(|_| size()).collect();
        let mut throw = dice(seed + 7_000);
        let mut script = open(seed as usize % 4, told);
        for now in sizes {
            let key = keys[throw(keys.len())];
            script.keys(key);
            // The terminal has this size by now, and nothing has told so.
            script.screen_of(now);
            if key == "e" {
                // Nothing is to be written here.
                script.keys("<esc>");
            }
            if throw(6) == 0 {
                script.resize(now);
            }
        }
    }
}
