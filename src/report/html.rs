//! A report as one HTML file: no script, no address of the outside, light and dark, printed on A4.

use std::fmt::Write as _;

use super::{Block, Report, State};
use crate::figure::{STYLE, SvgKind};
use crate::table::Table;
use crate::text::markup::html;

/// Contrast of every text on its ground is 4.5 and more, in both schemes.
const PAGE: &str = "\
:root{color-scheme:light dark;--ink:#1b1b1b;--soft:#5a5a5a;--line:#c9c9c9;--ground:#fff;--shade:#f3f4f6;--warn:#8a4b00;--warnground:#fff7e6;--link:#0b5394}\
@media (prefers-color-scheme:dark){:root{--ink:#ececec;--soft:#b0b0b0;--line:#4a4a4a;--ground:#16181b;--shade:#22252a;--warn:#f0c070;--warnground:#2b2413;--link:#7db8f0}}\
*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem;max-width:60rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground)}\
h1{font-size:1.6rem;line-height:1.25}h2{margin-top:2.2rem;border-bottom:1px solid var(--line);padding-bottom:.2rem;font-size:1.25rem}h3{font-size:1.05rem}\
.lead{font-size:1.1rem}.soft{color:var(--soft)}.missing{color:var(--warn);background:var(--warnground);border:1px solid var(--warn);padding:.5rem .8rem;margin:.8rem 0}\
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.8rem 0;font-size:.92rem}caption{text-align:left;font-weight:600;padding:.3rem 0}\
th,td{padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
table.facts th{font-weight:400;color:var(--soft);white-space:nowrap}table.facts td{overflow-wrap:anywhere}\
pre{background:var(--shade);padding:.7rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}summary{cursor:pointer;color:var(--link)}\
figure{margin:1rem 0;overflow-x:auto}.state{white-space:nowrap}\
@page{size:A4;margin:16mm}\
@media print{:root{--ink:#1b1b1b;--soft:#5a5a5a;--line:#c9c9c9;--ground:#fff;--shade:#f3f4f6;--warn:#8a4b00;--warnground:#fff7e6;--link:#0b5394}\
body{max-width:none;padding:0;font-size:10.5pt}tr,figure,.missing{break-inside:avoid}h2,h3,caption{break-after:avoid}thead{display:table-header-group}\
details::details-content{content-visibility:visible;display:block;height:auto}pre{white-space:pre-wrap}figure{overflow:visible}}";

/// What the page has of a report so far.
#[derive(Default)]
struct Seen<'r> {
    /// Title of the part that is written.
    part: &'r str,
    figures: Vec<&'static str>,
}

impl Report {
    /// The whole file.
    pub fn html(&self) -> String {
        let mut page = String::with_capacity(64 << 10);
        let title = html(&self.title);
        let _ = write!(
            page,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{title}</title>\n\
             <style>{PAGE}\n{STYLE}</style></head>\n<body><main><header><h1>{title}</h1>\n"
        );
        self.head
            .iter()
            .for_each(|line| put(&mut page, "p class=\"lead\"", line));
        put(
            &mut page,
            "p class=\"soft\"",
            &format!("{}. Made {}.", self.items(), self.made),
        );
        page.push_str("</header>\n");
        let mut seen = Seen::default();
        for (part, at) in self.parts.iter().zip(1..) {
            seen.part = &part.title;
            let number = if at <= super::ITEMS {
                format!("{at} ")
            } else {
                String::new()
            };
            let _ = write!(
                page,
                "<section aria-labelledby=\"part-{at}\"><h2 id=\"part-{at}\">{number}{}</h2>\n",
                html(&part.title)
            );
            part.blocks
                .iter()
                .for_each(|block| self.block(&mut page, block, &mut seen));
            if part.title == "Acceptance" {
                self.accepted(&mut page);
            }
            page.push_str("</section>\n");
        }
        page.push_str("</main></body></html>\n");
        page
    }

