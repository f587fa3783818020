//! The shared cases about screens: their keys typed, their sizes taken, and what must be seen there.

use std::sync::Arc;
use std::time::Duration;

use markbook::record::{INVALID, Record};
use markbook::run::Update;
use markbook::trace::Trace;
use markbook::tui::{Options, Script};
use serde_json::Value;

use crate::screens::{LARGE, SMALL, at_work, plain, sampled, two_exams};
use crate::{cases, shared};

/// The keys of a case as a script takes them: `i c l a w Enter j t:text`, up to where prose begins.
fn typed(keys: &str) -> String {
    let key = |word: &str| {
        let word = word.trim_end_matches([',', ';']);
        Some(match word {
            "Enter" => "<enter>".to_owned(),
            "Escape" | "Esc" => "<esc>".to_owned(),
            "Tab" => "<tab>".to_owned(),
            "Space" => " ".to_owned(),
            "Down" => "<down>".to_owned(),
            _ if word.chars().count() == 1 => word.replace('<', "<lt>"),
            _ => match (word.strip_prefix("t:"), word.strip_prefix('^')) {
                (Some(text), _) => text.replace('<', "<lt>"),
                (_, Some(letter)) => format!("<^{letter}>"),
                _ => return None,
            },
        })
    };
    keys.split_whitespace().map_while(key).collect()
}

/// The size of a case, `120x40`.
fn size(case: &Value) -> (u16, u16) {
    let text = case["size"].as_str().unwrap_or("120x40");
    let (width, height) = text.split_once('x').unwrap();
    (width.parse().unwrap(), height.parse().unwrap())
}

/// What a case types, behind the words that say where.
fn keys(case: &Value) -> String {
    let keys = case["keys"].as_str().unwrap_or_default();
    let keys = keys
        .split_once("; ")
        .map_or(keys, |(place, rest)| match typed(place).is_empty() {
            true => rest,
            false => keys,
        });
    typed(keys)
}

fn browse(records: Vec<Record>, size: (u16, u16)) -> Script {
    Script::open(vec![Trace::from_records("tiny", "run", records)], size, &plain()).unwrap()
}

fn pro() -> Vec<Record> {
    let questions = 100..109;
    questions
        .flat_map(|id| (0..5).map(move |attempt| sampled(id, attempt)))
        .collect()
}

/// The large shared trace under a filter, and the text of its record under the cursor.
fn large(filter: &str, size: (u16, u16)) -> Option<Script> {
    let path = shared()?.join("data/traces/localgate-like/localgate_like.parquet");
    let options = Options {
        filter: Some(filter.to_owned()).filter(|filter| !filter.is_empty()),
        ..plain()
    };
    Some(Script::open(vec![markbook::parquet::open(&path).unwrap()], size, &options).unwrap())
}

fn last_line(script: &Script) -> String {
    script.screen().lines().last().unwrap().to_owned()
}

#[test]
fn every_case_about_screens_shows_what_is_expected() {
    let failed: Vec<String> = cases("screens.jsonl")
        .iter()
        .filter_map(|case| {
            let outcome = std::panic::catch_unwind(|| shows_what_is_expected(case));
            outcome.is_err().then(|| case["id"].to_string())
        })
        .collect();
    assert!(failed.is_empty(), "see above: {failed:?}");
}

