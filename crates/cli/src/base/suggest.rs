//! Did you mean: the words nearest to one that is unknown. Commands, forms, flags' values and
//! configuration keys ask here, so that the same slip gets the same help everywhere.

/// How alike two words are, from 0 to 1, before one is offered for the other. At 0.7 one slip in a
/// short word is forgiven (`lits` for `list`), and another word is not taken for a slip.
const ALIKE: f64 = 0.7;
/// How many words are offered at most: more are a list, not a suggestion.
const OFFERED_MAX: usize = 3;
/// Longest word that is compared: the comparison takes time in the product of both lengths.
const LENGTH_MAX: usize = 200;

/// The known words that are most like `word`, best first, at most three. Case does not count. A
/// word equal to `word` is offered as well: whoever asks knows that it did not do.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    // One letter is like too much.
    if word.chars().nth(1).is_none() || word.len() > LENGTH_MAX {
        return Vec::new();
    }
    let mut near: Vec<(f64, &str)> = known
        .into_iter()
        .filter(|known| known.len() <= LENGTH_MAX)
        .map(|known| (likeness(&word, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    // Stable: among equals the order of the table they came from.
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.dedup_by(|(_, a), (_, b)| a == b);
    near.truncate(OFFERED_MAX);
    near.into_iter().map(|(_, known)| known).collect()
}

/// How alike two words in lower case are. A word that another begins with is nearly that word; one that
/// begins otherwise, and of which half would have to be typed again, is another word, whatever letters they
/// share.
fn likeness(word: &str, known: &str) -> f64 {
    if known.starts_with(word) && word.chars().count() >= 3 {
        return 0.99;
    }
    let kept = strsim::normalized_damerau_levenshtein(word, known);
    let begins_alike = word.chars().next() == known.chars().next();
    if kept <= 0.5 && !begins_alike { kept } else { strsim::jaro_winkler(word, known).max(kept) }
}

/// ``did you mean `list`?``, or with more than one ``did you mean `list`, `last` or `lint`?``;
/// nothing when no known word is near. The words are shown as they are: text from strangers is made
/// harmless by whoever prints the message.
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
    fn a_slip_is_forgiven() {
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
    fn another_word_is_not_a_slip() {
        for typed in ["", "x", "banana", "zzz", "me", &"list".repeat(100)] {
            assert!(nearest(typed, WORDS).is_empty(), "{typed}: {:?}", nearest(typed, WORDS));
        }
        assert!(nearest("stop-after", ["no-pager"]).is_empty(), "they only share letters");
    }

    #[test]
    fn a_hint_names_one_or_says_or() {
        assert_eq!(did_you_mean("lits", WORDS).as_deref(), Some("did you mean `list`?"));
        let two = did_you_mean("survey", ["survey-1", "survey-2", "penguins"]);
        assert_eq!(two.as_deref(), Some("did you mean `survey-1` or `survey-2`?"));
        assert_eq!(did_you_mean("banana", WORDS), None);
    }
}
