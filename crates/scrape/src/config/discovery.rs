//! `static_configs`, `file_sd_configs`, `http_sd_configs`, `dns_sd_configs`.

use std::path::Path;

use super::{
    ConfigError, Discovery, Family, Group, http,
    section::{Section, texts},
    values,
};
use crate::{
    limits,
    relabel::{Labels, is_label_name},
    yaml::{Entry, Node, Value},
};

/// Discoveries of Prometheus that are not here.
const NOT_YET: [&str; 27] = [
    "kubernetes_sd_configs",
    "consul_sd_configs",
    "ec2_sd_configs",
    "ecs_sd_configs",
    "elasticache_sd_configs",
    "rds_sd_configs",
    "msk_sd_configs",
    "aws_sd_configs",
    "azure_sd_configs",
    "gce_sd_configs",
    "docker_sd_configs",
    "dockerswarm_sd_configs",
    "digitalocean_sd_configs",
    "eureka_sd_configs",
    "hetzner_sd_configs",
    "ionos_sd_configs",
    "kuma_sd_configs",
    "lightsail_sd_configs",
    "linode_sd_configs",
    "marathon_sd_configs",
    "nerve_sd_configs",
    "nomad_sd_configs",
    "openstack_sd_configs",
    "ovhcloud_sd_configs",
    "puppetdb_sd_configs",
    "scaleway_sd_configs",
    "stackit_sd_configs",
];

/// Others, less often met.
const NOT_YET_EITHER: [&str; 4] =
    ["serverset_sd_configs", "triton_sd_configs", "uyuni_sd_configs", "vultr_sd_configs"];

/// Reads all discoveries of a job.
pub(super) fn read(
    section: &mut Section<'_>,
    folder: &Path,
    notices: &mut Vec<String>,
) -> Result<Vec<Discovery>, ConfigError> {
    const REASON: &str =
        "not yet; there are static_configs, file_sd_configs, http_sd_configs and dns_sd_configs";
    section.refuse(&NOT_YET, REASON)?;
    section.refuse(&NOT_YET_EITHER, REASON)?;
    let mut discoveries = Vec::new();
    let path = section.path_of("static_configs");
    let groups = section.list("static_configs")?;
    if !groups.is_empty() {
        discoveries.push(Discovery::Static(self::groups(groups, &path)?));
    }
    for one in section.sections("file_sd_configs")? {
        discoveries.push(file(one, folder)?);
    }
    for one in section.sections("http_sd_configs")? {
        discoveries.push(http(one, folder, notices)?);
    }
    for one in section.sections("dns_sd_configs")? {
        discoveries.extend(dns(one)?);
    }
    Ok(discoveries)
}

/// Groups of targets, as they stand in configurations, files and answers alike.
///
/// # Errors
/// Names line and key.
pub(crate) fn groups(nodes: &[Node], path: &str) -> Result<Vec<Group>, ConfigError> {
    let mut count = 0;
    let mut groups = Vec::with_capacity(nodes.len().min(1_024));
    for (position, node) in nodes.iter().enumerate() {
        let path = format!("{path}[{position}]");
        let mut section = Section::of(node, path)?;
        let targets = section.texts("targets")?.unwrap_or_default();
        count += targets.len();
        if count > limits::DISCOVERED_MAX {
            let reason = format!("more than {} targets", limits::DISCOVERED_MAX);
            return Err(section.error("targets", reason));
        }
        if let Some(long) = targets.iter().find(|target| target.len() > limits::LABEL_VALUE_BYTES_MAX) {
            let (bytes, limit) = (long.len(), limits::LABEL_VALUE_BYTES_MAX);
            return Err(section.error("targets", format!("an address has {bytes} bytes (limit {limit})")));
        }
        let mut labels = Labels::new();
        if let Some(given) = section.section("labels")? {
            for entry in given.entries() {
                let (name, value) = label(entry, &given)?;
                labels.insert(name, value);
            }
        }
        section.finish()?;
        groups.push(Group { targets, labels });
    }
    Ok(groups)
}

