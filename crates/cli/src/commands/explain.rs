//! `everflame explain`: why a service is missing or looks different, and which clients a server has seen.

use std::io::IsTerminal;

use client::{ClientError, Question};
use profile::Timestamp;
use wire::{ClientItem, ExplainItem, ExplainReply, ServiceItem};

use crate::{
    alike,
    failure::Failure,
    output,
    render::{one_line, write_line},
    source::{FROM_ALWAYS, ServerArguments, TO_ALWAYS},
    time::{self, brief},
};

use super::count;

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame explain\n  everflame explain --service cart\n  everflame explain --body 12 -o refused.pprof\n  everflame explain --json"
)]
pub struct Arguments {
    /// What is kept of this service; only what is of it, or of none
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Fetch a body that is kept as an example, by the number that the table gives
    #[arg(long, value_name = "NUMBER", value_parser = count::<u64>, allow_negative_numbers = true, conflicts_with_all = ["service", "json"])]
    body: Option<u64>,
    /// Where --body writes it; - is stdout
    #[arg(short, long, value_name = "FILE", requires = "body")]
    output: Option<std::path::PathBuf>,
    /// JSON: the server's answer as it is
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArguments,
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
    let kept = match &arguments.service {
        Some(asked) if !arguments.json => {
            let always = Question::new().with("from", FROM_ALWAYS).with("to", TO_ALWAYS);
            let services = client.services(&always).map_err(failed)?.services;
            kept_lines(asked, &services, Timestamp::now())
        }
        _ => Vec::new(),
    };
    output::write_data(None, |out| {
        if arguments.json {
            return write_line(&serde_json::json!(reply), out);
        }
        for line in kept.iter().chain(&lines(&reply)) {
            writeln!(out, "{}", one_line(line))?;
        }
        Ok(())
    })
}

fn failed(error: ClientError) -> Failure {
    Failure::Failed(error.to_string())
}

/// What is kept of a service, or which services there are instead, those with a name like it first.
fn kept_lines(asked: &str, services: &[ServiceItem], now: Timestamp) -> Vec<String> {
    if let Some(ServiceItem { profiles, types, last, .. }) = services.iter().find(|one| one.name == asked) {
        let mut lines = vec![format!(
            "service {asked}: profiles kept: {profiles}, of profile types: {}; the latest is of {}",
            types.len(),
            brief(last)
        )];
        let age = time::instant(last, now).map_or(0, |last| now.0.saturating_sub(last.0));
        if age > LAST_HOUR_NANOS {
            let long = time::length(age);
            lines.push(format!("  that is {long} ago: what asks for the last hour, as the web page first does, shows nothing of it"));
        }
        lines.push(String::new());
        return lines;
    }
    let mut lines = vec![format!("service {asked}: nothing is kept under this name")];
    if !services.is_empty() {
        let mut names: Vec<&str> = services.iter().map(|one| one.name.as_str()).collect();
        names.sort_by_key(|name| !alike::is_alike(asked, name));
        lines.push(format!("  services that are there: {}", alike::list(&names)));
    }
    lines.push(String::new());
    lines
}

/// What a question without a range asks for.
const LAST_HOUR_NANOS: i64 = 3_600_000_000_000;

fn lines(reply: &ExplainReply) -> Vec<String> {
    let since = brief(&reply.since);
    let mut lines = vec![match reply.accepted_last.as_str() {
        "" => format!("no profile was taken in since {since}"),
        last => format!("profiles taken in since {since}: {}; the last at {}", reply.accepted, brief(last)),
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
        let last = brief(last);
        // What the server fetches itself has no client.
        let from = match (api.as_str(), one.client.as_str()) {
            ("scrape", "") => "scraped".to_owned(),
            (api, client) => format!("by {} ({api})", or(client, "(client without a name)")),
        };
        lines.push(format!("  {last}  {count:>6} ×  {reason}  {service}  {from}"));
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
        first.push_str(&format!("  accepted {}, last {}", one.accepted, brief(&one.accepted_last)));
    }
    if !one.service.is_empty() {
        first.push_str(&format!("  for {}", one.service));
    }
    let mut lines = vec![first];
    if !one.refused_last.is_empty() {
        lines.push(format!(
            "      refused {}, last {}: {}",
            one.refused,
            brief(&one.refused_last),
            one.refused_example
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
        let scraped = ExplainItem { api: "scrape".into(), service: "cart".into(), ..ExplainItem::default() };
        let told = lines(&ExplainReply { altered: vec![scraped], ..ExplainReply::default() }).join("\n");
        assert!(told.contains("cart  scraped") && !told.contains("client without a name"), "{told}");
    }

    #[test]
    fn a_service_is_found_or_those_that_are_like_it_are_named() {
        let service = |name: &str| ServiceItem {
            name: name.into(),
            types: vec!["t".into(), "u".into()],
            profiles: 3,
            last: "2026-01-01T00:00:00.5Z".into(),
        };
        let services = [service("api"), service("cart"), service("shop-cart")];
        let now = time::instant("2026-01-01T03:30:00Z", Timestamp(0)).unwrap();
        let old = kept_lines("cart", &services, now).join("\n");
        let expected = "service cart: profiles kept: 3, of profile types: 2; the latest is of 2026-01-01T00:00:00Z\n  that is 3 h 29 min ago:";
        assert!(old.starts_with(expected), "{old}");
        let fresh = kept_lines("cart", &services, time::instant("2026-01-01T00:30:00Z", now).unwrap());
        assert_eq!(fresh.len(), 2, "{fresh:?}");
        let missing = kept_lines("shop_Cart", &services, now).join("\n");
        let expected = "service shop_Cart: nothing is kept under this name\n  services that are there: cart, shop-cart, api\n";
        assert_eq!(missing, expected);
        let many: Vec<ServiceItem> = (0..12).map(|number| service(&format!("s{number:02}"))).collect();
        assert!(kept_lines("x", &many, now)[1].ends_with("s09 and 2 more"));
        assert_eq!(kept_lines("x", &[], now).len(), 2);
    }
}
