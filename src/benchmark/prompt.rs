//! Prompts to the byte: description, answered examples and the question, as one text or as the turns of a chat.

use anyhow::{Context, Result, bail};

use crate::engine::{ChatTemplate, Prompt, Turn};
use crate::json::{Layout, python_json};
use crate::text::is_python_space;

use super::chat::Chat;
use super::hash::hash_text;
use super::style::{ShotAnswer, ShotTurn, Style, Target};
use super::{Dataset, Form, Question};

/// How the questions of a run are put.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptPlan {
    pub style: &'static Style,
    /// Answered examples before each question.
    pub shots: usize,
    /// The model's chat template, where prompts are to be chats.
    pub chat: Option<ChatTemplate>,
    /// Prompts are chats that go in turns: the engine's other side has the template.
    pub as_turns: bool,
    pub chat_shots: ChatShots,
    /// Goes before the style's own description.
    pub system: Option<String>,
}

/// Where examples stand in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ChatShots {
    /// All in the one turn of the user.
    #[default]
    Turn,
    /// Each as a turn of the user and one of the assistant.
    Turns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
}

/// One piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub content: String,
    /// Follows the content where messages are joined to one text.
    delimiter: &'static str,
}

/// A prompt, with what the harness would hash of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// As it is sent; of a chat that goes in turns, their JSON as the harness hashes it.
    pub prompt: String,
    /// The turns, where they are sent as such.
    pub turns: Option<Vec<Turn>>,
    /// Texts to be scored after the prompt; none where the model writes.
    pub continuations: Vec<String>,
    pub target: String,
    pub doc_hash: String,
    pub prompt_hash: String,
    pub target_hash: String,
    pub system: SystemTurn,
}

/// What became of the description in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemTurn {
    /// There was none to give.
    None,
    Kept,
    /// The template refused it, with these words; as in the reference harness the chat goes without.
    Refused(String),
    /// The template took it and printed nothing of it.
    Ignored,
}

impl Rendered {
    /// What the engine is asked.
    pub fn asked(&self) -> Prompt {
        match &self.turns {
            Some(turns) => Prompt::Chat(turns.clone()),
            None => Prompt::Text(self.prompt.clone()),
        }
    }
}

impl SystemTurn {
    /// What a person should be told; nothing where all is well.
    pub fn notice(&self) -> Option<String> {
        match self {
            SystemTurn::None | SystemTurn::Kept => None,
            SystemTurn::Refused(words) => Some(format!(
                "the chat template has no system role ({words}): the description was left out, as the reference \
                 harness does; --chat off keeps it"
            )),
            SystemTurn::Ignored => Some(
                "the chat template prints no system turn: the description is not in the prompt; --chat off keeps it"
                    .into(),
            ),
        }
    }
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

impl Message {
    pub(super) fn new(role: Role, content: String, delimiter: &'static str) -> Message {
        Message {
            role,
            content,
            delimiter,
        }
    }

    fn turn(&self) -> Turn {
        Turn {
            role: self.role.name().to_owned(),
            content: self.content.clone(),
        }
    }

    fn into_text(self) -> String {
        self.content + self.delimiter
    }
}

impl PromptPlan {
    /// The prompts of a style without a chat template.
    pub fn plain(style: &'static Style, shots: usize) -> PromptPlan {
        PromptPlan {
            style,
            shots,
            chat: None,
            as_turns: false,
            chat_shots: ChatShots::Turn,
            system: None,
        }
    }

    /// Whether prompts are chats, by a template or as turns.
    pub fn is_chat(&self) -> bool {
        self.chat.is_some() || self.as_turns
    }

    /// The prompt template's full text, for the manifest.
    pub fn template_text(&self) -> String {
        let mut text = self.style.template_text(self.shots);
        if let Some(system) = &self.system {
            text = format!("{system}\n\n{text}");
        }
        match (self.is_chat(), self.chat_shots) {
            (false, _) => text,
            (true, ChatShots::Turn) => text + "\n(chat: the description as system turn, all else in one user turn)",
            (true, ChatShots::Turns) => {
                text + "\n(chat: the description as system turn, examples as turns of user and assistant)"
            }
        }
    }
}

/// The prompt of one question. For many, build one [`Prompter`].
pub fn render(dataset: &Dataset, question: &Question, plan: &PromptPlan) -> Result<Rendered> {
    Prompter::new(dataset, plan)?.render(question)
}

/// Renders the prompts of a data set under one plan.
#[derive(Debug)]
pub struct Prompter<'a> {
    dataset: &'a Dataset,
    plan: &'a PromptPlan,
    chat: Option<Chat>,
}

