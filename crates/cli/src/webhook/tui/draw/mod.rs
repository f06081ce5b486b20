//! The screen, as it follows from the model.

mod columns;
mod foot;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::Modifier;
use unicode_width::UnicodeWidthStr;

use super::detail::Tab;
use super::doc::Part;
use super::layout::{Focus, SMALLEST};
use super::look::Theme;
use super::model::{Model, Sheet};
use super::row::ago;
use crate::output::{Look, shortened};
use crate::webhook::mask;

/// Draws everything, and says where the cursor is; nowhere while nobody types.
pub(super) fn draw(model: &Model, buffer: &mut Buffer) -> Option<Position> {
    let Some(places) = model.places() else {
        let text = format!("needs {}x{}", SMALLEST.0, SMALLEST.1);
        put(buffer, buffer.area, 0, &[(Look::Plain, text)], model.facts.theme);
        return None;
    };
    title(model, buffer, places.title);
    if let Some(sheet) = &model.sheet {
        let (top, bottom) = (places.title.bottom(), places.foot.top());
        let area = Rect::new(0, top, model.size.0, bottom - top);
        sheet_in(sheet, buffer, area, model.facts.theme);
    } else {
        if let Some(area) = places.list {
            list(model, buffer, area);
        }
        if let Some(area) = places.text {
            text(model, buffer, area);
        }
    }
    foot::draw(model, buffer, places.foot)
}

impl Model {
    /// The rows at the bottom.
    pub(super) fn foot(&self, width: usize) -> Vec<Vec<Part>> {
        foot::rows(self, width).0
    }
}

/// Puts parts on a row of an area, as far as there is room; says where they end.
fn put(buffer: &mut Buffer, area: Rect, row: u16, parts: &[Part], theme: Theme) -> u16 {
    let (mut x, y) = (area.x, area.y + row);
    if row >= area.height {
        return x;
    }
    for (look, text) in parts {
        let room = area.right().saturating_sub(x);
        (x, _) = buffer.set_stringn(x, y, text, room.into(), theme.style(*look));
    }
    x
}

/// Puts parts at the right end of a row, if they are no wider than the room there is.
fn put_right(buffer: &mut Buffer, area: Rect, from: u16, parts: &[Part], theme: Theme) {
    let width: usize = parts.iter().map(|(_, text)| text.width()).sum();
    let Ok(width) = u16::try_from(width) else { return };
    if let Some(x) = area.right().checked_sub(width).filter(|x| *x > from) {
        put(buffer, Rect::new(x, area.y, width, 1), 0, parts, theme);
    }
}

/// What is shown, and what came.
fn title(model: &Model, buffer: &mut Buffer, area: Rect) {
    let (facts, counts, room) = (&model.facts, model.counts, usize::from(area.width));
    let mut right = Vec::new();
    if !model.typed.is_empty() {
        right.push((Look::Open, shortened(&format!("/{}", model.typed), room / 3)));
    }
    let (place, rows) = (model.list.place(), model.list.rows().len());
    let more = if model.list.has_more { "+" } else { "" };
    right.push((Look::Past, format!("  {place}/{rows}{more}")));
    let mut parts = Vec::new();
    match &facts.address {
        Some(address) => {
            parts.push((Look::Heading, mask::url(address.as_str(), facts.reveal)));
            if let Some(target) = facts.targets.first() {
                let more = facts.targets.len() - 1;
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                parts.push((
                    Look::Past,
                    format!(" → {}{more}", mask::url(target.as_str(), facts.reveal)),
                ));
            }
            parts.push((Look::Plain, format!("  {} came", counts.came)));
            if counts.refused > 0 {
                parts.push((Look::Open, format!(", {} went no further", counts.refused)));
            }
            if let Some(last) = counts.last {
                parts.push((Look::Past, format!(", last {} ago", ago(last, model.now))));
            }
        }
        None => parts.push((Look::Heading, "Deliveries that are kept".to_owned())),
    }
    // What tells least gives way: when the last one came, where they go, what went no further.
    let width = |parts: &[Part]| parts.iter().map(|(_, text)| text.width()).sum::<usize>();
    let room = room.saturating_sub(width(&right));
    for begins in [", last", " → ", ", "] {
        if width(&parts) > room {
            parts.retain(|(_, text)| !text.starts_with(begins));
        }
    }
    if width(&parts) > room && parts.len() > 1 {
        parts.remove(0);
    }
    let end = put(buffer, area, 0, &parts, facts.theme);
    put_right(buffer, area, end, &right, facts.theme);
}

