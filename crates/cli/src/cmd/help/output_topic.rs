//! `formsvc help output`

use super::page;

enum Part {
    Heading(&'static str),
    Paragraph(&'static str),
    /// Terms with their meanings.
    Terms(&'static [(&'static str, &'static str)]),
    /// Example commands.
    Examples(&'static [&'static str]),
}

use Part::{Examples, Heading, Paragraph, Terms};

const HELP: &[Part] = &[
    Paragraph(
        "Data goes to standard output, messages go to standard error. The default format of a list is a \
         table on a terminal and tab-separated values in a pipe.",
    ),
    Heading("Formats"),
    Terms(&[
        ("table", "Aligned columns, for reading; the default on a terminal."),
        ("json", "One JSON array, or one object for a single item; indented on a terminal."),
        ("ndjson", "One JSON object per line. Lists of any length are printed as they arrive."),
        (
            "csv",
            "Comma-separated with a header. Text that a spreadsheet would run as a formula gets an \
             apostrophe in front.",
        ),
        (
            "tsv",
            "Tab-separated without a header; the default in a pipe. Tabs, line breaks and backslashes \
             in a value are written as \\t, \\n, \\r and \\\\, so a line is always one item.",
        ),
    ]),
    Paragraph(
        "Values keep the text of the service: long numbers and 1.10 stay unchanged. Only tables \
         truncate values. A list in another format than ndjson has at most 64 MiB of JSON; \
         `formsvc submissions export` writes longer ones.",
    ),
    Heading("Fields"),
    Paragraph(
        "--json FIELDS prints these fields in this order as JSON, or in the format of --output. --json \
         without a value lists the fields and sends no request. The field `data` has the answers of a \
         submission; `data.LABEL` is one answer. A comma in a label is written as `\\,`.",
    ),
    Examples(&[
        "formsvc --demo forms list --json",
        "formsvc --demo forms list --json public_id,title",
        "formsvc --demo submissions list penguins --json id,data.species --output csv",
    ]),
    Heading("jq expressions"),
    Paragraph(
        "--jq EXPR prints the results of a jq expression for the JSON: text unchanged, other values as \
         JSON, one per line or indented on a terminal. A list is one array; `submissions tail` passes \
         each submission. The expression has no access to files, modules or the environment. Numbers \
         keep their text, and calculations with whole numbers are exact. An invalid or failing \
         expression is exit code 2.",
    ),
    Examples(&[
        "formsvc --demo forms list --jq '.[].title'",
        "formsvc --demo forms list --jq 'map(select(.status == \"published\")) | length'",
        "formsvc --demo submissions list anes96 --jq '.[] | [.id, .data.age] | @csv'",
    ]),
    Heading("Templates"),
    Paragraph(
        "--template T renders the JSON with a template in Jinja's language. A list is `items`. A single \
         item, also each one of `submissions tail`, is `item`, and its fields are names as well. An \
         unknown name is an error; a missing member is empty, because not every submission has every \
         answer. Templates cannot include files. A fraction such as 1.10, which a floating-point \
         number cannot keep, is text; `|float` converts it. Additional filters and functions:",
    ),
    Terms(&[
        ("TIME|timeago", "The age of a time: 2 hours ago."),
        ("TEXT|truncate(N)", "At most N cells of the terminal; … replaces the rest."),
        (
            "TEXT|color(NAME)",
            "red, green, yellow, blue, magenta, cyan, bold or dim; status chooses the colour of a \
             status.",
        ),
        ("VALUE|json", "The value as JSON."),
        (
            "tablerow(A, B, …)",
            "A row of a table: aligned on a terminal, separated by tabs elsewhere.",
        ),
        ("tablerender()", "Prints the rows so far, for text below a table."),
    ]),
    Examples(&[
        "formsvc --demo me --template '{{ name }} <{{ email }}>'",
        "formsvc --demo forms list --template '{% for f in items %}{{ tablerow(f.title|truncate(30), \
         f.status|color(\"status\"), f.created_at|timeago) }}{% endfor %}'",
    ]),
    Heading("Tables, times, colours"),
    Paragraph(
        "A table is as wide as the terminal, or COLUMNS. Columns without room are dropped from the \
         right, never the first one; a line on standard error names them. An … replaces the end of \
         truncated text; ids, addresses, numbers and times are never truncated.",
    ),
    Paragraph(
        "On a terminal, tables show the age of a time, such as `2 hours ago`, or with --time-style \
         absolute the local date and time (TZ). A single item shows both; `submissions tail` shows \
         local times. In pipes and files, times are RFC 3339 in UTC.",
    ),
    Paragraph(
        "Colours: --color always or never decides for all streams. Otherwise NO_COLOR disables them, \
         CLICOLOR_FORCE other than 0 enables them, and a terminal has them unless CLICOLOR is 0 or TERM \
         is dumb.",
    ),
    Heading("Pager"),
    Paragraph(
        "Output that is longer than the screen goes through a pager, only on a terminal: the command in \
         FORMSVC_PAGER, the setting `pager`, PAGER, or less. No shell runs the command. An empty \
         variable, `cat`, `false` or --no-pager disables it. LESS is FRX unless it is set.",
    ),
    Examples(&["FORMSVC_PAGER='less -S' formsvc --demo submissions list randhie"]),
    Heading("Sanitized text"),
    Paragraph(
        "Titles and answers can contain any text. On a terminal, control characters, escape sequences, \
         marks for the direction of writing and invisible characters are removed. In pipes and files \
         all text is exact.",
    ),
];

/// Returns the text for a width. Only example commands may be wider.
pub(super) fn text(width: usize) -> String {
    let mut text = page::heading("Output");
    for part in HELP {
        text.push('\n');
        match part {
            Heading(title) => text.push_str(&page::heading(title)),
            Paragraph(paragraph) => text.push_str(&page::wrapped(paragraph, width, 0)),
            Terms(rows) => {
                let rows = rows.iter().map(|(term, meaning)| (*term, (*meaning).to_owned()));
                text.push_str(&page::definitions(rows, width));
            }
            Examples(commands) => {
                for command in *commands {
                    text.extend(["  ", command, "\n"]);
                }
            }
        }
    }
    text
}
