//! Sets of the user's own: which forms of question, options, gold, ids and examples are read, and what is told of them.

use std::fs;
use std::path::Path;

use markbook::benchmark::hash::hash_text;
use markbook::benchmark::{DataSource, Dataset, PromptPlan, Washed, find, load, load_counted, render};

fn plan(style: &str, shots: usize) -> PromptPlan {
    let benchmark = if style == "lm_eval" { "mmlu" } else { "custom" };
    PromptPlan::plain(find(benchmark).unwrap().style(style).unwrap(), shots)
}

fn read(path: &Path) -> anyhow::Result<Dataset> {
    let source = DataSource::parse(&path.display().to_string())?;
    load(find("custom").unwrap(), &source, "test")
}

/// A folder with these files; the first is the set, unless it is `test.*`: then the folder is.
fn folder_set(files: &[(&str, &str)]) -> anyhow::Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let first = files[0].0;
    if first.starts_with("test") {
        read(folder.path())
    } else {
        read(&folder.path().join(first))
    }
}

fn own_set(name: &str, text: &str) -> Dataset {
    folder_set(&[(name, text)]).unwrap()
}

fn golds(dataset: &Dataset) -> Vec<&str> {
    dataset
        .questions
        .iter()
        .map(|question| question.answer.as_str())
        .collect()
}

fn washed(dataset: &Dataset) -> Vec<String> {
    dataset.washed.iter().map(ToString::to_string).collect()
}

fn prompt(dataset: &Dataset, shots: usize) -> String {
    render(dataset, &dataset.questions[0], &plan("cloze", shots))
        .unwrap()
        .prompt
}

#[test]
fn an_own_set_may_say_its_gold_as_letter_number_or_text() {
    let rows = |golds: [&str; 3]| {
        golds
            .map(|gold| format!("{{\"question\":\"q\",\"options\":[\"x\",\"y\",\"z\"],\"gold\":{gold}}}\n"))
            .concat()
    };
    for (values, expected) in [
        (["\"A\"", "\"C\"", "\"b\""], ["A", "C", "B"]),
        (["0", "2", "1"], ["A", "C", "B"]),
        (["1", "3", "2"], ["A", "C", "B"]),
        (["\"x\"", "\"z\"", "\" y\""], ["A", "C", "B"]),
    ] {
        assert_eq!(golds(&own_set("mine.jsonl", &rows(values))), expected, "{values:?}");
    }
}

#[test]
fn an_own_csv_may_spread_its_options_over_columns() {
    let text = "id,question,option_a,option_b,option_c,answer,category\n5,\"one, or\ntwo?\",1,2,,B,maths\n9,three?,1,2,3,C,maths\n";
    let dataset = own_set("mine.csv", text);
    assert_eq!(dataset.name, "mine");
    assert_eq!(golds(&dataset), ["B", "C"]);
    assert_eq!(dataset.questions[0].options, ["1", "2"]);
    assert_eq!((dataset.questions[0].id, dataset.questions[1].id), (5, 9));
    let prompt = render(&dataset, &dataset.questions[0], &plan("cloze", 0)).unwrap();
    assert_eq!(
        prompt.prompt,
        "The following are multiple choice questions (with answers) about maths.\n\none, or\ntwo?\nA. 1\nB. 2\nAnswer:"
    );
    assert_eq!(prompt.continuations, [" A", " B"]);
}

#[test]
fn an_own_set_is_asked_in_either_mode() {
    let dataset = own_set(
        "mine.jsonl",
        "{\"question\":\"q\",\"choices\":{\"text\":[\"x\",\"y\"],\"label\":[\"1\",\"2\"]},\"answerKey\":\"2\"}\n",
    );
    assert_eq!(golds(&dataset), ["B"]);
    let texts = render(&dataset, &dataset.questions[0], &plan("answer_text", 0)).unwrap();
    assert_eq!(texts.continuations, [" x", " y"]);
    let written = render(&dataset, &dataset.questions[0], &plan("generate", 0)).unwrap();
    assert!(
        written
            .prompt
            .starts_with("The following are multiple choice questions (with answers). Think")
    );
    assert!(written.continuations.is_empty());
    assert_eq!(
        render(&dataset, &dataset.questions[0], &plan("lm_eval", 0))
            .unwrap()
            .continuations
            .len(),
        2
    );
}

