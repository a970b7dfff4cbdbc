//! `everflame explain`: why a service is missing or looks different, and which clients a server has seen.

use std::io::IsTerminal;

use client::{ClientError, Question};
use wire::{ClientItem, ExplainItem, ExplainReply};

use crate::{
    failure::Failure,
    output,
    render::{one_line, write_line},
    source::ServerArguments,
};

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame explain\n  everflame explain --service cart\n  everflame explain --body 12 -o refused.pprof\n  everflame explain --json"
)]
pub struct Arguments {
    #[command(flatten)]
    server: ServerArguments,
    /// Only what is of this service, or of none
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Fetch a body that is kept as an example, by the number that the table gives
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["service", "json"])]
    body: Option<u64>,
    /// Where --body writes it; - is stdout
    #[arg(short, long, value_name = "FILE", requires = "body")]
    output: Option<std::path::PathBuf>,
    /// JSON: the server's answer as it is
    #[arg(long)]
    json: bool,
}

/// Asks and prints.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let client = arguments.server.client()?;
    if let Some(number) = arguments.body {
        if arguments.output.is_none() && std::io::stdout().is_terminal() {
            return Err(Failure::Usage(
                "a body is not for the terminal; name a file by -o, or -o - for stdout".into(),
            ));
        }
        let body = client.explain_body(number).map_err(failed)?.body;
        return output::write_data(arguments.output.as_deref(), |out| out.write_all(&body));
    }
    let mut question = Question::new();
    if let Some(service) = &arguments.service {
        question = question.with("service", service);
    }
    let reply = client.explain(&question).map_err(failed)?;
    output::write_data(None, |out| {
        if arguments.json {
            return write_line(&serde_json::json!(reply), out);
        }
        for line in lines(&reply) {
            writeln!(out, "{}", one_line(&line))?;
        }
        Ok(())
    })
}

fn failed(error: ClientError) -> Failure {
    Failure::Failed(error.to_string())
}

fn lines(reply: &ExplainReply) -> Vec<String> {
    let mut lines = vec![match reply.accepted_last.as_str() {
        "" => format!("no profile was taken in since {}", reply.since),
        last => format!("profiles taken in since {}: {}; the last at {last}", reply.since, reply.accepted),
    }];
    items("refused", &reply.refused, &mut lines);
    items("altered or passed over", &reply.altered, &mut lines);
    if reply.forgotten > 0 {
        lines.push(format!("older entries that are no longer known: {}", reply.forgotten));
    }
    if !reply.clients.is_empty() {
        lines.push(String::new());
        lines.push("clients:".to_owned());
        lines.extend(reply.clients.iter().flat_map(client_lines));
    }
    if reply.clients_forgotten > 0 {
        lines.push(format!("older clients that are no longer known: {}", reply.clients_forgotten));
    }
    lines
}

fn items(heading: &str, items: &[ExplainItem], lines: &mut Vec<String>) {
    lines.push(String::new());
    if items.is_empty() {
        lines.push(format!("{heading}: none"));
        return;
    }
    lines.push(format!("{heading}:"));
    for one in items {
        let ExplainItem { reason, api, count, last, .. } = one;
        let service = or(&one.service, "(no service)");
        let client = or(&one.client, "(client without a name)");
        lines.push(format!("  {last}  {count:>6} ×  {reason}  {service}  by {client} ({api})"));
        lines.push(format!("      {}", one.example));
        if !one.request.is_empty() {
            lines.push(format!("      {}", one.request));
        }
        if let Some(number) = one.body.rsplit('/').next().filter(|number| !number.is_empty()) {
            let bytes = one.body_bytes;
            lines.push(format!(
                "      an example of {bytes} bytes: everflame explain --body {number} -o FILE"
            ));
        }
    }
}

fn client_lines(one: &ClientItem) -> Vec<String> {
    let name = or(&one.name, "(client without a name)");
    let mut first = format!("  {name} {}  {}", one.version, one.speaks.join(", "));
    if !one.accepted_last.is_empty() {
        first.push_str(&format!("  accepted {}, last {}", one.accepted, one.accepted_last));
    }
    if !one.service.is_empty() {
        first.push_str(&format!("  for {}", one.service));
    }
    let mut lines = vec![first];
    if !one.refused_last.is_empty() {
        lines.push(format!(
            "      refused {}, last {}: {}",
            one.refused, one.refused_last, one.refused_example
        ));
    }
    lines
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_known_is_printed() {
        let reply = ExplainReply {
            since: "2026-01-01T00:00:00Z".into(),
            accepted: 7,
            accepted_last: "2026-01-01T00:05:00Z".into(),
            refused: vec![ExplainItem {
                reason: "malformed".into(),
                api: "ingest".into(),
                service: "cart".into(),
                client: "agent/1".into(),
                count: 3,
                last: "2026-01-01T00:04:00Z".into(),
                example: "body: cut short".into(),
                request: "POST /ingest?name=cart".into(),
                body: "/api/v1/ingest/explain/bodies/12".into(),
                body_bytes: 40,
                ..ExplainItem::default()
            }],
            clients: vec![ClientItem {
                name: "agent".into(),
                version: "1".into(),
                speaks: vec!["ingest multipart".into()],
                refused: 3,
                refused_last: "2026-01-01T00:04:00Z".into(),
                refused_example: "body: cut short".into(),
                ..ClientItem::default()
            }],
            ..ExplainReply::default()
        };
        let expected = "\
profiles taken in since 2026-01-01T00:00:00Z: 7; the last at 2026-01-01T00:05:00Z

refused:
  2026-01-01T00:04:00Z       3 ×  malformed  cart  by agent/1 (ingest)
      body: cut short
      POST /ingest?name=cart
      an example of 40 bytes: everflame explain --body 12 -o FILE

altered or passed over: none

clients:
  agent 1  ingest multipart
      refused 3, last 2026-01-01T00:04:00Z: body: cut short";
        assert_eq!(lines(&reply).join("\n"), expected);
        let empty = lines(&ExplainReply { since: "then".into(), ..ExplainReply::default() });
        assert_eq!(empty[0], "no profile was taken in since then");
    }
}
