//! `spread` and `study`: statistics, cost, cells as run folders, stopping and going on.

use std::path::{Path, PathBuf};

use markbook::study::{Outcomes, Part, Spread, d2, range_by_chance};
use serde_json::Value;

use super::{golden, near};
use crate::program::{Bench, wait_for};

#[test]
fn a_spread_is_held_against_chance_as_the_golden_values_say() {
    let Some(told) = golden("spread.json") else { return };
    let questions: Vec<Vec<bool>> = told["correct"]
        .as_array()
        .unwrap()
        .iter()
        .map(|question| question.as_str().unwrap().chars().map(|c| c == '1').collect())
        .collect();
    let outcomes = Outcomes::from_single(&questions);
    let spread = Spread::of(&outcomes, Some((4, 6))).unwrap();
    let expected = &told["expected"];
    for (found, name) in [
        (spread.mean, "mean"),
        (spread.least, "least"),
        (spread.most, "most"),
        (spread.range, "range"),
        (spread.std, "std"),
        (spread.residual_variance, "residual_variance"),
        (spread.noise_std, "noise_std"),
        (spread.range_by_chance, "range_by_chance"),
        (spread.std_beyond_chance, "std_beyond_chance"),
        (spread.cochran_q.unwrap(), "cochran_q"),
        (spread.depends_on_style, "depends_on_style"),
        (spread.consistency, "consistency"),
    ] {
        println!("{name}");
        near(found, &expected[name]);
    }
    let relative = |found: f64, told: &Value| {
        let told = told.as_f64().unwrap();
        assert!((found / told - 1.0).abs() < 1e-6, "{found} {told}");
    };
    relative(spread.cochran_p.unwrap(), &expected["cochran_p"]);
    let two = spread.two_way.unwrap();
    for (part, name) in [(two.first, "opening"), (two.second, "format"), (two.both, "both")] {
        let Part {
            ss,
            share,
            share_beyond_chance,
            f,
            p,
        } = part;
        near(ss, &expected["ss"][name]);
        near(share, &expected["share"][name]);
        near(share_beyond_chance, &expected["share_beyond_chance"][name]);
        near(f, &expected["f"][name]);
        relative(p, &expected["p"][name]);
    }
    assert_eq!((spread.always_same, spread.cochran_df), (1, 23));
    let place = |name: &str| {
        let place = expected[name].as_array().unwrap();
        (place[0].as_u64().unwrap() * 6 + place[1].as_u64().unwrap()) as usize
    };
    assert_eq!((spread.best, spread.worst), (place("best"), place("worst")));
    let against = spread.best_against_worst;
    assert_eq!((against.best_only, against.worst_only), (Some(24), Some(2)));
    for (cells, value) in told["d2"].as_object().unwrap() {
        near(d2(cells.parse().unwrap()), value);
    }
    assert_eq!(outcomes.split().len(), 59);
}

#[test]
fn the_band_of_chance_is_what_the_plan_says() {
    for (questions, points) in [(285, 9.2), (1_254, 4.4), (14_042, 1.3)] {
        assert_eq!((1000.0 * range_by_chance(24, questions, 0.16)).round() / 10.0, points);
    }
}

/// `spread` over the embedded exam with the tiny model.
fn words<'a>(bench: &'a Bench, out: &'a str) -> Vec<&'a str> {
    let model = bench.model.to_str().unwrap();
    vec![
        "spread",
        "--model",
        model,
        "--data",
        "embedded",
        "--limit",
        "6",
        "--threads",
        "1",
        "--out",
        out,
    ]
}

fn cells(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut cells: Vec<PathBuf> = entries.filter(|path| path.join("run.json").is_file()).collect();
    cells.sort();
    cells
}

/// The rows of every cell, without what the clock decides.
fn rows(bench: &Bench, folder: &Path) -> Vec<Vec<Value>> {
    let of_cell = |cell: &PathBuf| {
        let lines = bench.ok(&["export", cell.to_str().unwrap(), "-o", "-"]);
        let rows = lines.lines().map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            row.as_object_mut().unwrap().remove("seconds");
            row
        });
        rows.collect()
    };
    cells(folder).iter().map(of_cell).collect()
}

