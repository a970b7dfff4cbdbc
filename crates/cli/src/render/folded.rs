//! Folded stacks, `root;…;leaf value` per line, as other flame graph tools read them.

use std::io::{self, Write};

use query::FlameTree;

/// Writes one line per node that has an own value.
///
/// # Errors
/// When the sink takes no more.
pub fn folded(tree: &FlameTree, out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<String> = tree.names.iter().map(|name| escaped(name)).collect();
    // Ends of the frames in `line`, so that going back up is cutting it off.
    let mut line = String::new();
    let mut path: Vec<(usize, usize)> = Vec::new();
    for (position, node) in tree.nodes.iter().enumerate().skip(1) {
        while path.last().is_some_and(|&(top, _)| top != node.parent as usize) {
            path.pop();
        }
        line.truncate(path.last().map_or(0, |&(_, end)| end));
        if !line.is_empty() {
            line.push(';');
        }
        line.push_str(&names[node.name as usize]);
        path.push((position, line.len()));
        if node.self_value != 0 {
            writeln!(out, "{line} {}", node.self_value)?;
        }
    }
    Ok(())
}

/// A name without what separates frames and lines.
fn escaped(name: &str) -> String {
    let text = super::one_line(name).replace(';', ":");
    if text.is_empty() { "(no name)".to_owned() } else { text }
}