fn shows_what_is_expected(case: &Value) {
    let kind = case["kind"].as_str().unwrap();
    let expected = &case["expected"];
    match kind {
        // What is counted, opened and written is tried where that is tested.
        "export/name-kept"
        | "export/format-and-name"
        | "export/parent-made"
        | "numbers/one-interval"
        | "numbers/mean-of-categories"
        | "numbers/vote-name"
        | "numbers/seeds-told"
        | "start/no-false-warning"
        | "start/one-exam-one-figure"
        | "open/models-not-merged"
        | "colour/one-meaning" => {}
        // In `panes::export` and `theme`: a script writes at once, and has no colours to look at.
        "export/progress" | "colour/light" => {}
        "numbers/attempt-label" => attempts_that_landed_are_told_from_those_to_come(),
        "open/three-runs" => every_run_is_named_on_the_first_screen(case),
        "compare/no-prompts" => prompts_that_no_file_stores_are_not_the_same(expected),
        "compare/escape-one-level" => escape_leaves_the_prompts_of_a_comparison_first(case),
        "compare/all-categories" => all_categories_of_a_comparison_are_in_sight(case),
        "question/options-whole" => no_option_is_cut_while_there_is_room(case),
        "question/question-readable" => a_question_too_long_for_its_pane_scrolls(case),
        "browse/preview-shows-output" => the_preview_shows_some_of_the_output(case),
        "live/open-running" => an_answer_is_watched_while_it_is_written(case),
        "live/filter-over-keys" => filter_and_keys_stand_beside_each_other(case),
        "live/quit-shown" => the_way_out_of_a_run_is_told(expected),
        "find/whole-screen" => what_is_searched_is_found_anywhere_on_the_screen(),
        "help/words-people-use" => help_knows_the_words_that_people_use(expected),
        "footer/mode" => the_keys_of_a_line_that_is_typed_are_told(case),
        "footer/focus" => enter_is_told_as_what_it_does_where_the_focus_is(case),
        "footer/cloze" => no_key_is_told_that_does_nothing_on_a_scored_row(expected),
        "filter/escape-clears" => escape_clears_the_filter_and_undo_brings_it_back(case),
        "filter/broken-regex" => a_broken_pattern_is_told_with_its_place(case),
        "undo/told" => undo_tells_what_it_took_back(),
        "undo/adopt" => undo_takes_an_adopted_rule_back(),
        "command/category-toggles" => a_category_typed_twice_stays(case),
        "words/plural" => one_of_a_thing_is_one(),
        "layout/cause-column" => counts_of_causes_stand_below_each_other(),
        "layout/lab-title" => the_labs_name_and_figures_stand_apart(case),
        "layout/scrolled-question" => a_question_that_is_scrolled_says_so(),
        "compare/no-other-run" => without_another_run_a_path_is_asked_for(expected),
        other => panic!("no test for {other}: {case}"),
    }
}

fn attempts_that_landed_are_told_from_those_to_come() {
    let mut script = crate::screens::started(SMALL, crate::screens::exams());
    for attempt in 1..5 {
        let record = Arc::new(sampled(100, attempt));
        script.hear(Update::Landed { exam: 1, record });
    }
    script.advance(Duration::from_secs(1)).keys("<tab>bG<enter>");
    let screen = script.screen();
    assert!(screen.contains("attempt 4 (4 of 5 landed)"), "{screen}");
    let whole = browse(pro(), SMALL).keys("jj<enter>").screen();
    assert!(whole.contains("attempt 2 (0-4)"), "{whole}");
}

fn every_run_is_named_on_the_first_screen(case: &Value) {
    let names = ["Llama-8B", "Qwen-7B", "Phi-3-mini"];
    let runs = || names.map(|name| Trace::from_records(name, name, pro())).to_vec();
    for size in [size(case), SMALL, (60, 20)] {
        let mut script = Script::open(runs(), size, &plain()).unwrap();
        let screen = script.screen();
        for name in names {
            assert!(screen.contains(name), "{name} in\n{screen}");
        }
        assert!(screen.contains("45") && screen.contains('%'), "{screen}");
        script.keys("jj<enter>");
        assert!(script.screen().contains("Phi-3-mini"), "{}", script.screen());
        script.keys("<esc>g  ");
        script.keys("<enter>");
        let pair = script.screen();
        assert!(pair.contains(" A Llama-8B") && pair.contains("B Qwen-7B"), "{pair}");
        script.keys("<esc>");
        assert!(script.screen().contains("3 runs open"), "{}", script.screen());
    }
}

fn two_runs(size: (u16, u16), change: impl Fn(&mut Record)) -> Script {
    let run = |name: &str, shift: i64| {
        let mut records = pro();
        for record in &mut records {
            if (record.question_id + record.attempt + shift) % 3 == 0 {
                record.pick.clone_from(&record.answer);
                record.correct = true;
            }
            change(record);
        }
        Trace::from_records(name, name, records)
    };
    Script::open(vec![run("one", 0), run("other", 1)], size, &plain()).unwrap()
}