#[test]
fn rows_of_an_own_set_that_cannot_be_answered_are_listed() {
    let dataset = own_set(
        "mine.jsonl",
        "{\"question\":\"q\",\"options\":[\"x\",\"y\"],\"gold\":\"B\"}\n{\"question\":\" \",\"options\":[\"x\",\"y\"],\"gold\":\"A\"}\n{\"question\":\"q\",\"options\":[\"x\",\"y\"],\"gold\":\"C\"}\n",
    );
    assert_eq!(dataset.questions.len(), 1);
    let listed: Vec<_> = dataset
        .washed
        .iter()
        .map(|found| (found.row, found.rule.name(), found.dropped))
        .collect();
    assert_eq!(listed, [(1, "empty_question", true), (2, "gold_outside_options", true)]);
}

/// Five questions on a scale of four options, the golds written by `gold` from their 0-based number.
fn scale(gold: impl Fn(usize) -> String) -> String {
    [3, 1, 0, 2, 1]
        .iter()
        .enumerate()
        .map(|(number, index)| {
            format!(
                "{{\"question\":\"Which is step {number}?\",\"options\":[\"low\",\"middle\",\"high\",\"top\"],\"answer\":{}}}\n",
                gold(*index)
            )
        })
        .collect()
}

const SCALE: [&str; 5] = ["D", "B", "A", "C", "B"];

#[test]
fn examples_count_their_golds_as_the_questions_do() {
    let examples = "{\"question\":\"e\",\"options\":[\"low\",\"middle\",\"high\",\"top\"],\"answer\":1}\n\
                    {\"question\":\"f\",\"options\":[\"low\",\"middle\",\"high\",\"top\"],\"answer\":3}\n";
    let questions = scale(|index| (index + 1).to_string());
    let beside = folder_set(&[("test.jsonl", &questions), ("dev.jsonl", examples)]).unwrap();
    let inside: String = questions
        .lines()
        .map(|line| {
            let list = examples.trim().replace('\n', ",");
            format!("{},\"examples\":[{list}]}}\n", line.trim_end_matches('}'))
        })
        .collect();
    let inside = own_set("mine.jsonl", &inside);
    for dataset in [beside, inside] {
        assert_eq!(golds(&dataset), SCALE);
        let shown = prompt(&dataset, 2);
        assert!(
            shown.contains("e\nA. low\nB. middle\nC. high\nD. top\nAnswer: A\n\nf"),
            "{shown}"
        );
        assert!(shown.contains("Answer: C\n\nWhich is step 0?"), "{shown}");
        let told: Vec<_> = dataset.notes.iter().filter(|note| note.contains("counts")).collect();
        assert_eq!(told, ["column answer counts the options from 1"]);
    }
}

#[test]
fn examples_alone_can_tell_from_which_number_is_counted() {
    let row = |gold: usize| format!("{{\"question\":\"q\",\"options\":[\"x\",\"y\",\"z\"],\"gold\":{gold}}}\n");
    let dataset = folder_set(&[("test.jsonl", &(row(1) + &row(2))), ("dev.jsonl", &row(3))]).unwrap();
    assert_eq!(golds(&dataset), ["A", "B"]);
    let dataset = folder_set(&[("test.jsonl", &(row(1) + &row(2))), ("dev.jsonl", &row(0))]).unwrap();
    assert_eq!(golds(&dataset), ["B", "C"]);
}

#[test]
fn numbers_that_fit_both_ways_are_told_and_can_be_settled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.jsonl");
    let text = scale(|index| (index + 1).to_string());
    fs::write(
        &path,
        text.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>(),
    )
    .unwrap();
    let custom = find("custom").unwrap();
    let read = |base| load_counted(custom, &DataSource::File(path.clone()), "test", base).unwrap();
    let guessed = read(None);
    assert_eq!(golds(&guessed), ["C", "B", "D", "C"]);
    assert_eq!(
        guessed.notes,
        ["column answer counts the options from 0 (they fit from 1 as well: --gold-base 1)"]
    );
    let told = read(Some(1));
    assert_eq!(golds(&told), SCALE[1..]);
    assert_eq!(told.notes, ["column answer counts the options from 1"]);
    let error = load_counted(find("mmlu").unwrap(), &DataSource::Embedded, "test", Some(1)).unwrap_err();
    assert!(
        error.to_string().starts_with("--gold-base is for sets of your own"),
        "{error}"
    );
}