#[test]
fn a_spread_killed_at_its_seventh_cell_goes_on_and_equals_an_unbroken_one() {
    let bench = Bench::new();
    let (whole, broken) = (bench.path("whole"), bench.path("broken"));
    let told = bench.told(&words(&bench, whole.to_str().unwrap()));
    assert!(
        told.contains("24 cells · 6 questions each · 24 to come: 144 answers to 144 prompts"),
        "{told}"
    );
    assert!(told.contains("by chance alone 24 equal cells"), "{told}");
    assert_eq!(cells(&whole).len(), 24);

    let again = words(&bench, broken.to_str().unwrap());
    let mut child = bench
        .command(&again)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the seventh cell", 120, || cells(&broken).len() >= 7);
    child.kill().unwrap();
    child.wait().unwrap();
    let there = cells(&broken).len();
    assert!((7..24).contains(&there), "{there} cells when it was killed");

    let (code, message) = bench.refused(&again);
    assert!(code == 1 && message.contains("--resume"), "{message}");
    let text = bench.ok(&["study", broken.to_str().unwrap()]);
    assert!(
        text.contains("24 of 24 cells done") && text.contains("Cochran Q"),
        "{text}"
    );
    assert_eq!(rows(&bench, &whole), rows(&bench, &broken));

    // Every cell is a member of its study in the catalogue, and the questions that depend on the cell are a filter away.
    let catalogue = rusqlite::Connection::open(bench.path("home/catalogue.db")).unwrap();
    let members =
        "SELECT count(*) FROM study_member m JOIN trace t ON t.id = m.trace WHERE study = ?1 AND state = 'complete'
        AND json_extract(knobs, '$.style') LIKE 'tested24%'";
    let members: i64 = catalogue
        .query_row(members, [broken.to_str().unwrap()], |row| row.get(0))
        .unwrap();
    assert_eq!(members, 24);
    let listed = std::fs::read_to_string(broken.join("style-split.txt")).unwrap_or_default();
    let cell = broken.join("style-tested24_o2f3");
    let lines = bench.ok(&["export", cell.to_str().unwrap(), "-f", "style-split", "-o", "-"]);
    assert_eq!(lines.lines().count(), listed.lines().count());

    // Looking again, also as a spread, asks nothing, and a changed setting is refused by its name.
    let text = bench.ok(&["spread", broken.to_str().unwrap()]);
    assert!(
        text.contains("24 of 24 cells done") && text.contains("opening"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&bench.ok(&["study", broken.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!((&json["done"], &json["spread"]["questions"]), (&24.into(), &6.into()));
    assert!(json["spread"]["two_way"]["second"]["share"].is_number());
    std::fs::remove_dir_all(broken.join("style-tested24_o4f6")).unwrap();
    let mut other = words(&bench, broken.to_str().unwrap());
    let limit = other.iter().position(|word| *word == "6").unwrap();
    other[limit] = "5";
    other.push("--resume");
    let (code, message) = bench.refused(&other);
    assert!(code == 1 && message.contains("data.limit was 6, is now 5"), "{message}");
}

#[test]
fn one_knob_moves_at_a_time_and_rules_read_the_same_run() {
    let bench = Bench::new();
    let out = bench.path("study");
    let plan = format!(
        "model = {:?}\nbenchmark = \"mmlu_pro\"\ndata = \"embedded\"\nlimit = 3\nseeds = [42, 43]\nmax_tokens = 12\nthreads = 1\n\
         chat = \"off\"\nout = {:?}\n[knobs]\nrule = [\"lm_eval_mmlu_pro\", \"tiger_chain\"]\ntemperature = [1.0, 0.5]\n",
        bench.model, out
    );
    std::fs::write(bench.path("plan.toml"), plan).unwrap();
    let path = bench.path("plan.toml");
    let estimate: Value =
        serde_json::from_str(&bench.ok(&["study", path.to_str().unwrap(), "--estimate", "--json"])).unwrap();
    assert_eq!(
        (&estimate["cells"], &estimate["runs"], &estimate["answers"]),
        (&3.into(), &2.into(), &12.into())
    );
    assert!(estimate["seconds"].is_null() && !out.exists(), "nothing is asked");
    let json: Value = serde_json::from_str(&bench.ok(&["study", path.to_str().unwrap(), "--json"])).unwrap();
    let names: Vec<&str> = json["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["base", "rule=tiger_chain", "temperature=0.5"]);
    assert_eq!(cells(&out).len(), 2);
    assert_eq!(json["moves"].as_array().unwrap().len(), 2);
    let estimate: Value =
        serde_json::from_str(&bench.ok(&["study", path.to_str().unwrap(), "--estimate", "--json"])).unwrap();
    assert_eq!((&estimate["to_come"], &estimate["answers"]), (&0.into(), &0.into()));
}

#[test]
fn a_knob_that_is_no_option_and_a_study_without_one_are_refused_before_any_work() {
    let bench = Bench::new();
    let model = bench.model.to_str().unwrap();
    for (flags, said) in [
        (&["--knob", "colour=red,blue"][..], "--colour"),
        (&["--knob", "shots=0,many"], "shots"),
        (&["--knob", "shots"], "NAME=A,B"),
        (&["--knob", "rule=nonsense"], "unknown rule"),
        (&[], "--knob NAME=A,B"),
    ] {
        let base = [
            "study",
            "--model",
            model,
            "--benchmark",
            "mmlu",
            "--data",
            "embedded",
            "--out",
            "x",
        ];
        let (code, message) = bench.refused(&[&base[..], flags].concat());
        assert!(code == 2 && message.contains(said), "{flags:?}: {message}");
        assert!(!bench.path("x").exists());
    }
    let both = ["study", "--model", model, "--data", "embedded", "--knob", "shots=0,1"];
    assert!(bench.refused(&both).1.contains("one exam"));
}