fn prompts_that_no_file_stores_are_not_the_same(expected: &Value) {
    let screen = two_runs(LARGE, |record| record.prompt.clear()).keys("p").screen();
    assert!(screen.contains(expected["shows"].as_str().unwrap()), "{screen}");
    assert!(!screen.contains("the same"), "{screen}");
}

fn escape_leaves_the_prompts_of_a_comparison_first(case: &Value) {
    let script = || two_runs(size(case), |_| {});
    let keys = case["keys"].as_str().unwrap().trim_start_matches("Compare: ");
    assert_eq!(script().keys(&typed(keys)).screen(), script().screen());
}

fn all_categories_of_a_comparison_are_in_sight(case: &Value) {
    let wanted = case["expected"]["categories_visible"].as_u64().unwrap() as usize;
    let name = |id: i64| format!("category {}", id as usize % wanted + 10);
    let mut script = two_runs(size(case), |record| record.category = name(record.question_id));
    let seen = |script: &Script| {
        (10..wanted + 10)
            .filter(|at| script.screen().contains(&format!("category {at}")))
            .count()
    };
    // Nine questions make nine categories: more come from more questions.
    let questions = 9.min(wanted);
    assert_eq!(seen(&script), questions, "{}", script.screen());
    script.resize((120, 30)).keys("1G");
    assert!(script.screen().contains("category"), "{}", script.screen());
    let zero = |script: &Script| {
        script
            .screen()
            .lines()
            .filter_map(|line| line.find('┊'))
            .collect::<Vec<_>>()
    };
    let marks = zero(&script);
    assert!(marks.windows(2).all(|pair| pair[0].abs_diff(pair[1]) < 60) && !marks.is_empty());
}

fn no_option_is_cut_while_there_is_room(case: &Value) {
    let Some(mut script) = large("invalid cat:law", size(case)) else {
        return;
    };
    script.keys("jj<enter>==");
    let screen = script.screen();
    let question: Vec<&str> = screen
        .lines()
        .skip(1)
        .take_while(|line| !line.contains("─ attempt"))
        .collect();
    let cut = question.iter().filter(|line| line.contains('…')).count();
    assert_eq!(
        cut as u64,
        case["expected"]["options_cut"].as_u64().unwrap(),
        "{screen}"
    );
}

fn a_question_too_long_for_its_pane_scrolls(case: &Value) {
    let Some(mut script) = large("invalid cat:law", size(case)) else {
        return;
    };
    script.keys("jj<enter>==");
    let before = script.screen();
    assert!(before.contains("Tab scrolls here"), "{before}");
    let seen = |script: &mut Script| {
        let mut seen = String::new();
        for _ in 0..60 {
            seen.push_str(&script.screen());
            script.keys("j");
        }
        seen
    };
    let all = seen(script.keys("<tab>"));
    for letter in 'A'..='J' {
        let is_shown = all.lines().any(|line| line.contains(&format!(" {letter} ")));
        assert!(is_shown, "option {letter} comes into sight");
    }
    assert_eq!(script.keys("<esc>").screen().lines().last(), before.lines().last());
}

fn the_preview_shows_some_of_the_output(case: &Value) {
    let Some(mut script) = large("", size(case)) else {
        return;
    };
    script.keys(&keys(case));
    for _ in 0..12 {
        let screen = script.keys("j").screen();
        let right = screen.lines().map(|line| line.chars().skip(36).collect::<String>());
        let below = right.skip_while(|line| !line.contains("── output")).skip(1);
        let inside = below.take_while(|line| !line.contains('└'));
        let lines = inside.filter(|line| line.chars().any(char::is_alphanumeric)).count();
        let is_short = screen.contains("output · 0 chars");
        assert!(lines >= 3 || is_short, "{screen}");
    }
}