fn label(entry: &Entry, section: &Section<'_>) -> Result<(String, String), ConfigError> {
    let path = section.path_of(&entry.name);
    let wrong = |reason: String| Err(ConfigError::at(entry.line, &path, reason));
    if !is_label_name(&entry.name) {
        return wrong("is no label name".to_owned());
    }
    match &entry.node.value {
        Value::Text(text) if text.len() > limits::VALUE_BYTES_MAX => {
            wrong(format!("the value has {} bytes (limit {})", text.len(), limits::VALUE_BYTES_MAX))
        }
        Value::Text(text) => Ok((entry.name.clone(), text.clone())),
        Value::Null => Ok((entry.name.clone(), String::new())),
        _ => wrong(format!("is {}, not a text", entry.node.word())),
    }
}

fn file(mut section: Section<'_>, folder: &Path) -> Result<Discovery, ConfigError> {
    let path = section.path_of("files");
    let Some(node) = section.node("files") else {
        return Err(section.error("files", "is needed"));
    };
    let mut patterns = Vec::new();
    for text in texts(node, &path)? {
        let name = text.rsplit('/').next().unwrap_or_default();
        let is_known = [".json", ".yml", ".yaml"].iter().any(|ending| name.ends_with(ending));
        if !is_known {
            return Err(section.error("files", format!("{text:?} ends neither in .json nor .yml nor .yaml")));
        }
        if text.matches('*').count() > 1 || text.matches('*').count() != name.matches('*').count() {
            return Err(section.error("files", format!("{text:?}: one * in the last part is the most")));
        }
        patterns.push(http::within(folder, &text));
    }
    // Changes are seen at each look; what Prometheus calls refresh is its second way of noticing them.
    section.read("refresh_interval", refresh)?;
    section.finish()?;
    Ok(Discovery::File { patterns, refresh: limits::FILE_POLL })
}

fn refresh(text: &str) -> Result<std::time::Duration, String> {
    let period = values::period(text)?;
    if period < limits::REFRESH_MIN { Err(format!("{text:?} is shorter than 1s")) } else { Ok(period) }
}

fn http(
    mut section: Section<'_>,
    folder: &Path,
    notices: &mut Vec<String>,
) -> Result<Discovery, ConfigError> {
    let Some(url) = section.read("url", |text| crate::client::Url::parse(text).map(|_| text.to_owned()))?
    else {
        return Err(section.error("url", "is needed"));
    };
    let refresh = section.read("refresh_interval", refresh)?.unwrap_or(limits::HTTP_REFRESH_DEFAULT);
    let settings = Box::new(http::read(&mut section, folder, notices)?);
    section.finish()?;
    Ok(Discovery::Http { url, refresh, settings })
}

/// One discovery for each name, so that a name that is not found is no other's trouble.
fn dns(mut section: Section<'_>) -> Result<Vec<Discovery>, ConfigError> {
    let Some(names) = section.texts("names")?.filter(|names| !names.is_empty()) else {
        return Err(section.error("names", "is needed"));
    };
    let family = match section.text("type")?.unwrap_or("SRV") {
        "A" => Family::V4,
        "AAAA" => Family::V6,
        kind @ ("SRV" | "MX" | "NS") => {
            let reason = format!(
                "{kind} records are not looked up yet (SRV is also the default); say A or AAAA with a port"
            );
            return Err(section.error("type", reason));
        }
        other => return Err(section.error("type", format!("{other:?} is neither A nor AAAA"))),
    };
    let port = section.read("port", |text| match text.parse::<u16>() {
        Ok(0) | Err(_) => Err(format!("{text:?} is no port")),
        Ok(port) => Ok(port),
    })?;
    let Some(port) = port else { return Err(section.error("port", "is needed for A and AAAA")) };
    let refresh = section.read("refresh_interval", refresh)?.unwrap_or(limits::DNS_REFRESH_DEFAULT);
    section.finish()?;
    Ok(names.into_iter().map(|name| Discovery::Dns { name, family, port, refresh }).collect())
}
