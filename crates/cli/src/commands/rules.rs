//! `everflame rules check`: whether a file of rules is good, and what its rules would have counted.

use std::path::PathBuf;

use client::{Client, ClientError, Question};
use rules::{FileRule, read_file};

use crate::{
    failure::Failure,
    output,
    render::{one_line, value},
    source::ServerArguments,
};

/// Groups of one rule that are shown.
const GROUPS_SHOWN: usize = 10;

/// Said of a rule that would have counted nothing, whatever its function is.
const NO_PROFILE: &str = "no profile of the last hour has this type and these labels; everflame series --by \
    service_name,__profile_type__ lists what there is";

/// Arguments of `rules`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What to do
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Check a file of rules; with --server, show what each would have counted over the last hour
    Check(CheckArguments),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  everflame rules check rules.toml\n  everflame rules check rules.toml --server http://127.0.0.1:4040"
)]
struct CheckArguments {
    /// The file (docs/rules.md says what is in it)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Server to ask
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Secret of the server's --token-file
    #[arg(long, value_name = "SECRET", env = "EVERFLAME_TOKEN", hide_env_values = true, requires = "server")]
    token: Option<String>,
    /// Whether the server has --multi-tenant: each rule's tenant is asked
    #[arg(long, requires = "server")]
    multi_tenant: bool,
}

/// Checks and prints one rule a paragraph.
///
/// # Errors
/// See [`Failure`]; a wrong rule is a failure, all wrong ones are named.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Action::Check(arguments) = &arguments.action;
    let rules = read_file(&arguments.file).map_err(Failure::Failed)?;
    let mut text = String::new();
    for FileRule { tenant, rule } in &rules {
        let kind = one_line(&rule.profile_type().to_string()).into_owned();
        text.push_str(&format!("{}  {kind}  {}\n", one_line(&rule.spec().metric), rule.key()));
        if let Some(server) = &arguments.server {
            let tenant = arguments.multi_tenant.then(|| tenant.as_str().to_owned());
            let of = ServerArguments { server: server.clone(), token: arguments.token.clone(), tenant };
            for line in counted(&of.client()?, rule).map_err(|error| Failure::Failed(error.to_string()))? {
                text.push_str(&format!("  {}\n", one_line(&line)));
            }
        }
    }
    let good = if rules.len() == 1 { "rule is" } else { "rules are" };
    output::write_text(None, &text)?;
    output::say(&format!("{}: {} {good} good", arguments.file.display(), rules.len()));
    Ok(())
}

/// What the last hour would have given.
fn counted(client: &Client, rule: &rules::Rule) -> Result<Vec<String>, ClientError> {
    let spec = rule.spec();
    let question =
        Question::new().with("q", spec.selectors.join(" ")).with("from", "now-1h").with("agg", "sum");
    let unit = &rule.profile_type().sample_unit;
    let shown = |sum: i64| format!("{} ({sum} {unit})", value(sum, unit));
    if let Some(function) = &spec.function {
        let reply = client.top(&question.with("limit", "0"))?;
        let sum = reply.rows.iter().find(|row| row.name == *function).map_or(0, |row| row.total);
        let mut lines = vec![format!("last hour: {} in {function}, of {}", shown(sum), shown(reply.total))];
        if reply.stats.profiles == 0 {
            lines.push(NO_PROFILE.to_owned());
        } else if reply.rows.iter().all(|row| row.name != *function) {
            lines.push(format!(
                "no stack of the {} profiles has this function; names are those that everflame top shows",
                reply.stats.profiles
            ));
        }
        if !spec.group_by.is_empty() {
            lines.push(format!("all groups by {} together", spec.group_by.join(", ")));
        }
        lines.extend(reply.stats.notices);
        return Ok(lines);
    }
    let question = question.with("step", "1s");
    let question = spec.group_by.iter().fold(question, |question, name| question.with("by", name));
    let reply = client.timeline(&question)?;
    let sum = reply.series.iter().fold(0_i64, |sum, series| sum.saturating_add(series.total));
    let mut lines = vec![format!("last hour: {} in {} groups", shown(sum), reply.series.len())];
    if reply.stats.profiles == 0 {
        lines.push(NO_PROFILE.to_owned());
    }
    if !spec.group_by.is_empty() {
        for series in reply.series.iter().take(GROUPS_SHOWN) {
            let labels: Vec<String> =
                series.labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
            lines.push(format!("{{{}}}  {}", labels.join(","), shown(series.total)));
        }
        if reply.series.len() > GROUPS_SHOWN {
            lines.push(format!("and {} more", reply.series.len() - GROUPS_SHOWN));
        }
    }
    if reply.series.len() > rules::limits::GROUPS_PER_RULE_MAX {
        let limit = rules::limits::GROUPS_PER_RULE_MAX;
        lines.push(format!("only {limit} groups get a counter; the rest is one, {}", rules::REST_LABEL));
    }
    lines.extend(reply.stats.notices);
    Ok(lines)
}