#[test]
fn golds_of_one_column_may_be_said_in_several_ways() {
    let mixed = ["\"D. top\"", "\"MIDDLE\"", "0", "\"(c)\"", "[\"B\"]"];
    let mut golds_left = mixed.iter();
    let text: String = scale(|_| (*golds_left.clone().next().unwrap()).to_owned())
        .lines()
        .map(|line| {
            line.rsplit_once("\"answer\":").unwrap().0.to_owned() + "\"answer\":" + golds_left.next().unwrap() + "}\n"
        })
        .collect();
    let dataset = own_set("mine.jsonl", &text);
    assert_eq!(golds(&dataset), SCALE);
    assert_eq!(
        dataset.notes,
        ["column answer names the right option in several ways: a letter in 3, a number from 0 in 1, its text in 1"]
    );
    assert!(dataset.washed.is_empty());

    let doubtful = "{\"question\":\"q\",\"options\":[\"B\",\"A\"],\"answer\":\"A\"}\n\
                    {\"question\":\"q\",\"options\":[\"n\",\"m\"],\"answer\":\"m\"}\n\
                    {\"question\":\"q\",\"options\":[\"n\",\"m\"],\"answer\":\"b\"}\n\
                    {\"question\":\"q\",\"options\":[\"n\",\"m\"],\"answer\":\"A. m\"}\n";
    assert_eq!(
        washed(&own_set("mine.jsonl", doubtful)),
        [
            "row 0: ambiguous_gold (id 0: \"A\" read as A, could be B), flagged",
            "row 3: ambiguous_gold (id 3: \"A. m\" read as A, could be B), flagged"
        ]
    );
}

#[test]
fn a_free_answer_gives_way_to_a_column_that_names_the_option() {
    let text = "{\"question\":\"q\",\"options\":[\"x\",\"y\"],\"answer\":\"because of y\",\"answer_index\":1}\n\
                {\"question\":\"r\",\"options\":[\"x\",\"y\"],\"answer\":\"it is plain\",\"answer_index\":0}\n";
    let dataset = own_set("mine.jsonl", text);
    assert_eq!(golds(&dataset), ["B", "A"]);
    assert!(
        dataset.notes[0].ends_with("column answer names no option in most rows; the gold is read from answer_index")
    );

    let text = "{\"question\":\"q\",\"options\":[\"x\",\"y\"],\"answer\":\"y\",\"answer_idx\":2}\n\
                {\"question\":\"r\",\"options\":[\"x\",\"y\"],\"answer\":\"neither\",\"answer_idx\":1}\n\
                {\"question\":\"r\",\"options\":[\"x\",\"y\"],\"answer\":\"x\",\"answer_idx\":2}\n\
                {\"question\":\"r\",\"options\":[\"x\",\"y\"],\"answer\":\"x\",\"answer_idx\":1}\n";
    let dataset = own_set("mine.jsonl", text);
    assert_eq!(golds(&dataset), ["B", "A", "A", "A"]);
    assert_eq!(washed(&dataset), ["row 2: gold_conflict (id 2: A, 2), flagged"]);
    assert!(
        dataset
            .notes
            .iter()
            .any(|note| note == "rows whose gold only column answer_idx names: 1")
    );
}

