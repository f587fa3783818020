//! Models behind a server: every question answered once or reported, whatever the network does.

mod command;
mod faults;
mod kit;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use self::kit::{Fault, StandIn, Ways};
use markbook::engine::remote::{self, Clocks, Options, RemoteEngine, Rung, Secrets};
use markbook::engine::{
    Ask, Completion, Control, Description, Engine, Event, Prompt, Remote, Request, Sampling, Scores, Turn,
};
use markbook::hub::Token;

fn options(server: &StandIn) -> Options {
    Options {
        urls: vec![server.url()],
        clocks: Clocks {
            connect: Duration::from_secs(1),
            answer: Duration::from_secs(2),
            first: Duration::from_secs(2),
            silence: Duration::from_secs(2),
            stall: Duration::from_secs(2),
            whole: Duration::from_secs(10),
        },
        ..Options::default()
    }
}

fn connect(options: Options) -> anyhow::Result<RemoteEngine> {
    remote::connect(options, &mut |_| ControlFlow::Continue(()))
}

fn served(engine: &dyn Engine) -> remote::Served {
    match engine.describe() {
        Description::Remote(served) => *served,
        other => panic!("{other:?}"),
    }
}

const LETTERS: [&str; 4] = [" A", " B", " C", " D"];

fn questions(scored: usize, sampled: usize) -> Vec<Request> {
    let score = |id: usize| Request {
        id,
        lane: 0,
        prompt: format!("Question {id}?\nAnswer:").into(),
        add_special_tokens: true,
        ask: Ask::Score {
            continuations: LETTERS.map(str::to_owned).to_vec(),
        },
    };
    let sample = |id: usize| Request {
        id,
        lane: 1,
        prompt: format!("Question {id}? Think.").into(),
        add_special_tokens: true,
        ask: Ask::Sample {
            sampling: Sampling {
                temperature: 1.0,
                top_p: 0.95,
                top_k: 64,
                max_tokens: 200,
                stops: vec!["Question:".into()],
            },
            seeds: (42..47).collect(),
            stream: 0,
        },
    };
    (0..scored)
        .map(score)
        .chain((scored..scored + sampled).map(sample))
        .collect()
}

