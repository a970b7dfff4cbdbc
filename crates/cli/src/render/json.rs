//! Answers as JSON: whole numbers in the profile's own unit, one document, a line break at its end.

use std::io::{self, Write};

use query::{CallersTable, DiffTree, FlameTree, FunctionSide, TopRow, TopTable};
use serde_json::{Value, json};

/// Functions: `{"unit","total","rows":[{"name","self","total"}]}`.
///
/// # Errors
/// When the sink takes no more; so for all below.
pub fn top_json(table: &TopTable, rows_max: usize, out: &mut dyn Write) -> io::Result<()> {
    let shown = if rows_max == 0 { table.rows.len() } else { table.rows.len().min(rows_max) };
    let rows: Vec<Value> = table.rows[..shown].iter().map(function).collect();
    write_line(&json!({ "unit": table.unit, "total": table.total, "rows": rows }), out)
}

/// Callers and callees of a function.
///
/// # Errors
/// See [`top_json`].
pub fn callers_json(table: &CallersTable, out: &mut dyn Write) -> io::Result<()> {
    let side = |rows: &[FunctionSide]| -> Vec<Value> {
        rows.iter().map(|row| json!({ "name": row.name, "value": row.value })).collect()
    };
    write_line(
        &json!({
            "unit": table.unit,
            "total": table.total,
            "function": function(&table.function),
            "callers": side(&table.callers),
            "callees": side(&table.callees),
        }),
        out,
    )
}

/// A tree: names once, nodes in depth-first order with the position of their parent.
///
/// # Errors
/// See [`top_json`].
pub fn flame_json(tree: &FlameTree, out: &mut dyn Write) -> io::Result<()> {
    let nodes: Vec<Value> = tree
        .nodes
        .iter()
        .map(|node| json!({ "parent": node.parent, "name": node.name, "self": node.self_value, "total": node.total }))
        .collect();
    let total = tree.nodes.first().map_or(0, |root| root.total);
    write_line(
        &json!({ "unit": tree.unit, "total": total, "names": tree.names, "other": tree.other, "nodes": nodes }),
        out,
    )
}

/// Two trees over each other.
///
/// # Errors
/// See [`top_json`].
pub fn diff_json(tree: &DiffTree, out: &mut dyn Write) -> io::Result<()> {
    let nodes: Vec<Value> = tree
        .nodes
        .iter()
        .map(|node| {
            json!({
                "parent": node.parent,
                "name": node.name,
                "left_self": node.left_self,
                "left_total": node.left_total,
                "right_self": node.right_self,
                "right_total": node.right_total,
            })
        })
        .collect();
    let root = tree.nodes.first();
    write_line(
        &json!({
            "unit": tree.unit,
            "left_total": root.map_or(0, |root| root.left_total),
            "right_total": root.map_or(0, |root| root.right_total),
            "names": tree.names,
            "other": tree.other,
            "nodes": nodes,
        }),
        out,
    )
}

/// Writes any document and a line break.
///
/// # Errors
/// See [`top_json`].
pub fn write_line(document: &Value, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, document).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

fn function(row: &TopRow) -> Value {
    json!({ "name": row.name, "self": row.self_value, "total": row.total })
}
