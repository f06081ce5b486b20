//! Finds labels that are likely the same question under a new name: the old label was seen last before the
//! new one was seen first, and their texts are similar, or the new label took the position in time of the
//! old one with the same type of answers.

use formsvc_contract::payload::AnswerType;

use super::statistics::{LabelStatistics, Seen};

/// Least similarity of two labels of one question, from 0 to 1.
const SIMILAR: f64 = 0.6;
/// Weight in the score of the number of submissions between both labels.
const GAP_WEIGHT: f64 = 0.2;
/// Characters of a label that are compared, because time and memory grow with the square of the length.
const COMPARED_CHARS_MAX: usize = 200;
/// Labels that are compared in pairs at most, because the time grows with the square.
const COMPARED_MAX: usize = 500;

/// A question that likely got a new label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rename<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    /// Likelihood from 0 to 1, for comparisons only.
    score: f64,
}

/// The compared properties of a label.
struct Candidate<'a> {
    label: &'a str,
    words: Vec<String>,
    newest: Seen,
    oldest: Seen,
    answer_type: Option<AnswerType>,
}

/// Returns the likely renames, best first. A label is the old one of at most one pair, and the new one of
/// at most one pair.
pub(super) fn find_renames<'a>(labels: &[&'a LabelStatistics]) -> Vec<Rename<'a>> {
    let candidates: Vec<Candidate<'a>> = labels
        .iter()
        .take(COMPARED_MAX)
        .map(|label| Candidate {
            label: &label.name,
            words: words(&label.name),
            newest: label.newest,
            oldest: label.oldest,
            answer_type: label.most_common_type(),
        })
        .collect();
    let mut pairs: Vec<Rename<'a>> = candidates
        .iter()
        .flat_map(|old| candidates.iter().map(move |new| (old, new)))
        .filter_map(|(old, new)| {
            let score = score(old, new, &candidates)?;
            Some(Rename { old: old.label, new: new.label, score })
        })
        .collect();
    pairs.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut chosen: Vec<Rename<'a>> = Vec::new();
    for pair in pairs {
        if chosen.iter().all(|known| known.old != pair.old && known.new != pair.new) {
            chosen.push(pair);
        }
    }
    chosen
}

/// Returns the likelihood that one label replaced the other; `None` if it is too small.
fn score(old: &Candidate<'_>, new: &Candidate<'_>, all: &[Candidate<'_>]) -> Option<f64> {
    // Submissions are numbered from the newest.
    let (end, start) = (old.newest.number, new.oldest.number);
    let is_before = end > start && old.newest.micros < new.oldest.micros;
    let has_same_type = old.answer_type.is_none()
        || new.answer_type.is_none()
        || old.answer_type == new.answer_type;
    // Similar labels with answers of another type are likely another question.
    if !is_before || !has_same_type {
        return None;
    }
    // If several labels changed at that submission, only their text shows the pairs.
    let is_only_change = end == start + 1
        && old.answer_type.is_some()
        && all.iter().filter(|label| label.newest.number == end).count() == 1
        && all.iter().filter(|label| label.oldest.number == start).count() == 1;
    let similarity = similarity(&old.words, &new.words);
    let similarity = if is_only_change { similarity.max(SIMILAR) } else { similarity };
    if similarity < SIMILAR {
        return None;
    }
    // Among equally similar labels, the last one before the new label is the best.
    #[expect(clippy::cast_precision_loss, reason = "a score needs few digits")]
    let closeness = 1.0 / (end - start) as f64;
    Some((1.0 - GAP_WEIGHT) * similarity + GAP_WEIGHT * closeness)
}

/// Returns the words of the beginning of a label in lower case.
fn words(label: &str) -> Vec<String> {
    let label: String = label.chars().take(COMPARED_CHARS_MAX).collect();
    let label = label.to_lowercase();
    let words = label.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns the similarity of two labels from 0 to 1: by their letters, or because one has all words of the
/// other.
fn similarity(one: &[String], other: &[String]) -> f64 {
    let letters = strsim::normalized_damerau_levenshtein(&one.concat(), &other.concat());
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let has_all = !few.is_empty() && few.iter().all(|word| many.contains(word));
    if has_all { letters.max(0.8) } else { letters }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::tests::statistics;
    use super::find_renames;

    fn renames(rows: &[&str]) -> Vec<(String, String)> {
        let statistics = statistics(rows);
        let labels: Vec<_> = statistics.labels().collect();
        let renames = find_renames(&labels);
        renames.iter().map(|pair| (pair.old.to_owned(), pair.new.to_owned())).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect()
    }

    #[test]
    fn similar_label_after_another_is_a_rename() {
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
    fn only_label_that_changed_is_a_rename() {
        let rows = [r#"{"Ort":"x","n":1}"#, r#"{"Town":"y","n":1}"#];
        assert_eq!(renames(&rows), pairs(&[("Town", "Ort")]));
        // Not with answers of another type, and not after a submission without both labels.
        assert_eq!(renames(&[r#"{"Ort":"x","n":1}"#, r#"{"Town":7,"n":1}"#]), []);
        assert_eq!(renames(&[r#"{"Ort":"x","n":1}"#, r#"{"n":1}"#, r#"{"Town":"x","n":1}"#]), []);
    }

    #[test]
    fn labels_in_one_submission_are_two_questions() {
        let rows = [r#"{"Name 2":"a"}"#, r#"{"Name 2":"a","Name":"b"}"#, r#"{"Name":"b"}"#];
        assert_eq!(renames(&rows), []);
    }

    #[test]
    fn long_labels_are_compared_by_their_beginning() {
        let [old, new] = ["a", "b"].map(|c| format!("{}{}", "x".repeat(200), c.repeat(30_000)));
        let rows = [format!(r#"{{"{new}":"a"}}"#), format!(r#"{{"{old}":"a"}}"#)];
        let words = super::words(&old);
        assert_eq!(words, ["x".repeat(200)]);
        assert_eq!(renames(&[&rows[0], &rows[1]]).len(), 1);
    }

    #[test]
    fn question_can_be_renamed_more_than_once() {
        let rows = [r#"{"Full name":"a"}"#, r#"{"Your name":"a"}"#, r#"{"Name":"a"}"#];
        let mut found = renames(&rows);
        found.sort();
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|(old, new)| old != new));
    }
}
