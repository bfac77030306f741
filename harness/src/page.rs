//! The planner as a web page: one file that needs no server, no network and no other file.
//!
//! The page holds the planner itself, compiled to WebAssembly; its script only collects what is chosen and shows what
//! is answered.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;

const TEMPLATE: &str = include_str!("../../planner/web/page.html");
const STYLE: &str = include_str!("../../planner/web/page.css");
const SCRIPT: &str = include_str!("../../planner/web/page.js");
static MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/planner.wasm"));

/// The page as HTML. It begins with the request in `request_json`, the JSON of a [`tilewright_plan::Request`]; a
/// request that the planner refuses is shown with the refusal, and can be changed there.
pub fn page(request_json: &str) -> String {
    // Inside a script element, `<` could end it. JSON has it only in strings, where it can be written as an escape.
    let request = request_json.replace('<', "\\u003c");
    let parts = [
        ("/*STYLE*/", STYLE),
        ("/*REQUEST*/", &request),
        ("/*MODULE*/", &BASE64.encode(MODULE)),
        ("/*SCRIPT*/", SCRIPT),
    ];
    let mut page = String::with_capacity(parts.iter().map(|(_, part)| part.len()).sum::<usize>() + TEMPLATE.len());
    let mut rest = TEMPLATE;
    // From front to back, so that nothing is looked for in what was put in.
    for (mark, part) in parts {
        let (before, after) = rest.split_once(mark).expect("the template has its marks in this order");
        page.push_str(before);
        page.push_str(part);
        rest = after;
    }
    page + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_alone() {
        let page = page("{\"arch\": \"</script><script>alert(1)</script>\"}");
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(page.contains(&BASE64.encode(MODULE)) && page.contains(STYLE) && page.contains(SCRIPT));
        assert!(page.contains("\\u003c/script>") && !page.contains("<script>alert"));
        for mark in ["/*STYLE*/", "/*SCRIPT*/", "/*REQUEST*/", "/*MODULE*/"] {
            assert!(!page.contains(mark), "{mark}");
        }
        // Nothing is fetched: the only addresses are names of XML vocabularies.
        for address in page
            .match_indices("://")
            .map(|(at, _)| &page[at..page.len().min(at + 30)])
        {
            assert!(address.starts_with("://www.w3.org/"), "{address}");
        }
    }

    #[test]
    fn the_module_is_small() {
        assert!(MODULE.starts_with(b"\0asm"));
        assert!(MODULE.len() < 400 << 10, "{} bytes", MODULE.len());
    }
}
