//! A minimal Markdown parser that finds the links and commands of a page.

/// The parts of a page that tests check.
#[derive(Debug, Default)]
pub struct Markdown {
    /// Line (from 1) and target of every inline link and image outside code.
    pub links: Vec<(usize, String)>,
    /// Line and text of every code span outside fenced blocks.
    pub spans: Vec<(usize, String)>,
    /// Anchors of the headings.
    pub anchors: Vec<String>,
    /// Line number and text of the commands in fenced blocks marked `sh`, without comments and blank lines.
    pub commands: Vec<(usize, String)>,
}

impl Markdown {
    /// Parses a page.
    pub fn parse(text: &str) -> Self {
        let (mut page, mut fence) = (Self::default(), None);
        for (at, line) in text.lines().enumerate() {
            if let Some(info) = line.trim_start().strip_prefix("```") {
                fence = if fence.is_some() { None } else { Some(info.trim().to_owned()) };
            } else if let Some(info) = &fence {
                let command = line.trim();
                if info == "sh" && !command.is_empty() && !command.starts_with('#') {
                    page.commands.push((at + 1, command.to_owned()));
                }
            } else if line.starts_with('#') {
                page.anchors.push(anchor(line.trim_start_matches('#')));
            } else {
                page.links.extend(links(line).map(|target| (at + 1, target.to_owned())));
                let spans = line.split('`').skip(1).step_by(2);
                page.spans.extend(spans.map(|span| (at + 1, span.to_owned())));
            }
        }
        page
    }
}

/// Returns the targets of `[…](target)` in a line, except in code spans.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let outside_code = line.split('`').step_by(2);
    outside_code
        .flat_map(|text| text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()))
}

/// Returns the anchor of a heading as hosting sites derive it: lower case, spaces to hyphens, no
/// punctuation.
pub fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_parts_are_parsed() {
        let page = Markdown::parse(
            "# A page: its `title`\n[a](b.md) and ![c](d.png \"t\") `[no](code)` [`e`](f#g)\n\
             ```sh\n# why\ncargo test\n\n```\n```text\n[x](y)\n```\n",
        );
        assert_eq!(page.anchors, ["a-page-its-title"]);
        let links: Vec<_> =
            page.links.iter().map(|(line, target)| (*line, target.as_str())).collect();
        assert_eq!(links, [(2, "b.md"), (2, "d.png"), (2, "f#g")]);
        let spans: Vec<_> = page.spans.iter().map(|(_, span)| span.as_str()).collect();
        assert_eq!(spans, ["[no](code)", "e"]);
        assert_eq!(page.commands, [(5, "cargo test".to_owned())]);
    }
}
