//! The live screens over a made-up run, at fixed times and sizes.

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use markbook::record::{Finish, INVALID, Record};
use markbook::run::Update;
use markbook::tui::{ColorChoice, Options, Script};

use crate::sitting::{Keeper, mmlu, mmlu_pro, sitting, started};

const LARGE: (u16, u16) = (120, 40);
const SMALL: (u16, u16) = (80, 24);

/// A screen that hears a run, and what time it is there.
struct Watch {
    script: Script,
    now: Duration,
    keeper: Keeper,
    to_come: std::vec::IntoIter<(Duration, Update)>,
}

impl Watch {
    fn new(size: (u16, u16), ascii: bool, only: Option<usize>) -> Watch {
        let options = Options {
            color: ColorChoice::Never,
            ascii,
            ..Options::default()
        };
        Watch {
            script: Script::live(size, &options),
            now: Duration::ZERO,
            keeper: Keeper::default(),
            to_come: sitting(only).updates.into_iter(),
        }
    }

    /// Both exams, up to a second of the run.
    fn at(size: (u16, u16), second: u64) -> Watch {
        let mut watch = Watch::new(size, false, None);
        watch.until(second);
        watch
    }

    /// Hears what the run tells up to a second.
    fn until(&mut self, second: u64) -> &mut Watch {
        let end = Duration::from_secs(second);
        while let Some((at, update)) = self.to_come.as_slice().first().filter(|(at, _)| *at <= end).cloned() {
            self.to_come.next();
            self.advance(at);
            self.script.hear(self.keeper.keep(update));
        }
        self.advance(end);
        self
    }

    fn advance(&mut self, to: Duration) {
        self.script.advance(to.saturating_sub(self.now));
        self.now = self.now.max(to);
    }

    /// Hears updates of the test's own.
    fn hear(&mut self, updates: impl IntoIterator<Item = Update>) -> &mut Watch {
        for update in updates {
            self.script.hear(self.keeper.keep(update));
        }
        self
    }

    fn keys(&mut self, keys: &str) -> &mut Watch {
        self.script.keys(keys);
        self
    }

    fn screen(&self) -> String {
        self.script.screen()
    }

    /// The first line that holds a text.
    fn line(&self, text: &str) -> String {
        let screen = self.screen();
        screen
            .lines()
            .find(|line| line.contains(text))
            .unwrap_or_else(|| panic!("no {text:?} in\n{screen}"))
            .to_owned()
    }
}

#[test]
fn before_the_first_question_it_says_what_is_done() {
    assert_snapshot!(Watch::at(SMALL, 1).screen());
}

#[test]
fn two_exams_stand_side_by_side() {
    assert_snapshot!("side_start", Watch::at(LARGE, 4).screen());
    assert_snapshot!("side_middle", Watch::at(LARGE, 45).screen());
    assert_snapshot!("side_end", Watch::at(LARGE, 300).screen());
}

#[test]
fn two_exams_stand_above_each_other_on_a_small_screen() {
    assert_snapshot!("stacked_start", Watch::at(SMALL, 4).screen());
    assert_snapshot!("stacked_middle", Watch::at(SMALL, 45).screen());
    assert_snapshot!("stacked_end", Watch::at(SMALL, 300).screen());
}

#[test]
fn each_exam_opens_full_screen() {
    assert_snapshot!("cloze_large", Watch::at(LARGE, 45).keys("<enter>").screen());
    assert_snapshot!("cloze_small", Watch::at(SMALL, 45).keys("<enter>").screen());
    assert_snapshot!("sampled_large", Watch::at(LARGE, 45).keys("<tab><enter>").screen());
    assert_snapshot!("sampled_small", Watch::at(SMALL, 45).keys("<tab><enter>").screen());
}

#[test]
fn a_run_of_one_exam_begins_full_screen() {
    let mut watch = Watch::new(LARGE, false, Some(1));
    watch.until(45);
    assert!(watch.screen().contains("Accuracy by category"), "{}", watch.screen());
    assert!(!watch.screen().contains("Tab other exam"));
}

#[test]
fn a_tiny_screen_gets_lines_instead_of_boxes() {
    assert_snapshot!(Watch::at((50, 14), 45).screen());
}

#[test]
fn ascii_screens_hold_nothing_else() {
    for size in [LARGE, SMALL] {
        for keys in ["", "<enter>", "<tab><enter>jj"] {
            let mut watch = Watch::new(size, true, None);
            watch.until(45).keys(keys);
            let foreign: Vec<char> = watch.screen().chars().filter(|c| !c.is_ascii()).collect();
            assert!(foreign.is_empty(), "{foreign:?} in\n{}", watch.screen());
        }
    }
}