#[test]
fn options_and_questions_are_read_in_the_forms_that_people_have() {
    let wanted = "\n\nWhy?\nA. rain\nB. snow\nC. hail\nAnswer:";
    let lettered = "A. rain\\nB. snow\\nC. hail";
    for row in [
        r#""question":"Why?","options":[{"label":"A","text":"rain"},{"label":"B","text":"snow"},{"label":"C","text":"hail"}],"answer":"C""#.to_owned(),
        r#""question":"Why?","options":{"A":"rain","B":"snow","C":"hail","D":null},"answer":"C""#.to_owned(),
        r#""question":"Why?","options":["rain","snow","hail",null],"answer":2.0"#.to_owned(),
        r#""question":"Why?","options":"['rain', 'snow', 'hail']","answer":"hail""#.to_owned(),
        r#""question":"Why?","options":["A) rain","B) snow","C) hail"],"answer":"C) hail""#.to_owned(),
        format!(r#""question":"Why?","options":"{lettered}","answer":"c""#),
        r#""question":"Why?","choices":"rain | snow | hail","Correct Answer":"C""#.to_owned(),
        r#""question_stem":"Why?","choices":{"label":["1","2","3"],"text":["rain","snow","hail"]},"answerKey":"3""#.to_owned(),
        r#""question":{"stem":"Why?","choices":[{"text":"rain","label":"A"},{"text":"snow","label":"B"},{"text":"hail","label":"C"}]},"answerKey":"C""#.to_owned(),
        r#""Question":"Why?","Option A":"rain","Option B":"snow","Option C":"hail","Correct-Option":"Option C""#.to_owned(),
        r#""query":"Why?","answer1":"rain","answer2":"snow","answer3":"hail","label":[0,0,1]"#.to_owned(),
    ] {
        let dataset = own_set("mine.jsonl", &format!("{{{row}}}\n"));
        assert!(prompt(&dataset, 0).ends_with(wanted), "{row}: {:?}", dataset.questions[0]);
        assert_eq!(golds(&dataset), ["C"], "{row}");
        assert!(dataset.washed.is_empty(), "{row}: {:?}", dataset.washed);
    }
    let rows = "question,A,B,C,answer\nWhy?,rain,snow,hail,2.0\nHow?,x,y,z,0.0\n";
    for (name, text) in [
        ("mine.csv", rows.to_owned()),
        ("mine.csv", rows.replace(',', ";")),
        ("mine.csv", rows.replace(',', "\t")),
        ("mine.tsv", rows.replace(',', "\t")),
        (
            "mine.csv",
            "question,choices,answer\nWhy?,\"['rain' 'snow'\n 'hail']\",C\n".to_owned(),
        ),
        (
            "mine.csv",
            "question,choices,answer\nWhy?,\"['rain', \"\"snow\"\", 'hail']\",2\n".to_owned(),
        ),
        (
            "mine.csv",
            "question,choices,answer\nWhy?,\"(a) rain (b) snow (c) hail\",hail\n".to_owned(),
        ),
        (
            "mine.json",
            r#"{"version":2,"data":[{"question":"Why?","choices":["rain","snow","hail"],"answer":"hail"}]}"#.to_owned(),
        ),
    ] {
        let dataset = own_set(name, &text);
        assert!(
            prompt(&dataset, 0).ends_with(wanted),
            "{text}: {:?}",
            dataset.questions[0]
        );
        assert_eq!(golds(&dataset)[0], "C", "{text}");
    }
}

#[test]
fn an_option_without_text_keeps_its_letter_and_is_flagged() {
    let text = "{\"question\":\"q\",\"options\":{\"A\":\"x\",\"B\":null,\"C\":\"z\"},\"answer\":\"C\"}\n\
                {\"question\":\"q\",\"options\":{\"A\":\"x\",\"B\":\"y\",\"C\":null},\"answer\":\"B\"}\n";
    let dataset = own_set("mine.jsonl", text);
    assert_eq!(golds(&dataset), ["C", "B"]);
    assert_eq!(dataset.questions[0].options, ["x", "", "z"]);
    assert_eq!(dataset.questions[1].options, ["x", "y"]);
    assert_eq!(
        washed(&dataset),
        ["row 0: empty_option (id 0: option B has no text), flagged"]
    );
    assert_eq!(dataset.questions[0].flags, ["empty_option"]);
}

#[test]
fn more_options_than_letters_are_told() {
    let options: Vec<String> = (0..30).map(|number| format!("o{number}")).collect();
    let row = |gold: usize| serde_json::json!({"question": "q", "options": options, "answer": gold}).to_string() + "\n";
    let dataset = own_set("mine.jsonl", &(row(0) + &row(27)));
    assert_eq!(golds(&dataset), ["A"]);
    assert_eq!(
        washed(&dataset),
        [
            "row 0: too_many_options (id 0: 30, letters end at Z), flagged",
            "row 1: gold_outside_options (id 1: \"27\" among 30, letters end at Z), dropped",
            "row 1: too_many_options (id 1: 30, letters end at Z), dropped",
        ]
    );
}

#[test]
fn ids_that_are_no_numbers_number_the_rows_and_stay_findable() {
    let rows = |ids: &[&str]| -> String {
        let row = |id: &&str| format!("{{{id}\"question\":\"q\",\"options\":[\"x\",\"y\"],\"answer\":\"A\"}}\n");
        ids.iter().map(row).collect()
    };
    let numbered = |dataset: &Dataset| dataset.questions.iter().map(|question| question.id).collect::<Vec<_>>();
    let texts = own_set(
        "mine.jsonl",
        &rows(&["\"id\":\"a/1\",", "\"id\":\"a/2\",", "\"id\":\"a/1\","]),
    );
    assert_eq!(numbered(&texts), [0, 1, 2]);
    assert_eq!(
        texts.notes,
        [
            "column id holds ids that are not all whole numbers of 64 bits: the rows are numbered from 0, their ids stay in doc"
        ]
    );
    assert_eq!(
        washed(&texts),
        ["row 2: duplicate_id (\"a/1\" was there before, in row 0; this row is 2), flagged"]
    );
    assert!(texts.questions[1].doc.contains("\"id\":\"a/2\""));

    let missing = own_set("mine.jsonl", &rows(&["\"id\":7,", "", "\"id\":9,"]));
    assert_eq!(numbered(&missing), [0, 1, 2]);
    assert!(
        missing.notes[0].starts_with("column id has no id in 1 of 3 rows"),
        "{:?}",
        missing.notes
    );

    let big = own_set(
        "mine.jsonl",
        &rows(&[
            "\"id\":9223372036854775808,",
            "\"id\":18446744073709551617,",
            "\"id\":18446744073709551618,",
        ]),
    );
    assert_eq!(numbered(&big), [0, 1, 2]);
    assert!(big.washed.is_empty());
    assert!(
        big.questions[2].doc.contains("\"id\":18446744073709551618,"),
        "{}",
        big.questions[2].doc
    );

    let numbers = own_set(
        "mine.csv",
        "id,question,A,B,answer\n12.0,q,x,y,A\n-3,q,x,y,B\n12,q,x,y,B\n",
    );
    assert_eq!(numbered(&numbers), [12, -3, 13]);
}

#[test]
fn rows_are_counted_once_and_a_set_of_which_nothing_is_left_says_why() {
    let text = "{\"question\":\"\",\"options\":[],\"answer\":\"A\"}\n\
                {\"question\":\"q\",\"options\":[\"x\",\"y\"],\"answer\":null}\n";
    let error = folder_set(&[("mine.jsonl", text)]).unwrap_err().to_string();
    assert!(error.contains("rows dropped: 2\n"), "{error}");
    for told in [
        "row 0: empty_question (id 0), dropped",
        "row 0: fewer_than_two_options (id 0: 0), dropped",
        "row 1: gold_outside_options (id 1: \"\" among 2), dropped",
    ] {
        assert!(error.contains(told), "{error}");
    }
    let left = own_set(
        "mine.jsonl",
        &(text.to_owned() + "{\"question\":\"q\",\"options\":[\"x\",\"y\"],\"answer\":\"B\"}\n"),
    );
    assert_eq!(Washed::count(&left.washed), (2, 0));
}

#[test]
fn examples_inside_rows_are_washed_too() {
    let text = r#"{"question":"q","options":["x","y"],"answer":"B","examples":[
        {"question":" ","options":["x","y"],"answer":"A"},
        {"question":"good","options":["x","y"],"answer":"A"},
        {"question":"bad gold","options":["x","y"],"answer":"Z"}]}"#
        .replace('\n', "");
    let dataset = own_set("mine.jsonl", &text);
    assert_eq!(
        washed(&dataset),
        [
            "row 0, example 0: empty_question (id 0), dropped",
            "row 0, example 2: gold_outside_options (id 2: \"Z\" among 2), dropped",
        ]
    );
    assert!(prompt(&dataset, 1).contains("good\nA. x\nB. y\nAnswer: A\n\nq"));
    assert!(render(&dataset, &dataset.questions[0], &plan("cloze", 2)).is_err());
}

