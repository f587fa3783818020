//! Lines of the screen are handed out by what there is to show.

/// What a pane can do with its lines, its head among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// With fewer it is better not shown.
    pub least: usize,
    /// With these it shows all that it has.
    pub whole: usize,
    /// The lower, the more it matters.
    pub rank: usize,
}

impl Want {
    pub fn new(least: usize, whole: usize, rank: usize) -> Want {
        let whole = whole.max(least);
        Want { least, whole, rank }
    }
}

/// Lines of each pane: first the least of each, then all that it has, in both rounds what matters most first; what nobody
/// needs goes to the last pane.
pub fn share(height: usize, wants: &[Want]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wants.len()).collect();
    order.sort_by_key(|at| wants[*at].rank);
    let (mut given, mut room) = (vec![0; wants.len()], height);
    for at in &order {
        if wants[*at].least <= room {
            given[*at] = wants[*at].least;
            room -= given[*at];
        }
    }
    for at in order.into_iter().filter(|at| wants[*at].least <= height) {
        if given[at] > 0 || wants[at].least == 0 {
            let more = (wants[at].whole - given[at]).min(room);
            given[at] += more;
            room -= more;
        }
    }
    if let Some(last) = given.last_mut() {
        *last += room;
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pane_gets_its_least_then_all_it_has_and_the_last_what_is_left() {
        let wants = [Want::new(5, 16, 1), Want::new(3, 8, 2), Want::new(4, 11, 0)];
        assert_eq!(share(50, &wants), [16, 8, 26]);
        assert_eq!(share(30, &wants), [16, 3, 11]);
        assert_eq!(share(12, &wants), [5, 3, 4]);
        assert_eq!(share(10, &wants), [5, 0, 5]);
        assert_eq!(share(0, &wants), [0, 0, 0]);
        assert_eq!(share(9, &[]), Vec::<usize>::new());
    }

    #[test]
    fn nothing_is_cut_while_another_pane_has_lines_that_it_does_not_need() {
        for height in 0..60 {
            for whole in [(3, 40), (20, 20), (40, 3), (1, 1)] {
                let wants = [Want::new(2, whole.0, 0), Want::new(2, whole.1, 1)];
                let given = share(height, &wants);
                let is_cut = given.iter().zip(&wants).any(|(given, want)| *given < want.whole);
                let is_empty = given.iter().zip(&wants).any(|(given, want)| *given > want.whole);
                assert!(!(is_cut && is_empty && height >= 4), "{height} {whole:?} {given:?}");
                assert_eq!(given.iter().sum::<usize>(), height);
            }
        }
    }
}