/// What was told, each answer once.
#[derive(Default)]
struct Heard {
    scored: BTreeMap<usize, Scores>,
    completed: BTreeMap<(usize, usize), Completion>,
    failed: Vec<(usize, Option<usize>, &'static str, String)>,
    waited: Vec<String>,
    noted: Vec<String>,
    remote: Option<Remote>,
}

fn hear(engine: &mut dyn Engine, requests: Vec<Request>) -> anyhow::Result<Heard> {
    let mut heard = Heard::default();
    engine.run(requests, &Control::new(2), &mut |event| {
        match event {
            Event::Scored { id, scores, .. } => assert!(heard.scored.insert(id, scores).is_none(), "{id} twice"),
            Event::Completed { id, completion, .. } => {
                let key = (id, completion.attempt);
                assert!(heard.completed.insert(key, completion).is_none(), "{key:?} twice");
            }
            Event::Failed {
                id,
                attempt,
                flag,
                reason,
            } => heard.failed.push((id, attempt, flag, reason)),
            Event::Waiting { reason } => heard.waited.push(reason),
            Event::Noted { note } => heard.noted.push(note),
            Event::Pulse(pulse) => heard.remote = pulse.remote,
            Event::Progress { .. } => {}
        }
        ControlFlow::Continue(())
    })?;
    Ok(heard)
}

/// Every answer is the server's own for that prompt and seed.
fn assert_right(heard: &Heard, scored: usize, sampled: usize) {
    assert!(heard.failed.is_empty(), "{:?}", heard.failed);
    assert_eq!((heard.scored.len(), heard.completed.len()), (scored, sampled * 5));
    for (id, scores) in &heard.scored {
        let prompt = format!("Question {id}?\nAnswer:");
        let expected: Vec<f32> = LETTERS
            .map(|letter| kit::logprob(&prompt, kit::tokens(letter)[0]) as f32)
            .to_vec();
        assert_eq!(scores.log_likelihoods, expected, "{id}");
    }
    for ((id, attempt), completion) in &heard.completed {
        let prompt = format!("Question {id}? Think.");
        assert_eq!(
            completion.text,
            kit::written(&prompt, 42 + *attempt as i64),
            "{id} {attempt}"
        );
    }
}

#[test]
fn both_exams_are_answered_and_the_handshake_says_how_exactly() {
    let server = StandIn::start(Ways::default(), |_, _| None);
    let mut engine = connect(options(&server)).unwrap();
    let found = served(&engine);
    assert_eq!(
        (found.cloze, found.context, found.model.as_str()),
        (Some(Rung::Ids), Some(4096), "stand-in")
    );
    assert_eq!(found.between_methods, Some(0.0));
    assert!(
        found.unmet.is_empty() && found.seeds == remote::Seeds::Honoured,
        "{found:?}"
    );
    assert_right(&hear(&mut engine, questions(20, 10)).unwrap(), 20, 10);
}

#[test]
fn streams_cut_anywhere_say_the_same() {
    let ways = Ways {
        byte_by_byte: true,
        ..Ways::default()
    };
    let server = StandIn::start(ways, |_, _| None);
    assert_right(
        &hear(&mut connect(options(&server)).unwrap(), questions(3, 3)).unwrap(),
        3,
        3,
    );
}

#[test]
fn one_request_in_ten_fails_in_ten_ways_and_every_answer_comes_once() {
    let status = |code: u16, headers: &[(&str, &str)], body: &str| {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Fault::Status(code, headers, body.to_owned())
    };
    let faults = vec![
        status(500, &[], "oops"),
        status(429, &[("retry-after-ms", "200")], ""),
        status(
            502,
            &[("content-type", "text/html")],
            "<html><title>Bad gateway</title></html>",
        ),
        Fault::Cut(0),
        Fault::Cut(150),
        Fault::Cut(400),
        Fault::NoFinish,
        Fault::Garbage,
        status(408, &[], ""),
        status(503, &[("retry-after", "0")], "overloaded"),
    ];
    let server = StandIn::start(Ways::default(), move |number, _| {
        (number > 30 && number % 10 == 3).then(|| faults[(number / 10) % faults.len()].clone())
    });
    let mut engine = connect(options(&server)).unwrap();
    let heard = hear(&mut engine, questions(60, 40)).unwrap();
    assert_right(&heard, 60, 40);
    assert!(
        heard.waited.iter().any(|reason| reason.contains("429")),
        "{:?}",
        heard.waited
    );
}

#[test]
fn a_server_that_goes_away_pauses_the_run_and_no_answer_is_invented() {
    let server = StandIn::start(Ways::default(), |_, _| None);
    let mut engine = connect(options(&server)).unwrap();
    server.away(Duration::from_secs(4));
    let heard = hear(&mut engine, questions(10, 4)).unwrap();
    assert_right(&heard, 10, 4);
}

#[test]
fn what_always_fails_is_reported_once_with_its_reason() {
    let long = r#"{"error": {"message": "maximum context length is 4096 tokens", "type": "BadRequestError", "param": "input_tokens"}}"#;
    let server = StandIn::start(Ways::default(), move |_, body| {
        let is_long = body["prompt"]
            .as_str()
            .is_some_and(|prompt| prompt.starts_with("Question 3?"));
        is_long.then(|| Fault::Status(400, Vec::new(), long.to_owned()))
    });
    let heard = hear(&mut connect(options(&server)).unwrap(), questions(3, 2)).unwrap();
    assert_eq!((heard.scored.len(), heard.completed.len()), (3, 5));
    let mut attempts: Vec<_> = heard
        .failed
        .iter()
        .map(|(id, attempt, flag, _)| (*id, *attempt, *flag))
        .collect();
    attempts.sort_unstable();
    assert_eq!(
        attempts,
        (0..5).map(|attempt| (3, Some(attempt), "too_long")).collect::<Vec<_>>()
    );
}

#[test]
fn a_refusal_of_every_request_ends_the_run_with_what_to_do() {
    for (status, body, expected) in [
        (401, "{\"error\": \"no\"}", "--api-key-env"),
        (404, "{\"error\": {\"message\": \"no such model\"}}", "stand-in"),
        (402, "", "credit"),
        (307, "", "redirect"),
        (
            400,
            "{\"error\": {\"message\": \"top_k is not supported\", \"param\": \"top_k\"}}",
            "--without top_k",
        ),
    ] {
        let server = StandIn::start(Ways::default(), move |number, _| {
            (number > 25).then(|| Fault::Status(status, Vec::new(), body.to_owned()))
        });
        let mut engine = connect(options(&server)).unwrap();
        let error = hear(&mut engine, questions(30, 30))
            .err()
            .expect("the run ends")
            .to_string();
        assert!(
            error.contains(expected) && error.contains("--resume"),
            "{status}: {error}"
        );
    }
}

#[test]
fn the_handshake_finds_what_a_server_ignores() {
    use remote::Seeds;
    let found = |ways: Ways| served(&connect(options(&StandIn::start(ways, |_, _| None))).unwrap());
    let by = |change: fn(&mut Ways)| {
        let mut ways = Ways::default();
        change(&mut ways);
        found(ways)
    };
    assert_eq!(by(|ways| ways.ignores_token_ids = true).cloze, Some(Rung::Forced));
    let only_echo = by(|ways| (ways.ignores_token_ids, ways.ignores_bias) = (true, true));
    assert_eq!(only_echo.cloze, Some(Rung::Echo));
    let none = by(|ways| (ways.ignores_token_ids, ways.ignores_bias, ways.ignores_echo) = (true, true, true));
    assert!(none.cloze.is_none() && none.no_scores.is_some(), "{none:?}");
    let processed = by(|ways| (ways.processed, ways.ignores_echo) = (true, true));
    assert!(processed.cloze.is_none(), "{processed:?}");
    let ignored = by(|ways| ways.ignores_seed = true);
    assert!(
        ignored.seeds == Seeds::NotHonoured && ignored.unmet.contains(&"seed".to_owned()),
        "{ignored:?}"
    );
    assert_eq!(by(|ways| ways.fixed_seed = true).seeds, Seeds::Fixed);
    assert_eq!(by(|ways| ways.ignores_top_k = true).unmet, ["top_k"]);
}

#[test]
fn replicas_share_the_work_and_must_be_the_same() {
    let (one, two) = (
        StandIn::start(Ways::default(), |_, _| None),
        StandIn::start(Ways::default(), |_, _| None),
    );
    let mut both = options(&one);
    both.urls.push(two.url());
    both.in_flight = Some(4);
    let mut engine = connect(both.clone()).unwrap();
    let before = (one.count(), two.count());
    assert_right(&hear(&mut engine, questions(20, 10)).unwrap(), 20, 10);
    assert!(one.count() > before.0 + 15 && two.count() > before.1 + 15);
    let other = StandIn::start(
        Ways {
            version: "2.0",
            ..Ways::default()
        },
        |_, _| None,
    );
    both.urls[1] = other.url();
    let error = connect(both).unwrap_err().to_string();
    assert!(error.contains("2.0") && error.contains("1.0"), "{error}");
}

#[test]
fn a_key_goes_to_the_server_and_is_told_nowhere() {
    const KEY: &str = "sk-canary-0123456789";
    let server = StandIn::start(Ways::default(), |number, _| {
        (number == 30).then(|| Fault::Status(401, Vec::new(), format!("{{\"error\": \"bad key {KEY}\"}}")))
    });
    let mut with_key = options(&server);
    with_key.secrets = Secrets {
        key: Some(Token::new(KEY)),
        headers: vec![("x-team".into(), Token::new("evals-7788"))],
    };
    let mut engine = connect(with_key.clone()).unwrap();
    let error = format!(
        "{:#}",
        hear(&mut engine, questions(30, 10)).err().expect("the run ends")
    );
    let told = format!(
        "{error} {with_key:?} {engine:?} {}",
        serde_json::to_string(&engine.describe()).unwrap()
    );
    assert!(!told.contains("canary") && !told.contains("evals-7788"), "{told}");
    let heads = server.heads.lock().unwrap();
    assert!(
        heads
            .iter()
            .all(|head| head.contains(KEY) && head.contains("evals-7788"))
    );
}

#[test]
fn a_stopped_run_cancels_what_is_under_way() {
    let server = StandIn::start(Ways::default(), |_, _| None);
    let mut engine = connect(options(&server)).unwrap();
    let mut landed = 0;
    engine
        .run(questions(0, 50), &Control::new(2), &mut |event| {
            landed += usize::from(matches!(event, Event::Completed { .. }));
            if landed == 7 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    assert_eq!(landed, 7);
}

#[test]
fn a_chat_is_asked_in_turns_and_thinking_stands_in_its_marks() {
    let server = StandIn::start(
        Ways {
            thinks: true,
            ..Ways::default()
        },
        |_, _| None,
    );
    let mut chat = options(&server);
    chat.chat = true;
    let mut engine = connect(chat).unwrap();
    let found = served(&engine);
    assert!(found.is_chat && found.thinks && found.cloze.is_none(), "{found:?}");
    let mut requests = questions(0, 2);
    for request in &mut requests {
        let content = request.prompt.text().into_owned();
        request.prompt = Prompt::Chat(vec![Turn {
            role: "user".into(),
            content,
        }]);
    }
    let heard = hear(&mut engine, requests).unwrap();
    assert_eq!(heard.completed.len(), 10);
    let expected = format!("<think>Well.</think>{}", kit::written("Question 1? Think.", 44));
    assert_eq!(heard.completed[&(1, 2)].text, expected);
}

#[test]
fn hundreds_of_requests_are_under_way_at_once() {
    let server = StandIn::start(Ways::default(), |_, _| None);
    let mut many = options(&server);
    many.in_flight = Some(400);
    let heard = hear(&mut connect(many).unwrap(), questions(0, 400)).unwrap();
    assert_right(&heard, 0, 400);
}