#[test]
fn files_beside_a_set_are_in_nobodys_way() {
    let mine = "{\"question\":\"q\",\"options\":[\"x\",\"y\"],\"answer\":\"B\"}\n";
    let examples = mine.replace("\"q\"", "\"e\"");
    let alone = [
        ("mine.jsonl", mine),
        ("dev.json", "{\"name\":\"a web app\"}"),
        ("examples.csv", "a,b,c\n1,2\n"),
    ];
    let dataset = folder_set(&alone).unwrap();
    assert_eq!(golds(&dataset), ["B"]);
    let told = dataset.notes.last().unwrap();
    assert!(
        told.starts_with("no examples (--shots needs them): ") && told.contains("examples.csv"),
        "{told}"
    );
    let error = render(&dataset, &dataset.questions[0], &plan("cloze", 1))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("has 0 examples") && error.contains("is no set of questions"),
        "{error}"
    );

    let more = [&alone[..], &[("validation.jsonl", &examples)]].concat();
    let dataset = folder_set(&more).unwrap();
    assert!(prompt(&dataset, 1).contains("e\nA. x\nB. y\nAnswer: B\n\nq"));
    let in_a_row = mine.replace("}\n", ",\"examples\":[\"Q: e A: B\"]}\n");
    let dataset = own_set("mine.jsonl", &in_a_row);
    let told = &dataset.notes[0];
    assert!(
        told.contains("column examples: row 0: not a list of rows, but of \"Q: e A: B\""),
        "{told}"
    );
}

