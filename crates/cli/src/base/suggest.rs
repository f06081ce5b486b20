//! "Did you mean" suggestions for unknown commands, forms, flag values and settings.

/// Lowest similarity, from 0 to 1, of a suggested word. At 0.7, a typing error in a short word (`lits` for
/// `list`) has a suggestion, and an unrelated word has none.
const SIMILARITY_MIN: f64 = 0.7;
/// Maximum number of suggested words.
const SUGGESTED_MAX: usize = 3;
/// Longest word that is compared, in bytes. The time of a comparison grows with the product of both lengths.
const LENGTH_MAX: usize = 200;

/// Returns up to three known words that are most similar to `word`, the best first. Case does not matter. The
/// result can contain `word` itself; the caller decides that `word` is not usable.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    // A single letter is similar to too many words.
    if word.chars().nth(1).is_none() || word.len() > LENGTH_MAX {
        return Vec::new();
    }
    let mut near: Vec<(f64, &str)> = known
        .into_iter()
        .filter(|known| known.len() <= LENGTH_MAX)
        .map(|known| (similarity(&word, &known.to_lowercase()), known))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .collect();
    // A stable sort: equally similar words keep the order of `known`.
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.dedup_by(|(_, a), (_, b)| a == b);
    near.truncate(SUGGESTED_MAX);
    near.into_iter().map(|(_, known)| known).collect()
}

/// Returns true if `known` begins with the word, or differs from it in one or two letters and less than half.
pub(crate) fn is_typing_error(word: &str, known: &str) -> bool {
    let [word, known] = [word, known].map(|text| text.trim_start_matches('-'));
    let edits = strsim::damerau_levenshtein(word, known);
    known.starts_with(word) || edits <= 2 && 2 * edits < known.chars().count()
}

/// Returns the similarity of two words in lower case, from 0 to 1. A prefix of at least three letters counts as
/// nearly equal. For words that differ in half of their letters or more and have different first letters, or of
/// which one has two letters, the Jaro-Winkler similarity is ignored: it is high for unrelated words.
fn similarity(word: &str, known: &str) -> f64 {
    if known.starts_with(word) && word.chars().count() >= 3 {
        return 0.99;
    }
    let edit_similarity = strsim::normalized_damerau_levenshtein(word, known);
    let begins_alike = word.chars().next() == known.chars().next();
    let is_short = word.chars().count() < 3 && !known.starts_with(word);
    if edit_similarity <= 0.5 && (!begins_alike || is_short) {
        edit_similarity
    } else {
        strsim::jaro_winkler(word, known).max(edit_similarity)
    }
}

/// Returns ``did you mean `list`?`` or ``did you mean `list`, `last` or `lint`?``, or `None` without a similar
/// word. The words are not sanitized here, but when the message is printed.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let quoted: Vec<String> =
        nearest(word, known).into_iter().map(|word| format!("`{word}`")).collect();
    let (last, rest) = quoted.split_last()?;
    Some(match rest {
        [] => format!("did you mean {last}?"),
        rest => format!("did you mean {} or {last}?", rest.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 8] =
        ["list", "view", "export", "submissions", "forms", "penguins", "profile", "color"];

    #[test]
    fn typing_error_has_a_suggestion() {
        for (typed, meant) in [
            ("lits", "list"),
            ("veiw", "view"),
            ("exprt", "export"),
            ("submision", "submissions"),
            ("sub", "submissions"),
            ("from", "forms"),
            ("form", "forms"),
            ("PENGUIN", "penguins"),
            ("pengiuns", "penguins"),
            ("colour", "color"),
            ("subs", "submissions"),
            ("ex", "export"),
        ] {
            assert_eq!(nearest(typed, WORDS).first(), Some(&meant), "{typed}");
        }
    }

    #[test]
    fn unrelated_word_has_no_suggestion() {
        for typed in ["", "x", "banana", "zzz", "me", "ls", &"list".repeat(100)] {
            assert!(nearest(typed, WORDS).is_empty(), "{typed}: {:?}", nearest(typed, WORDS));
        }
        assert!(nearest("stop-after", ["no-pager"]).is_empty(), "they only share letters");
    }

    #[test]
    fn hint_joins_several_words_with_or() {
        assert_eq!(did_you_mean("lits", WORDS).as_deref(), Some("did you mean `list`?"));
        let two = did_you_mean("survey", ["survey-1", "survey-2", "penguins"]);
        assert_eq!(two.as_deref(), Some("did you mean `survey-1` or `survey-2`?"));
        assert_eq!(did_you_mean("banana", WORDS), None);
    }
}