#[test]
fn every_size_can_be_drawn_at_every_stage() {
    for second in [1, 3, 30, 300] {
        let mut watch = Watch::at(LARGE, second);
        for keys in ["", "<enter>"] {
            watch.keys(keys);
            for (width, height) in (1..170)
                .step_by(13)
                .flat_map(|width| (1..60).step_by(7).map(move |height| (width, height)))
            {
                watch.script.resize((width, height));
                assert_eq!(watch.screen().lines().count(), usize::from(height));
            }
        }
    }
}

#[test]
fn figures_keep_their_columns_while_the_run_goes_on() {
    let mut watch = Watch::at(LARGE, 5);
    let column = |watch: &Watch, text: &str| {
        let line = watch.line(text);
        line[..line.find(text).unwrap()].chars().count()
    };
    let at = [
        column(&watch, "rows/s"),
        column(&watch, "errors"),
        column(&watch, "tok/s"),
        column(&watch, "/ 280"),
    ];
    for second in (6..80).step_by(2) {
        watch.until(second);
        let moved = [
            column(&watch, "rows/s"),
            column(&watch, "errors"),
            column(&watch, "tok/s"),
            column(&watch, "/ 280"),
        ];
        assert_eq!(at, moved, "at {second} s:\n{}", watch.screen());
    }
}

#[test]
fn the_row_under_the_cursor_stays_where_it_is() {
    let mut watch = Watch::at(LARGE, 30);
    watch.keys("<tab>jj");
    let place = |watch: &Watch| {
        let screen = watch.screen();
        let (at, line) = screen
            .lines()
            .enumerate()
            .find(|(_, line)| line.contains("▶ Q"))
            .expect("a cursor in the feed");
        (at, line[line.find("▶ Q").unwrap()..].to_owned())
    };
    let before = place(&watch);
    for second in 31..40 {
        assert_eq!(before, place(watch.until(second)));
    }
    assert!(watch.screen().contains("newer"), "says that there is more above");
    watch.keys("F");
    assert!(!watch.screen().contains("▶ Q"), "follows the newest again");
}

#[test]
fn an_answer_opens_while_the_run_goes_on() {
    let mut watch = Watch::at(LARGE, 30);
    watch.keys("<tab><enter>jj");
    let line = watch.line("▶ ");
    let question: String = line.split_whitespace().nth(3).unwrap().to_owned();
    watch.keys("<enter>");
    assert!(
        watch.screen().contains(&format!("Q{question}")),
        "Q{question} in\n{}",
        watch.screen()
    );
    watch.until(33).keys("<esc>");
    assert_eq!(watch.line("▶ "), line);
}

#[test]
fn the_feed_shows_only_what_passes_the_filter() {
    let mut watch = Watch::at(LARGE, 45);
    watch.keys("<tab><enter>i");
    let feed = |watch: &Watch| -> Vec<String> {
        watch
            .screen()
            .lines()
            .filter(|line| line.contains("key") && line.contains(" at "))
            .map(str::to_owned)
            .collect()
    };
    assert!(
        !feed(&watch).is_empty() && feed(&watch).iter().all(|line| line.contains(" ! ")),
        "{}",
        watch.screen()
    );
    watch.until(60);
    assert!(
        feed(&watch).iter().all(|line| line.contains(" ! ")),
        "{}",
        watch.screen()
    );
    watch.keys("i");
    assert!(
        feed(&watch).iter().any(|line| !line.contains(" ! ")),
        "{}",
        watch.screen()
    );
}

#[test]
fn a_pause_and_the_shares_of_compute_are_told_and_shown() {
    let mut watch = Watch::at(LARGE, 30);
    watch.keys("P>");
    assert!(
        watch.line("mmlu · cloze").contains("share 6 · paused"),
        "{}",
        watch.screen()
    );
    assert!(watch.line("paused   ").contains("paused"), "instead of the time left");
    assert!(
        watch
            .script
            .told
            .iter()
            .any(|told| told.contains("Pause { lane: 0, paused: true }")),
        "{:?}",
        watch.script.told
    );
    assert!(
        watch
            .script
            .told
            .iter()
            .any(|told| told.contains("Share { lane: 1, share: 4 }")),
        "{:?}",
        watch.script.told
    );
}

#[test]
fn a_stopped_run_says_how_far_it_came_and_where_it_is() {
    let mut watch = Watch::at(LARGE, 30);
    watch.hear([Update::Ended { stopped: true }]);
    let line = watch.line("stopped, ");
    assert!(
        line.contains("of 1,420 done, saved in runs/first; resume with --resume"),
        "{line}"
    );
    assert!(watch.line("STOPPED").starts_with(" STOPPED · SmolLM2-135M-Instruct"));
}