fn an_answer_is_watched_while_it_is_written(case: &Value) {
    let mut script = at_work(size(case));
    let running = |text: &str, tokens| Update::Running {
        exam: 1,
        question_id: 107,
        attempt: 2,
        subject: "law".into(),
        tokens,
        text: text.into(),
        asked: (0, 0),
    };
    script.hear(running("We look at", 3)).keys(&keys(case));
    assert!(
        script.screen().contains("being written") && script.screen().contains("We look at"),
        "{}",
        script.screen()
    );
    script.hear(running(" each case in turn", 7));
    assert!(
        script.screen().contains("We look at each case in turn"),
        "{}",
        script.screen()
    );
    script.hear(Update::Landed {
        exam: 1,
        record: Arc::new(sampled(107, 2)),
    });
    script.advance(Duration::from_secs(1));
    assert!(script.screen().contains("landed"), "{}", script.screen());
    script.keys("<enter>");
    assert!(script.screen().contains(" Q107 "), "{}", script.screen());
}

fn filter_and_keys_stand_beside_each_other(case: &Value) {
    let mut script = at_work(size(case));
    script.keys("iclaw<enter>");
    let line = last_line(&script);
    let (hints, chips) = line.rsplit_once(" filter ").unwrap();
    assert!(chips.contains("invalid") && chips.contains("cat:law"), "{line}");
    let hints: Vec<&str> = hints.split_whitespace().collect();
    assert!(hints.join(" ").ends_with("? keys q stop and save"), "{line}");
}

fn the_way_out_of_a_run_is_told(expected: &Value) {
    let key = expected["footer_has"].as_str().unwrap();
    for size in [LARGE, SMALL] {
        let mut script = at_work(size);
        assert!(
            last_line(&script).contains(&format!("{key} stop and save")),
            "{}",
            last_line(&script)
        );
        for exam in 0..2 {
            script.hear(Update::Complete { exam });
        }
        script.hear(Update::Ended { stopped: false }).keys("<enter>");
        let line = last_line(&script);
        assert!(
            !line.contains("while it runs") && line.contains(&format!("{key} back")),
            "{line}"
        );
    }
}

fn what_is_searched_is_found_anywhere_on_the_screen() {
    for word in ["Which", "holds for case 3", "case by"] {
        for find in ["f", "/"] {
            let screen = browse(pro(), LARGE)
                .keys(&format!("<enter>{find}{word}<enter>"))
                .screen();
            assert!(!screen.contains("is not on this screen"), "{find} {word}: {screen}");
        }
    }
    let missing = browse(pro(), LARGE).keys("<enter>/zebra<enter>").screen();
    assert!(missing.contains("`zebra` is not on this screen"), "{missing}");
}

/// The keys that help lists for what is typed, the first first.
fn helped(word: &str, keys: &str) -> Vec<String> {
    let screen = browse(pro(), LARGE).keys(&format!("{keys}?{word}")).screen();
    let listed = screen.lines().skip_while(|line| !line.contains("› ")).skip(2);
    listed
        .take_while(|line| !line.contains('└'))
        .map(|line| {
            // Keys stand behind the frame and the name of their group.
            let label: String = line.chars().skip(27).collect();
            label.split("  ").next().unwrap_or_default().trim().to_owned()
        })
        .collect()
}

fn help_knows_the_words_that_people_use(expected: &Value) {
    for (word, key) in expected.as_object().unwrap() {
        let key = key.as_str().unwrap();
        let listed = helped(word, "");
        for one in key.trim_end_matches(" first").split(" and ") {
            assert!(
                listed.iter().any(|keys| keys.split(' ').any(|key| key == one)),
                "{word}: {listed:?}"
            );
        }
        if let Some(first) = key.strip_suffix(" first") {
            assert_eq!(listed[0], first, "{word}");
        }
    }
    for (word, key) in [
        ("quit", "q"),
        ("bookmark", "m"),
        ("write", "e"),
        ("undo", "u"),
        ("prompt", "p"),
    ] {
        let keys = if word == "prompt" { "<enter>" } else { "" };
        assert!(
            helped(word, keys)
                .iter()
                .any(|listed| listed.split(' ').any(|own| own == key)),
            "{word}"
        );
    }
    let all = browse(pro(), LARGE).keys("?").screen();
    assert!(
        all.contains(" of ") && all.contains("Move") && all.contains("Choose rows"),
        "says that more follows: {all}"
    );
}

