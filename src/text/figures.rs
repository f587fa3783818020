//! Times, shares and rates in as few columns as they need, steady while they grow.

use std::time::Duration;

use super::{duration, thousands};

/// A share as points of a hundred, five columns: ` 27.1`; a dash where nothing is known.
pub fn points(share: Option<f64>) -> String {
    share.map_or_else(|| "    –".to_owned(), |share| format!("{:5.1}", share * 100.0))
}

/// A share with its sign, no padding: `27.1%`.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1}%", share * 100.0))
}

/// An interval as points, nine columns: `20.3-32.2`, ` 20.7-100`.
pub fn span(interval: Option<(f64, f64)>) -> String {
    let text = interval.map_or(String::new(), |(low, high)| {
        let text = format!("{:.1}-{:.1}", low * 100.0, high * 100.0);
        text.replace("100.0", "100")
    });
    format!("{text:>9}")
}

/// An interval in brackets: `[23.9, 30.6]`.
pub fn brackets(interval: Option<(f64, f64)>) -> String {
    interval.map_or(String::new(), |(low, high)| {
        format!("[{:.1}, {:.1}]", low * 100.0, high * 100.0)
    })
}

/// Time left in steps as coarse as the guess is: seconds, five seconds, half minutes, minutes.
pub fn coarse(seconds: f64) -> Duration {
    let step = match seconds {
        s if s < 60.0 => 1.0,
        s if s < 600.0 => 5.0,
        s if s < 3_600.0 => 30.0,
        _ => 60.0,
    };
    Duration::from_secs_f64(((seconds / step).round() * step).clamp(0.0, 1e9))
}

/// Two durations as a range: `38-47s`, `2m 40s-3m 50s`.
pub fn range(low: Duration, high: Duration) -> String {
    let (low_text, high_text) = (duration(low), duration(high));
    if high.as_secs() < 60 {
        return format!("{}-{high_text}", low.as_secs());
    }
    if low_text == high_text {
        high_text
    } else {
        format!("{low_text}-{high_text}")
    }
}

/// A rate with three digits or so: `0.42`, `11.2`, `388`, `1,412`, `18.2k`.
pub fn rate(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => "–".to_owned(),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v if v < 9_999.5 => thousands(v.round() as usize),
        v if v < 999_950.0 => format!("{:.1}k", v / 1e3),
        v => format!("{:.1}M", v / 1e6),
    }
}

/// Values as a line of eight heights, the newest at the right end.
pub fn sparkline(values: &[f64], width: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = &values[values.len().saturating_sub(width)..];
    let most = shown.iter().copied().fold(0.0, f64::max);
    let line: String = shown
        .iter()
        .map(|value| {
            if most > 0.0 {
                HEIGHTS[((value / most * 7.0).round() as usize).min(7)]
            } else {
                HEIGHTS[0]
            }
        })
        .collect();
    format!("{line:>width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_show_their_two_largest_units() {
        let shown = [0, 42, 60, 190, 3_599, 3_720, 97_200].map(|s| duration(Duration::from_secs(s)));
        assert_eq!(shown, ["0s", "42s", "1m 00s", "3m 10s", "59m 59s", "1h 02m", "1d 03h"]);
        let seconds = Duration::from_secs;
        assert_eq!(range(seconds(38), seconds(47)), "38-47s");
        assert_eq!(range(seconds(50), seconds(70)), "50s-1m 10s");
        assert_eq!(range(seconds(160), seconds(230)), "2m 40s-3m 50s");
    }

    #[test]
    fn figures_keep_their_width_while_they_grow() {
        for share in [None, Some(0.0), Some(0.271), Some(1.0)] {
            assert_eq!(points(share).chars().count(), 5);
        }
        assert_eq!(span(Some((0.203, 0.322))), "20.3-32.2");
        assert_eq!(span(Some((0.207, 1.0))), " 20.7-100");
        assert_eq!(span(None).len(), 9);
        assert_eq!((percent(None).as_str(), percent(Some(0.271)).as_str()), ("–", "27.1%"));
        let shown = [0.42, 11.2, 388.0, 1_412.0, 18_200.0, 2.5e6, f64::NAN].map(rate);
        assert_eq!(shown, ["0.42", "11.2", "388", "1,412", "18.2k", "2.5M", "–"]);
    }

    #[test]
    fn a_sparkline_ends_with_the_newest() {
        assert_eq!(sparkline(&[9.0, 0.0, 1.0, 2.0], 3), "▁▅█");
        assert_eq!(sparkline(&[0.0], 3), "  ▁");
    }
}
