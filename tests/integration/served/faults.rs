//! The fault table, line by line, that is not in the tests above: what is flagged, waited for, given to another server, or
//! ends the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::kit::{self, Fault, StandIn, Ways};
use super::{LETTERS, assert_right, connect, hear, options, questions, served};
use markbook::engine::remote::{Cloze, Price, Rung};
use markbook::engine::{Finish, Told};

/// Requests that the handshake takes at most.
const SHAKEN: usize = 30;

/// A fault of the first request of a question, again and again or once.
fn of_question(id: usize, once: bool, fault: Fault) -> impl Fn(usize, &serde_json::Value) -> Option<Fault> {
    let done = AtomicBool::new(false);
    move |_, body| {
        let prompt = body["prompt"].as_str().unwrap_or_default();
        let is_it = prompt.starts_with(&format!("Question {id}?")) && !(once && done.swap(true, Ordering::SeqCst));
        is_it.then(|| fault.clone())
    }
}

fn data(text: &str) -> String {
    format!("data: {text}")
}

fn flags(told: Option<&Told>) -> Vec<&'static str> {
    told.map(|told| told.flags.clone()).unwrap_or_default()
}

#[test]
fn an_answer_says_who_gave_it_and_at_what_cost() {
    let server = StandIn::start(Ways::default(), of_question(1, true, Fault::Cut(150)));
    let mut priced = options(&server);
    priced.price = Some("in=1000000,out=2000000".parse::<Price>().unwrap());
    let heard = hear(&mut connect(priced).unwrap(), questions(1, 1)).unwrap();
    assert_right(&heard, 1, 1);
    let by: Vec<_> = (0..5)
        .map(|attempt| heard.completed[&(1, attempt)].told.as_ref().unwrap().by.clone())
        .collect();
    assert_eq!(by.iter().map(|by| by.tries).sum::<u32>(), 6, "one broke off: {by:?}");
    for by in &by {
        assert_eq!(by.replica, server.address.to_string());
        assert_eq!(by.fingerprint.as_deref(), Some("stand-in-0"));
        let (prompt, completion) = (by.usage.prompt.unwrap(), by.usage.completion.unwrap());
        assert_eq!(by.usd, Some((prompt + 2 * completion) as f64));
        assert!(by.first_token_s.is_some());
    }
    let remote = heard.remote.unwrap();
    assert_eq!((remote.retries, remote.errors, remote.busy), (1, 0, 0));
}

#[test]
fn a_server_with_new_settings_is_looked_at_again_and_goes_on_where_it_is_the_same() {
    let server = StandIn::start(Ways::default(), |_, _| None);
    let mut engine = connect(options(&server)).unwrap();
    server.renew(false);
    let heard = hear(&mut engine, questions(5, 5)).unwrap();
    assert_right(&heard, 5, 5);
    let told = heard.noted.join("; ");
    assert!(told.contains("fingerprint was stand-in-0, is now stand-in-1"), "{told}");
}

#[test]
fn another_version_ends_the_run_unless_that_is_accepted_and_then_its_rows_are_flagged() {
    let server = StandIn::start(Ways::default(), |_, _| None);
    let mut strict = connect(options(&server)).unwrap();
    let mut lenient = options(&server);
    lenient.accepts_drift = true;
    let mut lenient = connect(lenient).unwrap();
    server.renew(true);
    let error = hear(&mut strict, questions(2, 3))
        .err()
        .expect("the run ends")
        .to_string();
    for word in ["version was \"1.0\"", "is now \"1.0+1\"", "--accept-drift", "--resume"] {
        assert!(error.contains(word), "{error}");
    }
    let heard = hear(&mut lenient, questions(0, 3)).unwrap();
    assert_right(&heard, 0, 3);
    assert!(
        heard.noted.iter().any(|note| note.contains("stand-in-1")),
        "{:?}",
        heard.noted
    );
    assert!(
        heard
            .completed
            .values()
            .all(|completion| flags(completion.told.as_deref()).contains(&"drift"))
    );
}

#[test]
fn letters_beyond_the_likeliest_tokens_are_bounds_only_where_that_was_asked_for() {
    let ways = Ways {
        ignores_token_ids: true,
        ignores_bias: true,
        ignores_echo: true,
        most_told: 5,
        ..Ways::default()
    };
    let server = StandIn::start(ways, |_, _| None);
    let refused = served(&connect(options(&server)).unwrap());
    assert!(refused.cloze.is_none() && refused.no_scores.is_some(), "{refused:?}");
    let mut partial = options(&server);
    partial.cloze = Cloze::Partial;
    let mut engine = connect(partial).unwrap();
    let found = served(&engine);
    assert_eq!((found.cloze, found.top), (Some(Rung::Partial), Some(5)));
    let heard = hear(&mut engine, questions(40, 0)).unwrap();
    let (mut bounded, mut undecided) = (0, 0);
    for (id, scores) in &heard.scored {
        let prompt = format!("Question {id}?\nAnswer:");
        let top = &kit::likeliest(&prompt)[..5];
        let told = scores.told.as_ref().unwrap();
        for (at, letter) in LETTERS.iter().enumerate() {
            let known = top
                .iter()
                .find(|(text, _)| text == letter)
                .map(|(_, logprob)| *logprob as f32);
            let score = scores.log_likelihoods[at];
            assert_eq!(told.by.bounded.contains(&at), known.is_none());
            assert!(
                known.map_or(score < top[4].1 as f32, |known| known == score),
                "{id} {letter} {score}"
            );
        }
        let flags = flags(scores.told.as_deref());
        assert_eq!(flags.contains(&"bounded"), !told.by.bounded.is_empty());
        assert_eq!(flags.contains(&"undecided"), told.by.bounded.len() == 4);
        bounded += usize::from(flags.contains(&"bounded"));
        undecided += usize::from(flags.contains(&"undecided"));
    }
    assert!(bounded > 20 && undecided > 0 && undecided < 40, "{bounded} {undecided}");
}

