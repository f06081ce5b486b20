//! How text looks: attributes and the sixteen colours of the terminal, which every theme keeps readable.

use ratatui_core::style::{Color, Modifier, Style};

use crate::output::Look;

/// Whether there are colours. Attributes there are in any case: without them nobody sees what is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) colors: bool,
}

impl Theme {
    pub(super) fn style(self, look: Look) -> Style {
        let color = |color| if self.colors { Style::new().fg(color) } else { Style::new() };
        match look {
            Look::Plain => Style::new(),
            Look::Heading => Style::new().add_modifier(Modifier::BOLD),
            Look::Good => color(Color::Green),
            Look::Open => color(Color::Yellow),
            Look::Bad => color(Color::Red),
            Look::Past => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// Of what is chosen.
    pub(super) fn chosen() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: [Look; 6] =
        [Look::Plain, Look::Heading, Look::Good, Look::Open, Look::Bad, Look::Past];

    #[test]
    fn colours_are_those_of_lines_and_none_where_none_are_wanted() {
        for look in LOOKS {
            let (with, without) = (Theme { colors: true }, Theme { colors: false });
            assert_eq!(with.style(look).fg.is_some(), look.style().get_fg_color().is_some());
            assert_eq!((with.style(look).bg, without.style(look).fg), (None, None), "{look:?}");
        }
        let named = Theme { colors: true }.style(Look::Bad).fg;
        // One of the sixteen, and no other.
        assert_eq!(named, Some(Color::Red));
    }
}