fn the_keys_of_a_line_that_is_typed_are_told(case: &Value) {
    let mut script = browse(pro(), size(case));
    script.keys("r");
    let before = script.screen();
    script.keys("i");
    let line = last_line(&script);
    let wanted = case["expected"]["footer"].as_str().unwrap().replace("Enter", "⏎");
    for part in wanted.split(", ") {
        assert!(line.contains(part), "{part}: {line}");
    }
    for part in case["expected"]["not"].as_str().unwrap().split(", ") {
        assert!(!line.contains(part), "{part}: {line}");
    }
    script.keys("<esc>r");
    assert_eq!(
        script.screen().lines().nth(1),
        before.lines().nth(1),
        "Esc restores the rule"
    );
}

fn enter_is_told_as_what_it_does_where_the_focus_is(case: &Value) {
    let mut script = browse(pro(), size(case));
    script.keys(&keys(case));
    let screen = script.screen();
    let word = case["expected"]["footer_enter"].as_str().unwrap();
    let line = last_line(&script);
    assert!(
        line.contains("⏎ ") && line.split("⏎ ").nth(1).unwrap().contains(word),
        "{line}"
    );
    let chosen = case["expected"]["cursor_in_pane_1"].as_str().unwrap();
    // The cursor stands on what the filter chooses: Enter takes just that away, another line takes its place.
    script.keys("<enter>");
    assert!(!script.screen().contains(&format!("cat:{chosen}")), "{screen}");
    let mut script = browse(pro(), size(case));
    script.keys("1j");
    assert!(last_line(&script).contains("⏎ filter"), "{}", last_line(&script));
}

fn no_key_is_told_that_does_nothing_on_a_scored_row(expected: &Value) {
    let mut script = Script::open(two_exams(), LARGE, &plain()).unwrap();
    script.keys("<enter>");
    let line = last_line(&script);
    for part in expected["footer_without"].as_array().unwrap() {
        assert!(!line.contains(part.as_str().unwrap()), "{part}: {line}");
    }
    assert!(line.ends_with("? keys  q back"), "{line}");
}

fn escape_clears_the_filter_and_undo_brings_it_back(case: &Value) {
    let mut script = browse(pro(), size(case));
    let before = script.screen();
    script.keys(&keys(case));
    assert!(script.screen().contains("45 of 45"), "{}", script.screen());
    assert!(
        last_line(&script).contains("u brings it back"),
        "{}",
        last_line(&script)
    );
    script.keys("u");
    assert!(script.screen().contains("18 of 45"), "{}", script.screen());
    script.keys("<esc>j<esc>k");
    assert_eq!(script.screen().lines().nth(1), before.lines().nth(1));
}

fn a_broken_pattern_is_told_with_its_place(case: &Value) {
    let mut script = browse(pro(), size(case));
    script.keys(&keys(case));
    let screen = script.screen();
    assert!(screen.contains(case["expected"]["shows"].as_str().unwrap()), "{screen}");
}

fn undo_tells_what_it_took_back() {
    let mut script = browse(pro(), LARGE);
    for (keys, told) in [
        ("jjmu", "undone: mark on Q100 attempt 2"),
        ("j#odd<enter>u", "undone: note on Q100 attempt 3"),
        ("iu", "undone: filter invalid"),
        ("schars<enter>u", "undone: sort by chars, reversed"),
        ("u", "nothing to undo"),
        ("<^r>", "done again: sort by chars, reversed"),
    ] {
        script.keys(keys);
        assert!(last_line(&script).contains(told), "{keys}: {}", last_line(&script));
    }
}

fn undo_takes_an_adopted_rule_back() {
    let mut script = browse(pro(), LARGE);
    let title = |script: &Script| script.screen().lines().next().unwrap().to_owned();
    let before = title(&script);
    script.keys("schars<enter>r<^u>case by case<enter>:adopt<enter>");
    let adopted = title(&script);
    assert!(adopted.contains("rule re:case"), "{adopted}");
    assert!(
        last_line(&script).contains(":adopt off restores"),
        "{}",
        last_line(&script)
    );
    script.keys("u");
    assert_eq!(title(&script), before);
    assert!(
        last_line(&script).contains("undone: rule re:case"),
        "{}",
        last_line(&script)
    );
    assert!(script.screen().contains("by chars"), "the sort before it stays");
    script.keys("<^r>");
    assert_eq!(title(&script), adopted);
    script.keys(":adopt off<enter>");
    assert_eq!(title(&script), before);
}

