//! A flame graph as one HTML file that needs nothing else: data, style and script are inside, and its own policy
//! forbids to load anything. Zoom, search and keyboard are in `assets/flame.js`.

use query::{DiffTree, FlameTree};
use serde_json::json;

use super::{
    colour::{NEUTRAL, PACKAGE_COLOURS},
    colour::{Rgb, diff_colour, package_colour},
    svg::escaped,
};

const SCRIPT: &str = include_str!("assets/flame.js");
const STYLE: &str = include_str!("assets/flame.css");
const BODY: &str = include_str!("assets/flame.body.html");

/// Steps of the colour scale of comparisons handed to the script, from all gone to all new.
const DIFF_STEPS: u32 = 41;

/// A merged tree as a page.
#[must_use]
pub fn html_flame(tree: &FlameTree, title: &str, subtitle: &str) -> String {
    let colours: Vec<i64> = tree
        .names
        .iter()
        .enumerate()
        .map(|(position, name)| {
            let file = tree.files.get(position).map_or("", String::as_str);
            let is_other = tree.other.is_some_and(|other| other as usize == position);
            let colour = if is_other { None } else { package_colour(name, file) };
            colour.and_then(|colour| i64::try_from(colour).ok()).unwrap_or(-1)
        })
        .collect();
    let column = |pick: fn(&query::FlameNode) -> i64| -> Vec<i64> { tree.nodes.iter().map(pick).collect() };
    let data = json!({
        "kind": "flame",
        "unit": tree.unit,
        "names": tree.names,
        "files": tree.files,
        "colours": colours,
        "palette": PACKAGE_COLOURS.map(css).to_vec(),
        "neutral": css(NEUTRAL),
        "other": tree.other,
        "parent": column(|node| i64::from(node.parent)),
        "name": column(|node| i64::from(node.name)),
        "self": column(|node| node.self_value),
        "total": column(|node| node.total),
    });
    page(title, subtitle, &data)
}

/// Two trees over each other as a page.
#[must_use]
pub fn html_diff(tree: &DiffTree, title: &str, subtitle: &str) -> String {
    let scale: Vec<String> = (0..DIFF_STEPS)
        .map(|step| css(diff_colour(f64::from(step) * 2.0 / f64::from(DIFF_STEPS - 1) - 1.0)))
        .collect();
    let column = |pick: fn(&query::DiffNode) -> i64| -> Vec<i64> { tree.nodes.iter().map(pick).collect() };
    let data = json!({
        "kind": "diff",
        "unit": tree.unit,
        "names": tree.names,
        "files": [],
        "palette": scale,
        "neutral": css(NEUTRAL),
        "other": tree.other,
        "parent": column(|node| i64::from(node.parent)),
        "name": column(|node| i64::from(node.name)),
        "leftSelf": column(|node| node.left_self),
        "leftTotal": column(|node| node.left_total),
        "rightSelf": column(|node| node.right_self),
        "rightTotal": column(|node| node.right_total),
    });
    page(title, subtitle, &data)
}

fn css((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn page(title: &str, subtitle: &str, data: &serde_json::Value) -> String {
    // Inside a script element only `<` could end it or open a comment; JSON may write it as an escape.
    let data = data
        .to_string()
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    let body = BODY.replace("{{title}}", &escaped(title)).replace("{{subtitle}}", &escaped(subtitle));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}\
         <script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        title = escaped(title),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use query::FlameNode;

    #[test]
    fn names_cannot_leave_the_data_element() {
        let tree = FlameTree {
            nodes: vec![FlameNode { parent: 0, name: 0, self_value: 1, total: 1 }],
            names: vec!["</script><script>alert(1)</script><!-- {{title}}".into()],
            files: vec![String::new()],
            unit: "count".into(),
            ..FlameTree::default()
        };
        let page = html_flame(&tree, "<b>&\"", "{{title}}");
        assert!(!page.contains("alert(1)</script>"));
        assert!(!page.contains("<!--"));
        assert!(page.contains("<title>&lt;b&gt;&amp;&quot;</title>"));
    }

    #[test]
    fn nothing_is_loaded_from_outside() {
        let page = html_flame(&FlameTree::default(), "t", "s");
        for word in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
