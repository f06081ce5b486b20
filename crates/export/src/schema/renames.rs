//! Labels that are likely the same question under another name: the one was last seen before the other
//! came, and they are alike in text, or one took the other's place with the same kind of values.

use super::{Seen, Stats, ValueKind};

/// How alike two labels must be, in 0..1, to be taken for one question.
const ALIKE: f64 = 0.6;
/// What part of the score is how soon the one came after the other.
const NEARNESS: f64 = 0.2;
/// Labels for which every pair is looked at; a form with more has no order to find.
const PAIRED_MAX: usize = 500;

/// A question that likely got another label.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rename<'a> {
    /// The label it had.
    pub old: &'a str,
    /// The label it has.
    pub new: &'a str,
    /// How likely, in 0..1; only good for comparison.
    pub score: f64,
}

/// A label with what is looked at of it.
struct Side<'a> {
    label: &'a str,
    words: Vec<String>,
    newest: Seen,
    oldest: Seen,
    kind: Option<ValueKind>,
}

pub(super) fn of<'a>(stats: impl Iterator<Item = &'a Stats>) -> Vec<Rename<'a>> {
    let side = |stats: &'a Stats| {
        Some(Side {
            label: &stats.name,
            words: words(&stats.name),
            newest: stats.newest?,
            oldest: stats.oldest?,
            kind: stats.kinds.iter().max_by_key(|(_, count)| **count).map(|(kind, _)| *kind),
        })
    };
    let sides: Vec<Side<'a>> = stats.filter_map(side).take(PAIRED_MAX).collect();
    let mut pairs: Vec<Rename<'a>> = sides
        .iter()
        .flat_map(|old| sides.iter().map(move |new| (old, new)))
        .filter_map(|(old, new)| {
            let score = score(old, new, &sides)?;
            Some(Rename { old: old.label, new: new.label, score })
        })
        .collect();
    pairs.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut taken: Vec<Rename<'a>> = Vec::new();
    for pair in pairs {
        if taken.iter().all(|known| known.old != pair.old && known.new != pair.new) {
            taken.push(pair);
        }
    }
    taken
}

/// How likely the one became the other; nothing if it is not worth a word.
fn score(old: &Side<'_>, new: &Side<'_>, all: &[Side<'_>]) -> Option<f64> {
    // Numbers count from the newest submission.
    let is_before = old.newest.number > new.oldest.number && old.newest.micros < new.oldest.micros;
    if !is_before {
        return None;
    }
    let of_a_kind = old.kind.is_none() || new.kind.is_none() || old.kind == new.kind;
    let alike = likeness(&old.words, &new.words);
    let at = (old.newest.number, new.oldest.number);
    // If several labels changed there, only their text tells which became which.
    let took_its_place = at.0 == at.1 + 1
        && of_a_kind
        && old.kind.is_some()
        && all.iter().filter(|side| side.newest.number == at.0).count() == 1
        && all.iter().filter(|side| side.oldest.number == at.1).count() == 1;
    // Alike, but of another kind: a question that was asked anew.
    let counts = if took_its_place { alike.max(ALIKE) } else { alike };
    if counts < ALIKE || !of_a_kind {
        return None;
    }
    // Of several that are as alike, the one that ended last before the new one came.
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
    let near = 1.0 / (at.0 - at.1) as f64;
    Some((1.0 - NEARNESS) * counts + NEARNESS * near)
}

/// The words of a label, in lower case, without what stands between them.
fn words(label: &str) -> Vec<String> {
    let label = label.to_lowercase();
    label
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// How alike two labels are, in 0..1: by their letters, or by one having all the words of the other.
fn likeness(one: &[String], other: &[String]) -> f64 {
    let letters = strsim::normalized_damerau_levenshtein(&one.concat(), &other.concat());
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let has_all = !few.is_empty() && few.iter().all(|word| many.contains(word));
    if has_all { letters.max(0.8) } else { letters }
}

#[cfg(test)]
mod tests {
    use crate::schema::tests::schema;

    fn renames(rows: &[&str]) -> Vec<(String, String)> {
        let schema = schema(rows);
        schema.renames().iter().map(|pair| (pair.old.to_owned(), pair.new.to_owned())).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect()
    }

    #[test]
    fn labels_that_follow_each_other_and_are_alike_are_one_question() {
        let rows = [
            r#"{"Full name":"a","E-mail address":"b","Size":1}"#,
            r#"{"Full name":"a","E-mail address":"b","Size":1}"#,
            r#"{"Name":"a","Email":"b","Size":1}"#,
        ];
        assert_eq!(renames(&rows), pairs(&[("Name", "Full name")]));
        let rows = [r#"{"Telephone":"a","Comments":"x"}"#, r#"{"Telefone":"a","Comment":"x"}"#];
        let mut found = renames(&rows);
        found.sort();
        assert_eq!(found, pairs(&[("Comment", "Comments"), ("Telefone", "Telephone")]));
    }

    #[test]
    fn the_one_label_that_took_the_place_of_another_is_the_same_question() {
        let rows = [r#"{"Ort":"x","n":1}"#, r#"{"Town":"y","n":1}"#];
        assert_eq!(renames(&rows), pairs(&[("Town", "Ort")]));
        // Not with values of another kind, and not after a while without either.
        assert_eq!(renames(&[r#"{"Ort":"x","n":1}"#, r#"{"Town":7,"n":1}"#]), []);
        assert_eq!(renames(&[r#"{"Ort":"x","n":1}"#, r#"{"n":1}"#, r#"{"Town":"x","n":1}"#]), []);
    }

    #[test]
    fn labels_that_were_there_at_once_are_two_questions() {
        let rows = [r#"{"Name 2":"a"}"#, r#"{"Name 2":"a","Name":"b"}"#, r#"{"Name":"b"}"#];
        assert_eq!(renames(&rows), []);
    }

    #[test]
    fn a_question_is_renamed_more_than_once() {
        let rows = [r#"{"Full name":"a"}"#, r#"{"Your name":"a"}"#, r#"{"Name":"a"}"#];
        let mut found = renames(&rows);
        found.sort();
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|(old, new)| old != new));
    }
}