    fn block(&self, page: &mut String, block: &Block, seen: &mut Seen) {
        match block {
            Block::Run(name) => put(page, "h3", name),
            Block::Text(text) => put(page, "p", text),
            Block::Facts(facts) => {
                let _ = writeln!(
                    page,
                    "<div class=\"wide\"><table class=\"facts\" aria-label=\"{}\"><tbody>",
                    html(seen.part)
                );
                for (name, value) in facts {
                    let _ = writeln!(
                        page,
                        "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                        html(name),
                        html(value)
                    );
                }
                page.push_str("</tbody></table></div>\n");
            }
            Block::Missing(lines) => {
                page.push_str("<div class=\"missing\" role=\"note\">");
                lines.iter().for_each(|line| put(page, "div", line));
                page.push_str("</div>\n");
            }
            Block::Folded(title, text) => {
                let _ = writeln!(
                    page,
                    "<details><summary>{}</summary><pre>{}</pre></details>",
                    html(title),
                    html(text)
                );
            }
            Block::Table(table) => rows(page, table, seen.part),
            Block::Figure(figure) => {
                // Ids are the figure's name: of two runs the second's get a number.
                let again = seen.figures.iter().filter(|name| **name == figure.name).count();
                seen.figures.push(figure.name);
                let svg = figure.svg(SvgKind::Inline);
                let svg = match again {
                    0 => svg,
                    again => ["t", "d"].iter().fold(svg, |svg, end| {
                        svg.replace(
                            &format!("{}-{end}", figure.name),
                            &format!("{}-{again}-{end}", figure.name),
                        )
                    }),
                };
                let _ = writeln!(page, "<figure>{svg}</figure>");
            }
        }
    }

    fn accepted(&self, page: &mut String) {
        page.push_str("<div class=\"wide\"><table><caption>Judged by rows and cards</caption><thead><tr><th scope=\"col\">item</th><th scope=\"col\">state</th><th scope=\"col\">why</th></tr></thead><tbody>\n");
        for item in &self.acceptance {
            let by_hand = item.by_hand.as_ref().map(|by_hand| {
                format!(
                    "<br>by hand: {} <span class=\"soft\">(--confirm {}, {})</span>",
                    html(&by_hand.text),
                    item.key,
                    html(&by_hand.at)
                )
            });
            let state = match (item.state, &by_hand) {
                (State::Met, Some(_)) if item.key == "lawful" => "✓ confirmed".to_owned(),
                (state, _) => format!("{} {}", state.mark(), state.word()),
            };
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{}</th><td class=\"state\">{state}</td><td>{}{}</td></tr>",
                html(item.what),
                html(&item.why),
                by_hand.unwrap_or_default()
            );
        }
        page.push_str("</tbody></table></div>\n");
    }
}

fn put(page: &mut String, tag: &str, text: &str) {
    let name = tag.split(' ').next().unwrap_or(tag);
    let _ = writeln!(page, "<{tag}>{}</{name}>", html(text));
}

/// A table, named by its title, else by the part that it stands in.
fn rows(page: &mut String, table: &Table, part: &str) {
    let class = |is_text: bool| if is_text { "" } else { " class=\"n\"" };
    if table.title.is_empty() {
        let _ = write!(page, "<div class=\"wide\"><table aria-label=\"{}\">", html(part));
    } else {
        page.push_str("<div class=\"wide\"><table>");
        put(page, "caption", &table.title);
    }
    page.push_str("<thead><tr>");
    for column in &table.columns {
        let _ = write!(
            page,
            "<th scope=\"col\"{}>{}</th>",
            class(column.is_text),
            html(&column.head)
        );
    }
    page.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for ((cell, column), at) in row.iter().zip(&table.columns).zip(0..) {
            let text = cell.shown(html);
            let _ = match at {
                0 => write!(page, "<th scope=\"row\">{text}</th>"),
                _ => write!(page, "<td{}>{text}</td>", class(column.is_text)),
            };
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
    table.notes.iter().for_each(|note| put(page, "p class=\"soft\"", note));
}
