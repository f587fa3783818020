//! Memory over a run: answers lie in its folder, whatever looks on.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use markbook::engine::Control;
use markbook::engine::scripted::{Reply, ScriptedEngine};
use markbook::run::{self, Update};
use markbook::tui::Script;

use crate::{runs, screens};

/// Set for the process that is measured: how it looks on, questions, folder.
const MEASURED: &str = "MARKBOOK_TEST_MEASURED";

/// Questions of a whole run (`MARKBOOK_TEST_QUESTIONS=12032` is the size of MMLU-Pro; five answers each).
fn questions() -> usize {
    let asked = std::env::var("MARKBOOK_TEST_QUESTIONS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(2_400)
}

/// Largest and present memory of this process, in MB.
fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let of = |name: &str| -> f64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<f64>().unwrap() / 1_000.0
    };
    (of("VmHWM:"), of("VmRSS:"))
}

/// An exam of so many questions, made out of one.
fn plan(folder: &Path, questions: usize, resume: bool) -> run::Plan {
    let mut plan = runs::plan("mmlu_pro", folder, 1, resume);
    let first = plan.dataset.questions[0].clone();
    plan.dataset.questions = (0..questions as i64)
        .map(|id| markbook::benchmark::Question { id, ..first.clone() })
        .collect();
    plan.exam = run::Exam::new(&plan.dataset, &plan.method, 0, folder.to_owned());
    plan.manifest.rows = plan.exam.rows;
    plan
}

/// Answers of about 2,500 characters, no two alike.
fn engine() -> ScriptedEngine {
    let mut number = 0u64;
    ScriptedEngine::new(move |_, _| {
        number += 1;
        let words = (0..400u64).map(|word| number.wrapping_mul(6_364_136_223_846_793_005 + word) % 99_991);
        let text = words.map(|word| format!("{word} ")).collect::<String>();
        Reply::Text(format!("{text}The answer is (C)."))
    })
}

/// Sits an exam and gives its largest memory beyond what stood before, in MB.
fn sit(how: &str, folder: &Path, questions: usize) -> f64 {
    let mut plan = plan(folder, questions, how.contains("resumed"));
    if let run::Method::Generate { sampling, .. } = &mut plan.method {
        sampling.max_tokens = 5_000;
    }
    let mut screen = how
        .contains("screen")
        .then(|| Script::live((120, 40), &screens::plain()));
    let (mut rows, stop) = (
        0,
        if how.contains("first") {
            4 * questions
        } else {
            usize::MAX
        },
    );
    let before = memory().1;
    let watch = &mut |update: Update| {
        rows += usize::from(matches!(update, Update::Landed { .. }));
        if let Some(script) = &mut screen {
            script.hear(update);
            if rows % 500 == 0 {
                script.advance(std::time::Duration::from_secs(1));
            }
            if rows == 1_000 {
                script.keys("bjjjj");
            }
        }
        if rows >= stop {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    run::execute(vec![plan], &mut engine(), &Control::new(1), watch).unwrap();
    memory().0 - before
}

#[cfg(target_os = "linux")]
#[test]
fn memory_over_a_run_is_flat_whatever_looks_on() {
    if let Ok(asked) = std::env::var(MEASURED) {
        let mut parts = asked.splitn(3, ' ');
        let (how, questions) = (parts.next().unwrap(), parts.next().unwrap().parse().unwrap());
        println!("MEASURED {:.1}", sit(how, Path::new(parts.next().unwrap()), questions));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let questions = questions();
    for (how, name) in [
        ("plain", "a"),
        ("screen", "b"),
        ("first", "c"),
        ("resumed", "c"),
        ("first", "d"),
        ("resumed-screen", "d"),
    ] {
        let path = folder.path().join(name);
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "memory::memory_over_a_run_is_flat_whatever_looks_on",
                "--nocapture",
            ])
            .env(MEASURED, format!("{how} {questions} {}", path.display()))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        let measured = told.lines().find_map(|line| line.split("MEASURED ").nth(1));
        let measured: f64 = measured
            .unwrap_or_else(|| panic!("{told}{}", String::from_utf8_lossy(&output.stderr)))
            .parse()
            .unwrap();
        let rows = questions * 5;
        println!("{how}: {rows} rows, {measured:.1} MB at most beyond what stood before");
        // Of 12,000 rows the texts alone are more than this.
        let most = if rows > 20_000 { 150.0 } else { 55.0 };
        assert!(measured < most, "{how}: {measured:.1} MB for {rows} rows");
    }
}
