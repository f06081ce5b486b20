//! `formsvc help output`

use super::page;

enum Part {
    /// A heading.
    About(&'static str),
    /// A paragraph.
    Text(&'static str),
    /// Terms with their meanings.
    Terms(&'static [(&'static str, &'static str)]),
    /// Example commands.
    Try(&'static [&'static str]),
}

use Part::{About, Terms, Text, Try};

const HELP: &[Part] = &[
    Text(
        "Data goes to standard output, everything else to standard error. On a terminal lists are \
         tables; in a pipe they are lines of tab-separated values.",
    ),
    About("Formats"),
    Terms(&[
        ("table", "Aligned columns, for reading; the default on a terminal."),
        (
            "json",
            "One JSON array, or one object where one thing is shown; on a terminal laid out for reading.",
        ),
        ("ndjson", "One JSON object a line."),
        (
            "csv",
            "Comma-separated with a header. Text that a spreadsheet would run as a formula has an \
             apostrophe before it.",
        ),
        (
            "tsv",
            "Tab-separated without a header; the default in a pipe. A tab, a line break or a \
             backslash within a value is written \\t, \\n, \\r or \\\\, so that a line is always one \
             item.",
        ),
    ]),
    Text("Values keep the text that the service sent: long numbers and 1.10 stay as they are."),
    About("Fields"),
    Text(
        "--json FIELDS shows only these fields, in this order, as JSON; with --output as csv, tsv, \
         table or ndjson. --json alone lists the fields and asks the service nothing. The answers \
         of a submission are in `data`; `data.LABEL` is one of them, and `\\,` is a comma within a \
         label.",
    ),
    Try(&[
        "formsvc --demo forms list --json",
        "formsvc --demo forms list --json public_id,title",
        "formsvc --demo submissions list penguins --json id,data.species --output csv",
    ]),
    About("Expressions of jq"),
    Text(
        "--jq EXPR shows what an expression makes of the JSON: text as it is, any other value as \
         JSON, one a line, or laid out on a terminal. A list is one array; `submissions tail`, which has no end, gives each \
         submission by itself. The expression sees the data and nothing else: no \
         files, no modules, no environment. Numbers keep their text, and whole numbers are exact \
         however long; calculating with a fraction gives a floating-point number. An expression \
         that cannot be read, or fails, is exit 2.",
    ),
    Try(&[
        "formsvc --demo forms list --jq '.[].title'",
        "formsvc --demo forms list --jq 'map(select(.status == \"published\")) | length'",
        "formsvc --demo submissions list anes96 --jq '.[] | [.id, .data.age] | @csv'",
    ]),
    About("Templates"),
    Text(
        "--template T shows what a template, in the syntax of Jinja, makes of the JSON. A list is \
         `items`. Where one thing is shown, or one after the other as `submissions tail` does, it is \
         `item`, and each of its fields has its own name as well. A name that is not there is an error; a member that is not there is empty, since \
         not every submission has every answer. Nothing can be included. A fraction that a \
         floating-point number would not keep as it was sent, such as 1.10, is text, and `|float` \
         makes a number of it. Besides the filters of the language there are:",
    ),
    Terms(&[
        ("TIME|timeago", "How long ago: 2 hours ago."),
        ("TEXT|truncate(N)", "At most N cells of the terminal, with … for the rest."),
        (
            "TEXT|color(NAME)",
            "red, green, yellow, blue, magenta, cyan, bold, dim; or status, which knows the words \
             of a status.",
        ),
        ("TEXT|hyperlink(URL)", "A link, on a terminal with colours."),
        ("VALUE|json", "As JSON."),
        (
            "tablerow(A, B, …)",
            "A row of a table. On a terminal its columns are aligned, elsewhere tabs separate them.",
        ),
        ("tablerender()", "The rows so far, before more text; else they come last."),
    ]),
    Try(&[
        "formsvc --demo me --template '{{ name }} <{{ email }}>'",
        "formsvc --demo forms list --template '{% for f in items %}{{ tablerow(f.title|truncate(30), \
         f.status|color(\"status\"), f.created_at|timeago) }}{% endfor %}'",
    ]),
    About("Tables, times, colours"),
    Text(
        "A table is as wide as the terminal, or COLUMNS. Columns on the right are left out where text \
         on the left would be cut too short to be read; how many is said on standard error. What is \
         cut ends with …; ids, addresses, numbers and times are shown whole or not at all.",
    ),
    Text(
        "On a terminal, tables tell times as `2 hours ago`, or with --time-style absolute by date and clock \
         here, as TZ says; where one thing is shown, both ways; and `submissions tail` by the clock, \
         with the date where a day begins. In pipes and files a time is always RFC 3339, in UTC.",
    ),
    Text(
        "Colours are decided for each stream by itself. --color always or never decides; then \
         NO_COLOR, set to anything, means none; CLICOLOR_FORCE, other than 0, means always; and \
         else a terminal gets them unless CLICOLOR is 0 or TERM is dumb.",
    ),
    About("Pager"),
    Text(
        "Output that is longer than the screen goes through a pager, on a terminal only: the \
         command in FORMSVC_PAGER, else `pager` of the configuration, else PAGER, else less. It is \
         split into words as a shell would, but no shell runs. An empty variable, `cat` or `false` \
         means none, as --no-pager does. LESS is FRX unless it is set.",
    ),
    Try(&["FORMSVC_PAGER='less -S' formsvc --demo submissions list randhie"]),
    About("Text from strangers"),
    Text(
        "Titles and answers are written by others. On a terminal they lose what it would act on: \
         control characters, escape sequences, marks that turn the direction of writing, and \
         characters without width. In pipes and files all text is exact.",
    ),
];

/// Returns the text for a width. Only example commands may be wider.
pub(super) fn text(width: usize) -> String {
    let mut text = page::heading("Output");
    for part in HELP {
        text.push('\n');
        match part {
            About(title) => text.push_str(&page::heading(title)),
            Text(paragraph) => text.push_str(&page::wrapped(paragraph, width, 0)),
            Terms(rows) => {
                let rows = rows.iter().map(|(term, meaning)| (*term, (*meaning).to_owned()));
                text.push_str(&page::definitions(rows, width));
            }
            Try(commands) => {
                for command in *commands {
                    text.extend(["  ", command, "\n"]);
                }
            }
        }
    }
    text
}