#[test]
fn a_failure_is_told_before_and_during_the_run() {
    let message = "model.safetensors: no tensor 'lm_head.weight' (llama); is the file complete? Fetch it again with markbook fetch";
    let mut early = Watch::at(SMALL, 1);
    early.hear([Update::Failed(message.into())]);
    assert_snapshot!("failed_before", early.screen());
    let mut late = Watch::at(SMALL, 30);
    late.hear([Update::Failed(
        "runs/first/mmlu/journal.jsonl: no space left on device; free some and run again with --resume".into(),
    )]);
    assert_snapshot!("failed_during", late.screen());
}

#[test]
fn a_run_that_always_picks_one_letter_is_named_so() {
    let records = (0..40).map(|question| Record {
        question_id: question,
        category: "STEM".into(),
        subject: "anatomy".into(),
        benchmark: "mmlu".into(),
        pick: "A".into(),
        answer: if question % 4 == 0 { "A" } else { "C" }.into(),
        correct: question % 4 == 0,
        logprobs: Some(vec![-0.5, -1.0, -2.0, -3.0]),
        ..Record::default()
    });
    for size in [LARGE, SMALL] {
        let mut watch = Watch::new(size, false, None);
        watch.hear([started(vec![mmlu(), mmlu_pro()])]);
        watch.hear(records.clone().map(|record| Update::Landed {
            exam: 0,
            record: Arc::new(record),
        }));
        assert!(
            watch.screen().contains("always A: 25.0% is what always-A scores here"),
            "{}",
            watch.screen()
        );
    }
}

#[test]
fn seeds_that_give_the_same_text_are_named_so() {
    let mut watch = Watch::new(LARGE, false, None);
    watch.hear([started(vec![mmlu(), mmlu_pro()])]);
    let record = |attempt: i64| Record {
        question_id: 70,
        attempt,
        seed: Some(42 + attempt),
        category: "law".into(),
        subject: "law".into(),
        benchmark: "mmlu_pro".into(),
        pick: "B".into(),
        answer: "C".into(),
        reasoning: "The answer is (B).".into(),
        finish: Some(Finish::Stop),
        ..Record::default()
    };
    watch.hear((0..5).map(|attempt| Update::Landed {
        exam: 1,
        record: Arc::new(record(attempt)),
    }));
    assert!(
        watch
            .screen()
            .contains("! sampling is off: same text in 10 of 10 pairs"),
        "{}",
        watch.screen()
    );
}

#[test]
fn hostile_text_neither_acts_nor_breaks_the_frame() {
    let hostile = "\u{1b}[2J\u{1b}]52;c;ZWNobw==\u{7}\u{9b}31m wrong\rright\t答案是 \u{202e}evil\u{202c} 👩\u{200d}💻 e\u{301}\u{301}";
    let record = |attempt: i64, is_invalid: bool| Record {
        question_id: 7 + attempt,
        attempt,
        seed: Some(42 + attempt),
        category: format!("law{hostile}"),
        subject: format!("law{hostile}"),
        benchmark: "mmlu_pro".into(),
        pick: if is_invalid { INVALID } else { "B" }.into(),
        answer: hostile.into(),
        reasoning: format!("{hostile} The answer is (B).{hostile}"),
        finish: Some(Finish::Stop),
        ..Record::default()
    };
    for size in [LARGE, SMALL, (50, 14)] {
        for keys in ["", "<tab><enter>"] {
            let mut watch = Watch::new(size, false, None);
            let mut exam = mmlu_pro();
            exam.subjects
                .push((format!("law{hostile}"), format!("law{hostile}"), 10));
            exam.method = hostile.into();
            watch.hear([
                Update::Status(hostile.into()),
                Update::Started {
                    model: hostile.into(),
                    dtype: "f32".into(),
                    exams: vec![mmlu(), exam],
                    texts: Vec::new(),
                },
                Update::Landed {
                    exam: 1,
                    record: Arc::new(record(0, false)),
                },
                Update::Landed {
                    exam: 1,
                    record: Arc::new(record(1, true)),
                },
                Update::Running {
                    exam: 1,
                    question_id: 9,
                    attempt: 2,
                    subject: hostile.into(),
                    tokens: 40,
                    text: hostile.repeat(30),
                    asked: (0, 0),
                },
                // Nobody has heard of these.
                Update::Landed {
                    exam: 9,
                    record: Arc::new(record(0, false)),
                },
                Update::Complete { exam: 9 },
            ]);
            watch.keys(keys);
            let screen = watch.screen();
            let acting = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{200b}');
            assert!(!screen.contains(acting), "{screen:?}");
            let widths: Vec<usize> = screen
                .lines()
                .filter(|line| line.ends_with('│'))
                .map(unicode_width::UnicodeWidthStr::width)
                .collect();
            assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{widths:?}\n{screen}");
        }
    }
}
