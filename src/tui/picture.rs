//! A frame as an SVG picture: what stands in a README, a paper or an issue is the screen itself.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

use super::theme::{Theme, rgb};

/// Pixels of a cell.
const CELL: (usize, usize) = (9, 18);

/// Pixels around the frame.
const MARGIN: usize = 9;

/// Front and back of a picture.
const DARK: ([u8; 3], [u8; 3]) = ([208; 3], [28; 3]);
const LIGHT: ([u8; 3], [u8; 3]) = ([28; 3], [250; 3]);

/// Draws a frame on the background that its theme is for.
pub fn svg(buffer: &Buffer, theme: &Theme) -> String {
    let ground = if theme.is_light() { LIGHT } else { DARK };
    let area = buffer.area;
    let (width, height) = (usize::from(area.width) * CELL.0, usize::from(area.height) * CELL.1);
    let (all_width, all_height) = (width + 2 * MARGIN, height + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all_width}\" height=\"{all_height}\" \
         viewBox=\"0 0 {all_width} {all_height}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" \
         font-size=\"15\" fill=\"{}\">\n<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n",
        hex(ground.0),
        hex(ground.1)
    );
    for y in area.top()..area.bottom() {
        let cells: Vec<&Cell> = (area.left()..area.right()).map(|x| &buffer[(x, y)]).collect();
        let mut x = 0;
        for run in cells.chunk_by(|a, b| a.style() == b.style()) {
            let place = (MARGIN + x * CELL.0, MARGIN + usize::from(y) * CELL.1);
            put_run(&mut svg, run, place, ground);
            x += run.len();
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Cells of one style: their back, and what stands in them.
fn put_run(svg: &mut String, run: &[&Cell], (x, y): (usize, usize), ground: ([u8; 3], [u8; 3])) {
    let cell = run[0];
    let color = |color: Color, otherwise: [u8; 3]| if color == Color::Reset { otherwise } else { rgb(color) };
    let (mut front, mut back) = (color(cell.fg, ground.0), color(cell.bg, ground.1));
    if cell.modifier.contains(Modifier::REVERSED) {
        std::mem::swap(&mut front, &mut back);
    }
    let width = run.len() * CELL.0;
    if back != ground.1 {
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"{}\"/>",
            CELL.1,
            hex(back)
        );
    }
    let mut text = String::new();
    let mut hidden = 0;
    for cell in run {
        // What stands right of a character of two columns is under it.
        if hidden == 0 {
            text.push_str(cell.symbol());
            hidden = cell.symbol().width().max(1);
        }
        hidden -= 1;
    }
    if text.trim().is_empty() {
        return;
    }
    let mut looks = String::new();
    for (modifier, look) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
    ] {
        if cell.modifier.contains(modifier) {
            looks.push_str(look);
        }
    }
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\" xml:space=\"preserve\" fill=\"{}\"{looks}>{}</text>",
        y + 14,
        hex(front),
        escaped(&text)
    );
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn a_frame_is_drawn_with_its_colours_and_what_stands_in_it_is_escaped() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
        buffer.set_string(0, 0, "<答>", Style::new());
        buffer.set_string(
            5,
            0,
            "ok",
            Style::new().fg(Color::Indexed(39)).add_modifier(Modifier::BOLD),
        );
        let svg = svg(&buffer, &Theme::PLAIN);
        assert!(svg.contains(">&lt;答&gt; </text>"), "{svg}");
        assert!(svg.contains("fill=\"#00afff\" font-weight=\"bold\">ok<"), "{svg}");
        assert_eq!(svg.matches("<text").count(), 2);
    }
}