#[test]
fn an_exact_way_is_taken_even_where_bounds_would_do() {
    let server = StandIn::start(Ways::default(), |_, _| None);
    let mut partial = options(&server);
    partial.cloze = Cloze::Partial;
    assert_eq!(served(&connect(partial).unwrap()).cloze, Some(Rung::Ids));
}

#[test]
fn odd_ends_are_flagged_and_kept_or_asked_again() {
    let word = |text: &str| data(&format!(r#"{{"choices": [{{"text": "{text}"}}]}}"#));
    let end = |reason: &str| {
        data(&format!(
            r#"{{"choices": [{{"text": "", "finish_reason": "{reason}"}}]}}"#
        ))
    };
    let usage = data(r#"{"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}"#);
    let thought = data(r#"{"choices": [{"text": null, "delta": {"reasoning": "Hm"}}]}"#);
    let done = data("[DONE]");
    let mut looped = vec![word("la"); 31];
    looped.push(done.clone());
    let cases: [(Vec<String>, &str, &str, Finish); 5] = [
        (
            vec![end("stop"), usage.clone(), done.clone()],
            "empty",
            "",
            Finish::Stop,
        ),
        (looped, "looped", "", Finish::Length),
        (
            vec![thought.clone(), end("length"), usage.clone()],
            "cut_thinking",
            "<think>Hm",
            Finish::Length,
        ),
        (
            vec![thought, end("stop"), usage, done.clone()],
            "stopped_thinking",
            "<think>Hm</think>",
            Finish::Stop,
        ),
        (vec![word("A."), end("stop"), done], "estimated", "A.", Finish::Stop),
    ];
    for (lines, flag, text, finish) in cases {
        let server = StandIn::start(Ways::default(), of_question(0, false, Fault::Stream(lines)));
        let heard = hear(&mut connect(options(&server)).unwrap(), questions(0, 1)).unwrap();
        assert_eq!(heard.completed.len(), 5, "{flag}: {:?}", heard.failed);
        for completion in heard.completed.values() {
            assert!(
                flags(completion.told.as_deref()).contains(&flag),
                "{flag}: {completion:?}"
            );
            assert_eq!(completion.finish, finish, "{flag}");
            assert!(text.is_empty() || completion.text == text, "{flag}: {completion:?}");
        }
    }
}

#[test]
fn an_empty_answer_is_asked_for_once_more() {
    let empty = vec![
        data(r#"{"choices": [{"text": "", "finish_reason": "stop"}]}"#),
        data("[DONE]"),
    ];
    let server = StandIn::start(Ways::default(), of_question(1, true, Fault::Stream(empty)));
    assert_right(
        &hear(&mut connect(options(&server)).unwrap(), questions(1, 2)).unwrap(),
        1,
        2,
    );
}

#[test]
fn what_is_broken_silent_endless_or_too_large_is_asked_again() {
    let garbled = |lines: &[&str]| Fault::Stream(lines.iter().map(|line| (*line).to_owned()).collect());
    for fault in [
        Fault::Silent(0, Duration::from_secs(4)),
        Fault::Silent(90, Duration::from_secs(4)),
        Fault::Silent(300, Duration::from_secs(4)),
        garbled(&["data: {\"choices\": ["]),
        garbled(&["data: {\"error\": {\"message\": \"CUDA out of memory\", \"code\": 500}}"]),
        garbled(&["error: {\"code\": 500}"]),
        garbled(&["data: {\"choices\": []}", "data: [DONE]"]),
        garbled(&["data: {\"choices\": [{\"text\": \"x\", \"finish_reason\": \"abort\"}]}"]),
        Fault::Stream(vec![data(&"x".repeat(2 << 20))]),
        Fault::Status(500, Vec::new(), "x".repeat(17 << 20)),
    ] {
        let words = format!("{fault:?}");
        let server = StandIn::start(Ways::default(), of_question(2, true, fault));
        let heard = hear(&mut connect(options(&server)).unwrap(), questions(2, 2)).unwrap();
        assert_right(&heard, 2, 2);
        assert!(heard.remote.unwrap().retries >= 1, "{:.80}", words);
    }
}

#[test]
fn scores_that_lack_what_was_asked_for_are_asked_again_and_never_filled_in() {
    for body in [
        r#"{"choices": []}"#,
        r#"{"choices": [{"text": "x", "logprobs": null}]}"#,
        r#"{"choices": [{"text": "x", "logprobs": {"tokens": ["token_id:7"], "token_logprobs": [null], "top_logprobs": [null]}}]}"#,
        r#"{"choices": [{"text": "x", "logprobs": {"tokens": ["token_id:7"], "token_logprobs": [NaN]}}]}"#,
        r#"{"error": {"message": "engine died"}}"#,
    ] {
        let fault = || Fault::Status(200, Vec::new(), body.to_owned());
        let server = StandIn::start(Ways::default(), of_question(1, true, fault()));
        assert_right(
            &hear(&mut connect(options(&server)).unwrap(), questions(3, 0)).unwrap(),
            3,
            0,
        );
        let server = StandIn::start(Ways::default(), of_question(1, false, fault()));
        let mut once = options(&server);
        once.retries = 1;
        let heard = hear(&mut connect(once).unwrap(), questions(3, 0)).unwrap();
        assert_eq!((heard.scored.len(), heard.failed.len()), (2, 1), "{body}");
        assert_eq!((heard.failed[0].0, heard.failed[0].2), (1, "error"), "{body}");
    }
}

#[test]
fn a_page_in_place_of_an_answer_pauses_the_run() {
    let page = Fault::Status(
        200,
        vec![("content-type".to_owned(), "text/html".to_owned())],
        "<html><title>Sign in</title>".to_owned(),
    );
    let server = StandIn::start(Ways::default(), of_question(2, true, page.clone()));
    let heard = hear(&mut connect(options(&server)).unwrap(), questions(2, 2)).unwrap();
    assert_right(&heard, 2, 2);
    assert!(
        heard.waited.iter().any(|reason| reason.contains("Sign in")),
        "{:?}",
        heard.waited
    );
}

#[test]
fn what_the_server_s_filter_stops_is_a_row_of_its_own() {
    let filtered = vec![data(
        r#"{"choices": [{"text": "x", "finish_reason": "content_filter"}]}"#,
    )];
    let server = StandIn::start(Ways::default(), of_question(0, false, Fault::Stream(filtered)));
    let heard = hear(&mut connect(options(&server)).unwrap(), questions(0, 2)).unwrap();
    assert_eq!((heard.completed.len(), heard.failed.len()), (5, 5));
    assert!(
        heard
            .failed
            .iter()
            .all(|(id, _, flag, _)| *id == 0 && *flag == "filtered")
    );
}

#[test]
fn a_server_that_refuses_everything_ends_the_run_after_three_refusals() {
    let server = StandIn::start(Ways::default(), move |number, _| {
        (number > SHAKEN).then(|| Fault::Status(422, Vec::new(), "{\"detail\": \"extra fields\"}".to_owned()))
    });
    // Handshakes end below that number: the rest of it is answered.
    let mut engine = connect(options(&server)).unwrap();
    while server.count() <= SHAKEN {
        hear(&mut engine, questions(1, 0)).unwrap();
    }
    let error = hear(&mut engine, questions(20, 0))
        .err()
        .expect("the run ends")
        .to_string();
    assert!(
        error.contains("refuses every request") && error.contains("extra fields"),
        "{error}"
    );
}

#[test]
fn one_replica_that_goes_away_leaves_its_questions_to_the_other() {
    let (one, two) = (
        StandIn::start(Ways::default(), |_, _| None),
        StandIn::start(Ways::default(), |_, _| None),
    );
    let mut both = options(&one);
    both.urls.push(two.url());
    both.in_flight = Some(8);
    let mut engine = connect(both).unwrap();
    two.away(Duration::from_secs(3600));
    let heard = hear(&mut engine, questions(20, 20)).unwrap();
    assert_right(&heard, 20, 20);
    let remote = heard.remote.unwrap();
    assert!(!remote.replicas[0].is_away && remote.replicas[1].is_away, "{remote:?}");
}

#[test]
fn what_is_spent_never_passes_what_may_be() {
    let server = StandIn::start(Ways::default(), |_, _| None);
    let mut priced = options(&server);
    priced.price = Some("in=0,out=10000".parse::<Price>().unwrap());
    priced.most_usd = Some(8.0);
    let mut engine = connect(priced).unwrap();
    let spent = Arc::new(std::sync::Mutex::new(0.0));
    let sum = Arc::clone(&spent);
    let asked = markbook::engine::Engine::run(
        &mut engine,
        questions(0, 60),
        &markbook::engine::Control::new(2),
        &mut |event| {
            if let markbook::engine::Event::Completed { completion, .. } = event {
                *sum.lock().unwrap() += completion.told.unwrap().by.usd.unwrap();
            }
            std::ops::ControlFlow::Continue(())
        },
    );
    let error = asked.unwrap_err().to_string();
    assert!(error.contains("--max-cost 8") && error.contains("--resume"), "{error}");
    let spent = *spent.lock().unwrap();
    assert!(spent > 5.0 && spent <= 8.0, "{spent}");
}
