//! A strict reader of OpenMetrics text: whatever breaks the format fails the test.

use std::collections::{BTreeMap, BTreeSet};

/// What was read.
pub(super) struct Scrape {
    pub(super) text: String,
    /// Kind of each family.
    pub(super) types: BTreeMap<String, String>,
    pub(super) help: BTreeMap<String, String>,
    samples: Vec<Sample>,
}

struct Sample {
    family: String,
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Scrape {
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.strip_suffix("# EOF\n").expect("the end is marked, and nothing follows");
        let mut scrape = Self {
            text: text.to_owned(),
            types: BTreeMap::new(),
            help: BTreeMap::new(),
            samples: Vec::new(),
        };
        let mut family = String::new();
        for line in lines.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').unwrap();
                assert!(is_name(name), "{line}");
                assert!(scrape.help.insert(name.into(), help.into()).is_none(), "twice: {line}");
                name.clone_into(&mut family);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert_eq!(name, family, "its help comes first");
                assert!(scrape.types.insert(name.into(), kind.into()).is_none(), "twice: {line}");
            } else {
                assert!(!line.starts_with('#'), "{line}");
                let sample = sample(line, &family);
                let suffix = sample.name.strip_prefix(&family).expect("a sample of this family");
                let allowed: &[&str] = match &*scrape.types[&family] {
                    "counter" => &["_total"],
                    "gauge" => &[""],
                    "histogram" => &["_bucket", "_sum", "_count"],
                    other => panic!("no kind of ours: {other}"),
                };
                assert!(allowed.contains(&suffix), "{line}");
                scrape.samples.push(sample);
            }
        }
        scrape.check_distinct();
        scrape.check_histograms();
        scrape
    }

    /// The value of the sample with exactly these labels.
    pub(super) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let wanted: BTreeSet<_> = labels.iter().copied().collect();
        let labels = |sample: &Sample| -> bool {
            let found = sample.labels.iter().map(|(name, text)| (name.as_str(), text.as_str()));
            found.collect::<BTreeSet<_>>() == wanted
        };
        let found = self.samples.iter().find(|sample| sample.name == name && labels(sample));
        found.map(|sample| sample.value)
    }

    /// Names of the labels that every sample of a family has, the bounds of buckets left out.
    pub(super) fn label_names(&self, family: &str) -> Vec<String> {
        let names = |sample: &Sample| -> Vec<String> {
            sample.labels.iter().map(|(name, _)| name.clone()).filter(|name| name != "le").collect()
        };
        let of_family = self.samples.iter().filter(|sample| sample.family == family);
        let all: BTreeSet<_> = of_family.map(names).collect();
        assert_eq!(all.len(), 1, "{family}: {all:?}");
        all.into_iter().next().unwrap()
    }

    fn check_distinct(&self) {
        let ids: BTreeSet<_> = self.samples.iter().map(|s| (&s.name, &s.labels)).collect();
        assert_eq!(ids.len(), self.samples.len(), "a sample is there twice");
    }

    /// Buckets rise in bound and in count, and the last, without a bound, has all.
    fn check_histograms(&self) {
        for (family, _) in self.types.iter().filter(|(_, kind)| *kind == "histogram") {
            let mut by_labels: BTreeMap<Vec<_>, Vec<(f64, f64)>> = BTreeMap::new();
            for sample in self.samples.iter().filter(|s| s.name == format!("{family}_bucket")) {
                let (bound, labels): (Vec<_>, Vec<_>) =
                    sample.labels.iter().partition(|(name, _)| name == "le");
                let [(_, bound)] = bound[..] else { panic!("a bucket has one bound") };
                let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
                by_labels.entry(labels).or_default().push((bound, sample.value));
            }
            for (labels, buckets) in by_labels {
                assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{family}");
                let labels: Vec<_> =
                    labels.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                let all = self.value(&format!("{family}_count"), &labels);
                assert_eq!(buckets.last().map(|last| last.0), Some(f64::INFINITY));
                assert_eq!(buckets.last().map(|last| last.1), all, "{family}");
                assert!(self.value(&format!("{family}_sum"), &labels).is_some());
            }
        }
    }
}

fn sample(line: &str, family: &str) -> Sample {
    let at = line.find(['{', ' ']).unwrap();
    let (name, mut rest) = line.split_at(at);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (name, after) = rest.split_once("=\"").unwrap();
            assert!(is_name(name), "{line}");
            // No text of ours needs escaping.
            let (text, after) = after.split_once('"').unwrap();
            assert!(!text.contains('\\'), "{line}");
            labels.push((name.to_owned(), text.to_owned()));
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').unwrap();
    assert!(!value.contains(' '), "neither time nor exemplar: {line}");
    let (family, name) = (family.to_owned(), name.to_owned());
    Sample { family, name, labels, value: value.parse().unwrap() }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}