impl<'a> Prompter<'a> {
    /// Refuses more shots than there are examples, and a chat template that is not Jinja.
    pub fn new(dataset: &'a Dataset, plan: &'a PromptPlan) -> Result<Prompter<'a>> {
        check_shots(dataset, plan)?;
        let chat = plan.chat.as_ref().map(Chat::new).transpose()?;
        Ok(Prompter { dataset, plan, chat })
    }

    pub fn render(&self, question: &Question) -> Result<Rendered> {
        self.render_with(question, self.plan.shots)
    }

    /// The prompt with at most so many examples.
    pub fn render_with(&self, question: &Question, shots: usize) -> Result<Rendered> {
        let style = self.plan.style;
        let messages = self.messages_with(question, shots);
        let turns = self
            .plan
            .as_turns
            .then(|| messages.iter().map(Message::turn).collect::<Vec<_>>());
        let (prompt, system) = match (&turns, &self.chat) {
            (Some(turns), _) => (turns_json(turns), SystemTurn::None),
            (None, None) => (messages.into_iter().map(Message::into_text).collect(), SystemTurn::None),
            (None, Some(chat)) => chat
                .render(&messages)
                .with_context(|| format!("question {}", question.id))?,
        };
        // With a chat template the harness scores the bare letter: nothing stands between turn and answer.
        let delimiter = if self.plan.is_chat() { "" } else { style.delimiter };
        let target = match style.target {
            Target::Stored => question.stored_answer.clone(),
            Target::Letter => question.answer.clone(),
        };
        Ok(Rendered {
            continuations: style.continuations(question, delimiter),
            doc_hash: question.doc_hash.clone(),
            prompt_hash: hash_text(&prompt),
            target_hash: hash_text(&target),
            prompt,
            turns,
            target,
            system,
        })
    }

    /// The prompt's pieces: the turns of a chat, or what is joined to one text.
    pub fn messages(&self, question: &Question) -> Vec<Message> {
        self.messages_with(question, self.plan.shots)
    }

    fn messages_with(&self, question: &Question, shots: usize) -> Vec<Message> {
        let style = self.plan.style;
        let mut messages = Vec::new();
        let system = join(
            self.plan.system.as_deref().unwrap_or_default(),
            &style.describe(&question.subject),
        );
        if !system.is_empty() {
            messages.push(Message::new(Role::System, system, ""));
        }
        let first_turn = messages.len();
        for example in self
            .dataset
            .examples_for(question, style.examples)
            .into_iter()
            .take(shots)
        {
            push_example(&mut messages, style, example);
        }
        messages.push(Message::new(Role::User, style.lay_out(style.block, question), ""));
        if self.plan.is_chat() && self.plan.chat_shots == ChatShots::Turn {
            let turn = messages.drain(first_turn..).map(Message::into_text).collect();
            messages.push(Message::new(Role::User, turn, ""));
        }
        messages
    }
}

fn push_example(messages: &mut Vec<Message>, style: &Style, example: &Question) {
    let block = style.lay_out(style.shot_block, example);
    let answer = style.answer_of(example);
    match style.shot_turn {
        ShotTurn::User => {
            let content = block + style.delimiter + &answer + style.separator;
            messages.push(Message::new(Role::User, content, ""));
        }
        // The harness takes an empty answer for none: no delimiter, no turn.
        ShotTurn::Assistant if answer.is_empty() => messages.push(Message::new(Role::User, block, "")),
        ShotTurn::Assistant => {
            messages.push(Message::new(Role::User, block, style.delimiter));
            messages.push(Message::new(Role::Assistant, answer, style.separator));
        }
    }
}

/// A chat as the harness's own chat models hash it: `json.dumps(turns, ensure_ascii=False)`
/// (`TemplateAPI.apply_chat_template`).
fn turns_json(turns: &[Turn]) -> String {
    let turns = turns
        .iter()
        .map(|turn| serde_json::json!({"role": turn.role, "content": turn.content}));
    python_json(&turns.collect(), Layout::OneLine)
}

/// The harness's `maybe_delimit`: a blank line between two texts unless white space already parts them.
fn join(system: &str, description: &str) -> String {
    let is_parted = system.ends_with(is_python_space) || description.starts_with(is_python_space);
    let gap = if system.is_empty() || description.is_empty() || is_parted {
        ""
    } else {
        "\n\n"
    };
    format!("{system}{gap}{description}")
}

fn check_shots(dataset: &Dataset, plan: &PromptPlan) -> Result<()> {
    if plan.shots == 0 {
        return Ok(());
    }
    let needs_reasoning = dataset.form == Form::Custom && matches!(plan.style.answer, ShotAnswer::Reasoning { .. });
    for question in &dataset.questions {
        let examples = dataset.examples_for(question, plan.style.examples);
        if examples.len() < plan.shots {
            let subject = if question.subject.is_empty() {
                "the set"
            } else {
                &question.subject
            };
            let source = &dataset.source;
            let enough = subjects_with(dataset, plan.shots);
            let rest = if enough.is_empty() {
                String::new()
            } else {
                format!("; enough for: {}", enough.join(", "))
            };
            let problem = dataset.examples_problem.as_ref();
            let problem = problem.map_or_else(String::new, |problem| format!("; {problem}"));
            bail!(
                "--shots {}: {subject} has {} example{} in {source}{rest}{problem}",
                plan.shots,
                examples.len(),
                if examples.len() == 1 { "" } else { "s" }
            );
        }
        if needs_reasoning
            && let Some(example) = examples.iter().take(plan.shots).find(|example| example.cot.is_empty())
        {
            bail!(
                "style {} shows worked answers, and example {} has none (a column `reasoning`); --style direct needs none",
                plan.style.name,
                example.id
            );
        }
    }
    Ok(())
}

fn subjects_with(dataset: &Dataset, shots: usize) -> Vec<&str> {
    let enough = |subject: &&str| {
        dataset
            .examples
            .get(*subject)
            .is_some_and(|examples| examples.len() >= shots)
    };
    dataset.subjects().into_iter().filter(enough).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_hash_as_the_harness_hashes_those_of_its_chat_models() {
        let turn = |role: &str, content: &str| Turn {
            role: role.into(),
            content: content.into(),
        };
        let turns = [
            turn("system", "Solve é \"x\"\n\t\u{2028}"),
            turn("user", "Q \\ 1\u{7f}\u{1}"),
        ];
        assert_eq!(
            hash_text(&turns_json(&turns)),
            "fe82607606926239b0eb32018958f012f78f6da417718ab9c4ed55c2eb632038"
        );
    }
}
