//! `formsvc help output`

use super::page;

/// The text for 80 columns. A heading begins with `# `.
const TEXT: &str = "\
# Output

Data goes to standard output, messages go to standard error. By default, a list
is a table on a terminal and tab-separated values in a pipe.

# Formats

  table   Aligned columns. Only tables truncate values.
  json    One array, or one object for a single item.
  ndjson  One object per line, printed as the rows arrive.
  csv     Comma-separated with a header. Text that a spreadsheet would run as a
          formula gets an apostrophe in front.
  tsv     Tab-separated without a header. Tabs, line breaks and backslashes in a
          value are written as \\t, \\n, \\r and \\\\.

A list in another format than ndjson has at most 64 MiB of JSON;
`formsvc submissions export` writes longer ones.

# Fields

--json FIELDS prints these fields as JSON, or in the format of --output. Without
a value it lists the fields. The field `data` has the answers of a submission;
`data.LABEL` is one answer. A comma in a label is written as `\\,`.

  formsvc --demo forms list --json
  formsvc --demo forms list --json public_id,title
  formsvc --demo submissions list penguins --json id,data.species --output csv

# jq expressions

--jq EXPR prints the results of a jq expression: text unchanged, other values as
JSON. A list is one array; `submissions tail` passes each submission. The
expression has no access to files, modules or the environment.

  formsvc --demo forms list --jq '.[].title'
  formsvc --demo forms list --jq 'map(select(.status == \"published\")) | length'
  formsvc --demo submissions list anes96 --jq '.[] | [.id, .data.age] | @csv'

# Templates

--template T renders the JSON with a template in Jinja's language. A list is
`items`. A single item is `item`, and its fields are names as well. An unknown
name is an error; a missing member is empty. Additional filters and functions:

  TIME|timeago        The age of a time: 2 hours ago.
  TEXT|truncate(N)    At most N cells of the terminal.
  TEXT|color(NAME)    red, green, yellow, blue, magenta, cyan, bold, dim, status
  VALUE|json          The value as JSON.
  tablerow(A, B, …)   A row of a table, separated by tabs in a pipe.
  tablerender()       Prints the rows so far, for text below a table.

  formsvc --demo me --template '{{ name }} <{{ email }}>'
  formsvc --demo forms list --template '{% for f in items %}{{ tablerow(f.title, \
   f.created_at|timeago) }}{% endfor %}'

# Terminals

A table has the width of the terminal, or of COLUMNS. Columns without room are
dropped from the right; a line on standard error names them. Times are shown as
an age, or with --time-style absolute as the local time; in pipes and files they
are RFC 3339 in UTC. Characters that control the terminal are removed.

Colours: --color always or never, else NO_COLOR, CLICOLOR_FORCE and CLICOLOR.

Long output goes through the pager in FORMSVC_PAGER, the setting `pager`, PAGER,
or less. `false`, `cat` or --no-pager disables it.

  FORMSVC_PAGER='less -S' formsvc --demo submissions list randhie
";

pub(super) fn text() -> String {
    let format_line = |line: &str| match line.strip_prefix("# ") {
        Some(title) => page::heading(title),
        None => format!("{line}\n"),
    };
    TEXT.lines().map(format_line).collect()
}