#[test]
fn missing_parts_of_a_set_are_named() {
    let row = "{\"question\":\"q\",\"options\":[\"x\",\"y\"],\"answer\":\"B\"}\n";
    let error = folder_set(&[("test-00001-of-00003.jsonl", row)])
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("lacks parts of its set: test-00000-of-00003, test-00002-of-00003"),
        "{error}"
    );
    let marked = [
        ("test-00000-of-00002-0f3a.jsonl", row),
        ("test-00001-of-00002-77bc.jsonl", row),
    ];
    assert_eq!(folder_set(&marked).unwrap().questions.len(), 2);
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("train-00000-of-00004.jsonl");
    fs::write(&part, row).unwrap();
    let notes = read(&part).unwrap().notes;
    assert!(
        notes[0].ends_with("is one of 4 parts; its folder holds them all"),
        "{notes:?}"
    );
}

/// The hash of a row as Python's `json.dumps(row, indent=2)` writes it; `lines` are its lines.
fn python_hash(lines: &[&str]) -> String {
    hash_text(&format!("{{\n  {}\n}}", lines.join(",\n  ")))
}

const ROW: [&str; 3] = [
    "\"question\": \"q\"",
    "\"options\": [\n    \"x\",\n    \"y\"\n  ]",
    "\"answer\": \"A\"",
];

