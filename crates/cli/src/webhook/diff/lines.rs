//! Lines of two texts: those of both, of the old one, and of the new one.

/// Most pairs of lines that are compared; beyond, all of the one stands before all of the other.
const PAIRS_MAX: usize = 4_000_000;

/// A line, with its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Both(String),
    Old(String),
    New(String),
}

impl Line {
    /// Its text.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Both(text) | Self::Old(text) | Self::New(text) => text,
        }
    }
}

/// All lines of both, in order; as many as can be are in both.
pub(crate) fn lines(old: &str, new: &str) -> Vec<Line> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let both = |line: &&str| Line::Both((*line).to_owned());
    let mut all: Vec<Line> = old[..start].iter().map(both).collect();
    between(old_rest, new_rest, &mut all);
    all.extend(old[old.len() - end..].iter().map(both));
    all
}

/// By the longest common part.
fn between(old: &[&str], new: &[&str], all: &mut Vec<Line>) {
    let width = new.len() + 1;
    let is_too_much = old.len().saturating_mul(new.len()) > PAIRS_MAX;
    let mut common = vec![0_u32; if is_too_much { 0 } else { (old.len() + 1) * width }];
    if !is_too_much {
        for o in (0..old.len()).rev() {
            for n in (0..new.len()).rev() {
                common[o * width + n] = if old[o] == new[n] {
                    common[(o + 1) * width + n + 1] + 1
                } else {
                    common[(o + 1) * width + n].max(common[o * width + n + 1])
                };
            }
        }
    }
    let (mut o, mut n) = (0, 0);
    while o < old.len() && n < new.len() && !is_too_much {
        if old[o] == new[n] {
            all.push(Line::Both(old[o].to_owned()));
            (o, n) = (o + 1, n + 1);
        } else if common[(o + 1) * width + n] >= common[o * width + n + 1] {
            all.push(Line::Old(old[o].to_owned()));
            o += 1;
        } else {
            all.push(Line::New(new[n].to_owned()));
            n += 1;
        }
    }
    all.extend(old[o..].iter().map(|line| Line::Old((*line).to_owned())));
    all.extend(new[n..].iter().map(|line| Line::New((*line).to_owned())));
}