fn a_category_typed_twice_stays(case: &Value) {
    let mut script = browse(pro(), size(case));
    script.keys(&keys(case));
    let wanted = case["expected"]["filter"].as_str().unwrap();
    for _ in 0..2 {
        let line = script.screen().lines().nth(1).unwrap().to_owned();
        assert!(line.contains(wanted), "{line}");
        script.keys(":law<enter>");
    }
}

fn one_of_a_thing_is_one() {
    let mut record = sampled(100, 0);
    record.reasoning = "B".into();
    record.reasoning_chars = 1;
    let mut script = browse(vec![record], LARGE);
    assert!(
        script.screen().contains("1 row ") && script.screen().contains("· 1 char\n"),
        "{}",
        script.screen()
    );
    script.keys("<enter>");
    assert!(
        script.screen().contains("1 char") && !script.screen().contains("1 chars"),
        "{}",
        script.screen()
    );
    let run = |name: &str, hash: &str| {
        let mut records = pro();
        records.retain(|record| record.attempt == 0);
        records[3].doc_hash = hash.to_owned();
        Trace::from_records(name, name, records)
    };
    let runs = vec![run("one", "1111111111111111"), run("other", "2222222222222222")];
    let mut script = Script::open(runs, LARGE, &plain()).unwrap();
    assert!(script.screen().contains("1 question changed"), "{}", script.screen());
    script.keys("x");
    assert!(
        script.screen().contains("1 question changed, same key; left out"),
        "{}",
        script.screen()
    );
}

fn counts_of_causes_stand_below_each_other() {
    let mut records = pro();
    for (at, record) in records.iter_mut().enumerate().take(12) {
        record.pick = INVALID.into();
        record.correct = false;
        record.reasoning = if at % 2 == 0 {
            "So the answer is **(B)**.".to_owned()
        } else {
            "Answer: C".to_owned()
        };
    }
    let screen = browse(records, LARGE).screen();
    let pane = screen
        .lines()
        .skip_while(|line| !line.contains("2 Why invalid"))
        .skip(1);
    let ends: Vec<usize> = pane
        .take_while(|line| !line.contains("3 Letters"))
        .filter_map(|line| {
            let inside: Vec<char> = line.chars().take(35).collect();
            inside.iter().rposition(char::is_ascii_digit)
        })
        .collect();
    assert!(
        ends.len() > 1 && ends.iter().all(|end| *end == ends[0]),
        "{ends:?}\n{screen}"
    );
}

fn the_labs_name_and_figures_stand_apart(case: &Value) {
    for size in [size(case), (60, 20), LARGE] {
        for filter in ["why:wording,loop,cut", "invalid cat:law", ""] {
            let mut script = browse(pro(), size);
            script.keys(&format!(":filter {filter}<enter>r"));
            let title = script.screen().lines().next().unwrap().to_owned();
            assert!(title.contains("Lab"), "{title}");
            if let Some((name, _)) = title.split_once(" output") {
                let figures = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
                assert!(figures.ends_with("  "), "{title}");
            }
        }
    }
}

fn a_question_that_is_scrolled_says_so() {
    let mut script = browse(pro(), LARGE);
    let row = |script: &Script| {
        script
            .screen()
            .lines()
            .find(|line| line.contains('▶'))
            .unwrap()
            .to_owned()
    };
    assert!(!row(&script).contains("  …"), "{}", row(&script));
    script.keys("l");
    assert!(row(&script).contains(" …"), "{}", row(&script));
    script.keys("h");
    assert!(!row(&script).contains(" …about"), "{}", row(&script));
}

fn without_another_run_a_path_is_asked_for(expected: &Value) {
    let mut script = browse(pro(), LARGE);
    let mut other = Trace::from_records("other", "other", pro());
    other.path = Some("runs/other.parquet".into());
    script.files = vec![other];
    script.keys("d");
    let told = expected["shows"].as_str().unwrap().replace(';', ":");
    assert!(script.screen().contains(&told), "{}", script.screen());
    script.keys("runs/other.parquet<enter>");
    assert!(script.screen().contains("B other"), "{}", script.screen());
}