#[test]
fn rows_are_hashed_as_the_harness_would_get_them() {
    let row = |more: &str| format!("{{\"question\":\"q\",\"options\":[\"x\",\"y\"],\"answer\":\"A\"{more}}}\n");
    let check = |rows: &[&str], expected: &[&[&str]]| {
        let text: String = rows.iter().map(|more| row(more)).collect();
        let dataset = own_set("mine.jsonl", &text);
        let hashes: Vec<_> = dataset
            .questions
            .iter()
            .map(|question| question.doc_hash.clone())
            .collect();
        let wanted: Vec<_> = expected
            .iter()
            .map(|more| python_hash(&[&ROW[..], more].concat()))
            .collect();
        assert_eq!(hashes, wanted, "{rows:?}");
    };
    check(
        &[",\"n\":NaN", ",\"n\":-Infinity", ",\"n\":1e400"],
        &[&["\"n\": NaN"], &["\"n\": -Infinity"], &["\"n\": Infinity"]],
    );
    check(
        &[",\"n\":98765432109876543210", ",\"n\":-0"],
        &[&["\"n\": 98765432109876543210"], &["\"n\": 0"]],
    );
    check(&[",\"n\":1", ",\"n\":2.5"], &[&["\"n\": 1.0"], &["\"n\": 2.5"]]);
    check(
        &[",\"b\":\"late\"", "", ",\"c\":[1],\"b\":\"x\""],
        &[
            &["\"b\": \"late\"", "\"c\": null"],
            &["\"b\": null", "\"c\": null"],
            &["\"b\": \"x\"", "\"c\": [\n    1\n  ]"],
        ],
    );
    check(
        &[",\"d\":\"2031-05-06\"", ",\"d\":\"soon\""],
        &[&["\"d\": \"2031-05-06\""], &["\"d\": \"soon\""]],
    );
}

#[test]
fn a_set_with_dates_is_told_to_have_hashes_of_markbooks_own() {
    let row =
        |day: &str| format!("{{\"question\":\"q\",\"options\":[\"x\",\"y\"],\"answer\":\"A\",\"d\":\"{day}\"}}\n");
    let notes = |days: [&str; 2]| own_set("mine.jsonl", &days.map(row).concat()).notes.join("\n");
    let told = "doc_hash is markbook's own";
    let dated = notes(["2031-05-06", "2031-05-06T07:08:09Z"]);
    assert!(dated.contains(told) && dated.contains("(d)"), "{dated}");
    assert!(!notes(["2031-05-06", "soon"]).contains(told));
}

#[test]
fn cells_of_a_csv_are_hashed_by_the_type_of_their_column_and_shown_as_written() {
    let text = "question,A,B,answer,n,f,yes,gap,\nq,007,None,A,+5,1,True,1,\nr,1.50,x,B,-6,2.50,false,,\n";
    let dataset = own_set("mine.csv", text);
    assert_eq!(dataset.questions[0].options, ["007", "None"]);
    let hashes: Vec<_> = dataset
        .questions
        .iter()
        .map(|question| question.doc_hash.clone())
        .collect();
    let rows = [
        ["\"q\"", "7.0", "null", "\"A\"", "5", "1.0", "true", "1.0"],
        ["\"r\"", "1.5", "\"x\"", "\"B\"", "-6", "2.5", "false", "null"],
    ];
    let names = ["question", "A", "B", "answer", "n", "f", "yes", "gap"];
    for (hash, row) in hashes.iter().zip(rows) {
        let mut lines: Vec<String> = names
            .iter()
            .zip(row)
            .map(|(name, cell)| format!("\"{name}\": {cell}"))
            .collect();
        lines.push("\"Unnamed: 8\": null".into());
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(*hash, python_hash(&lines));
    }
}

#[test]
fn an_original_csv_may_ask_about_questions_and_write_its_letters_small() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\"The opposite of a reply is a\",Answer,Question,Letter,Word,B\nWhich is last?,1,2,3,4, d\n";
    fs::write(folder.path().join("philosophy_test.csv"), text).unwrap();
    fs::create_dir(folder.path().join("test")).unwrap();
    fs::rename(
        folder.path().join("philosophy_test.csv"),
        folder.path().join("test/philosophy_test.csv"),
    )
    .unwrap();
    let dataset = load(find("mmlu").unwrap(), &DataSource::Folder(folder.path().into()), "test").unwrap();
    assert_eq!(golds(&dataset), ["B", "D"]);
    assert_eq!(dataset.questions[1].stored_answer, "3");
    let expected = "{\n  \"question\": \"Which is last?\",\n  \"subject\": \"philosophy\",\n  \"choices\": [\n    \"1\",\n    \"2\",\n    \"3\",\n    \"4\"\n  ],\n  \"answer\": 3\n}";
    assert_eq!(dataset.questions[1].doc_hash, hash_text(expected));
}
