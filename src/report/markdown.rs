//! A report as Markdown, as code hosts draw it; its figures are files beside it.

use std::fmt::Write as _;

use super::{Block, ITEMS, Report};
use crate::table::Format;
use crate::text::markup::{code_block, markdown};

/// The file of a figure beside the report `stem`; `again` counts figures of one name.
pub fn figure_file(stem: &str, name: &str, again: usize) -> String {
    match again {
        0 => format!("{stem}-{name}.svg"),
        again => format!("{stem}-{name}-{}.svg", again + 1),
    }
}

impl Report {
    /// The text; figures are named as [`figure_file`] names them.
    ///
    /// # Errors
    /// When a table cannot be written.
    pub fn markdown(&self, stem: &str) -> anyhow::Result<String> {
        let mut out = format!("# {}\n\n", markdown(&self.title));
        for line in &self.head {
            let _ = writeln!(out, "{}\n", markdown(line));
        }
        let _ = writeln!(out, "{}. Made {}.\n", markdown(&self.items()), markdown(&self.made));
        let mut figures: Vec<&str> = Vec::new();
        for (part, at) in self.parts.iter().zip(1..) {
            let number = if at <= ITEMS { format!("{at} ") } else { String::new() };
            let _ = writeln!(out, "## {number}{}\n", markdown(&part.title));
            for block in &part.blocks {
                let written = match block {
                    Block::Figure(figure) => {
                        let again = figures.iter().filter(|name| **name == figure.name).count();
                        figures.push(figure.name);
                        let file = figure_file(stem, figure.name, again);
                        format!(
                            "![{}]({})\n\n{}\n",
                            markdown(&figure.title),
                            file.replace(' ', "%20"),
                            markdown(&figure.says)
                        )
                    }
                    block => written(block)?,
                };
                let _ = writeln!(out, "{written}");
            }
            if part.title == "Acceptance" {
                out.push_str(&self.accepted_lines());
            }
        }
        Ok(out)
    }

    fn accepted_lines(&self) -> String {
        let mut out = String::from("| item | state | why |\n| :-- | :-- | :-- |\n");
        for item in &self.acceptance {
            let by_hand = item.by_hand.as_ref().map(|by_hand| {
                format!(
                    "; by hand: {} (--confirm {}, {})",
                    markdown(&by_hand.text),
                    item.key,
                    markdown(&by_hand.at)
                )
            });
            let (what, why) = (markdown(item.what), markdown(&item.why));
            let _ = writeln!(
                out,
                "| {what} | {} {} | {why}{} |",
                item.state.mark(),
                item.state.word(),
                by_hand.unwrap_or_default()
            );
        }
        out.push('\n');
        out
    }
}

fn written(block: &Block) -> anyhow::Result<String> {
    Ok(match block {
        Block::Run(name) => format!("### {}\n", markdown(name)),
        Block::Text(text) => format!("{}\n", markdown(text)),
        Block::Facts(facts) => {
            let rows = facts
                .iter()
                .map(|(name, value)| format!("| {} | {} |\n", markdown(name), markdown(value)));
            format!("| | |\n| :-- | :-- |\n{}", rows.collect::<String>())
        }
        Block::Missing(lines) => lines.iter().map(|line| format!("> {}\n", markdown(line))).collect(),
        Block::Folded(title, text) => {
            format!(
                "<details><summary>{}</summary>\n\n{}\n</details>\n",
                crate::text::markup::html(title),
                code_block(text)
            )
        }
        Block::Table(table) => table.write(Format::Md)?,
        Block::Figure(_) => String::new(),
    })
}
