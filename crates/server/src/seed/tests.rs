use std::collections::{BTreeMap, HashSet};

use sha2::{Digest, Sha256};

use super::*;
use crate::store::item;

fn options(public_id: &str, submissions: u64) -> SeedOptions {
    SeedOptions::new(PublicId::new(public_id).unwrap(), submissions)
}

/// The first half of the SHA-256 of what is stored.
fn digest(generator: Generator) -> u128 {
    let mut hash = Sha256::new();
    for made in generator {
        hash.update(item::compose(&made.id, &made.answers, made.at.unwrap()));
    }
    u128::from_be_bytes(hash.finalize()[..16].try_into().unwrap())
}

#[test]
fn seeded_bytes_are_the_same_in_every_release() {
    assert_eq!(
        digest(options("demo", 10_000).generator()),
        0x4807_2ccd_9000_fa69_844d_92f3_36cf_7a00
    );
}

#[test]
fn another_seed_or_public_id_gives_other_submissions() {
    let ids =
        |options: SeedOptions| options.generator().map(|made| made.id).collect::<HashSet<_>>();
    let first = ids(options("a", 500));
    assert_eq!(first.len(), 500);
    assert!(first.is_disjoint(&ids(options("b", 500))));
    assert!(first.is_disjoint(&ids(SeedOptions { seed: 2, ..options("a", 500) })));
}

#[test]
fn instants_increase_and_some_share_a_millisecond() {
    let instants: Vec<_> =
        options("a", 2_000).generator().map(|made| made.at.unwrap().micros()).collect();
    assert!(instants.is_sorted_by(|a, b| a < b));
    let ties = instants.windows(2).filter(|pair| pair[0] / 1_000 == pair[1] / 1_000).count();
    assert!((150..350).contains(&ties), "{ties}");
}

#[test]
fn submissions_are_of_the_promised_size_and_variety() {
    let made: Vec<_> = options("a", 5_000).generator().collect();
    let bytes: usize = made.iter().map(|made| made.answers.as_json().len()).sum();
    let mut labels = BTreeMap::<String, usize>::new();
    for made in &made {
        for (label, _) in made.answers.fields() {
            *labels.entry(label.into_owned()).or_default() += 1;
        }
    }
    let answers: usize = labels.values().sum();
    assert!((200..300).contains(&(bytes / made.len())), "{}", bytes / made.len());
    assert!((8..=9).contains(&(answers / made.len())), "{}", answers / made.len());
    let missing = labels.values().filter(|&&count| count < made.len()).count();
    assert!(missing >= 4, "{labels:?}");
}

#[test]
fn one_label_is_met_last_by_a_newest_first_reader() {
    let made: Vec<_> = options("a", 2_000).generator().collect();
    let has = |index: usize| made[index].answers.as_json().contains("Legacy code");
    assert!(has(0) && has(1));
    assert!((2..made.len()).all(|index| !has(index)));
}

#[test]
fn every_ten_thousandth_is_large_unless_switched_off() {
    let large = |options: SeedOptions| {
        let long = |made: &crate::store::StagedSubmission| made.answers.as_json().len() > 1 << 20;
        options.generator().filter(long).count()
    };
    assert_eq!(large(options("a", 20_000)), 2);
    assert_eq!(large(SeedOptions { large_answers: false, ..options("a", 20_000) }), 0);
}
