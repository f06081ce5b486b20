//! Reads a document whose text is known to be JSON, each token as it is spelled.

use super::Node;

/// Reads a text that is known to be JSON.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !b" \t\r\n".contains(byte))?;
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Recurses; `Document::read` has checked the depth.
    pub(super) fn node(&mut self) -> Option<Node<'a>> {
        match self.peek()? {
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                while !self.takes(b'}') {
                    self.peek()?;
                    let name = self.text();
                    self.takes(b':');
                    members.push((name, self.node()?));
                    self.takes(b',');
                }
                Some(Node::Object(members))
            }
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.takes(b']') {
                    items.push(self.node()?);
                    self.takes(b',');
                }
                Some(Node::Array(items))
            }
            b'"' => Some(Node::Text(self.text())),
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
                self.at += end;
                Some(Node::Word(&rest[..end]))
            }
        }
    }

    fn text(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = text_end(rest);
        self.at += end;
        &rest[..end]
    }
}

/// Where a string that begins a text ends.
pub(super) fn text_end(text: &str) -> usize {
    let (mut at, bytes) = (1, text.as_bytes());
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