/// What is said where the list has no rows.
fn nothing(model: &Model) -> Part {
    let facts = &model.facts;
    let text = match &facts.address {
        _ if model.reads.failed.is_some() => {
            let why = model.reads.failed.clone().unwrap_or_default();
            return (Look::Bad, format!("The list could not be read: {why}. Ctrl-L tries again."));
        }
        _ if !model.reads.is_known => "…".to_owned(),
        _ if !model.filter.is_empty() => "Nothing like that. Esc takes the filter away.".to_owned(),
        Some(address) => {
            format!("Nothing has come yet to {}", mask::url(address.as_str(), facts.reveal))
        }
        None if facts.narrowed => "Nothing that is kept is as the flags say".to_owned(),
        None => "Nothing is kept: `formsvc webhook listen` keeps what it receives".to_owned(),
    };
    (Look::Past, text)
}

fn list(model: &Model, buffer: &mut Buffer, area: Rect) {
    let (facts, list) = (&model.facts, &model.list);
    let columns = columns::fit(area.width.into(), list);
    let has_focus = model.focus == Focus::List;
    put(buffer, area, 0, &columns::heading(&columns), facts.theme);
    if list.rows().is_empty() {
        let mut doc = super::doc::Doc::default();
        doc.line(&[nothing(model)].each_ref().map(|(look, text)| (*look, &**text)));
        for (row, parts) in (1..).zip(doc.rows(area.width.into())) {
            put(buffer, area, row, &parts, facts.theme);
        }
        return;
    }
    for (row, (is_chosen, shown)) in (1..).zip(list.shown()) {
        let mut parts = columns::cells(&columns, shown, is_chosen, model);
        if is_chosen && has_focus {
            // Colours that are turned around would be bars.
            for (look, _) in &mut parts {
                *look = Look::Plain;
            }
        }
        put(buffer, area, row, &parts, facts.theme);
        if is_chosen && row < area.height {
            let line = Rect::new(area.x, area.y + row, area.width, 1);
            let style = if has_focus {
                Theme::chosen()
            } else {
                ratatui_core::style::Style::new().add_modifier(Modifier::BOLD)
            };
            buffer.set_style(line, style);
        }
    }
}

fn text(model: &Model, buffer: &mut Buffer, area: Rect) {
    let (theme, detail) = (model.facts.theme, &model.detail);
    let rule = "─".repeat(area.width.into());
    put(buffer, area, 0, &[(Look::Past, rule)], theme);
    let mut x = area.x + 1;
    for tab in Tab::ALL {
        let name = format!(" {} ", tab.name());
        let width = u16::try_from(name.width()).unwrap_or(0);
        if x + width > area.right() {
            break;
        }
        let look = if tab == detail.tab { Look::Heading } else { Look::Past };
        let place = Rect::new(x, area.y, width, 1);
        // The rule below it is dim, and what is put there would be too.
        buffer.set_style(place, ratatui_core::style::Style::reset());
        put(buffer, place, 0, &[(look, name)], theme);
        if tab == detail.tab && model.focus == Focus::Text {
            buffer.set_style(place, Theme::chosen());
        }
        x += width + 1;
    }
    if let Some(number) = model.list.chosen().and_then(|row| row.number) {
        put_right(buffer, area, x, &[(Look::Past, format!(" #{number} "))], theme);
    }
    for (row, parts) in (1..).zip(detail.shown()) {
        put(buffer, area, row, parts, theme);
    }
    let (top, rows, height) = detail.place();
    bar(
        buffer,
        Rect { y: area.y + 1, height: area.height - 1, ..area },
        (top, rows, height),
        theme,
    );
}

/// How far down a text is, in the last column.
fn bar(buffer: &mut Buffer, area: Rect, (top, rows, height): (usize, usize, usize), theme: Theme) {
    if rows <= height || area.is_empty() {
        return;
    }
    let track = usize::from(area.height);
    let size = (height * track / rows).clamp(1, track);
    let from = top * (track - size) / (rows - height).max(1);
    for at in from..from + size {
        let y = area.y + u16::try_from(at).unwrap_or(0);
        buffer.set_stringn(area.right() - 1, y, "▐", 1, theme.style(Look::Past));
    }
}

fn sheet_in(sheet: &Sheet, buffer: &mut Buffer, area: Rect, theme: Theme) {
    let rule = "─".repeat(area.width.into());
    put(buffer, area, 0, &[(Look::Past, rule)], theme);
    let title = Rect { x: area.x + 1, width: area.width - 1, height: 1, ..area };
    put(buffer, title, 0, &[(Look::Heading, format!(" {} ", sheet.title))], theme);
    let height = usize::from(area.height.saturating_sub(1));
    for (row, parts) in (1..).zip(sheet.rows.iter().skip(sheet.top).take(height)) {
        put(buffer, area, row, parts, theme);
    }
    let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    bar(buffer, below, (sheet.top, sheet.rows.len(), height), theme);
}
