//! Which of the names that are there a person most likely meant by one that is not.
//!
//! Names are compared without case and signs, so that `Shop_Cart` is `shop-cart`; a name within the other is like it, and so is
//! one of few changed letters (Levenshtein's distance).

/// Names that are shown instead of one that is not there.
const NAMES_MAX: usize = 10;

/// Letters of a name that are looked at.
const LETTERS_MAX: usize = 64;

/// Whether one may be meant by the other.
#[must_use]
pub fn is_alike(asked: &str, name: &str) -> bool {
    difference(asked, name).is_some()
}

/// The names that are like the one that was asked for, the likest first.
#[must_use]
pub fn alike<'a>(asked: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let found = names.into_iter().filter_map(|name| difference(asked, name).map(|away| (away, name)));
    let mut found: Vec<(usize, &str)> = found.collect();
    found.sort_by_key(|(away, _)| *away);
    found.into_iter().map(|(_, name)| name).collect()
}

/// `did you mean a, b?`, or where nothing is alike, what there is.
#[must_use]
pub fn instead<'a>(asked: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let meant = alike(asked, names.clone());
    if meant.is_empty() {
        let names: Vec<&str> = names.into_iter().collect();
        return if names.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there are {}", list(&names))
        };
    }
    format!("did you mean {}?", list(&meant))
}

/// The first names, and how many more there are.
#[must_use]
pub fn list(names: &[&str]) -> String {
    let shown = names.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// How far two names are from each other; `None` where neither is meant by the other.
fn difference(asked: &str, name: &str) -> Option<usize> {
    let (asked, name) = (plain(asked), plain(name));
    if asked.is_empty() || name.is_empty() {
        return None;
    }
    let away = strsim::levenshtein(&asked, &name);
    let is_within = name.contains(&asked) || asked.contains(&name);
    let lengths = [asked.chars().count(), name.chars().count()];
    let (shorter, longer) = (lengths[0].min(lengths[1]), lengths[0].max(lengths[1]));
    let is_mistyped = away <= 1 + longer / 4 && away < shorter;
    (is_within || is_mistyped).then_some(away)
}

fn plain(name: &str) -> String {
    let letters = name.chars().filter(|one| one.is_alphanumeric()).flat_map(char::to_lowercase);
    letters.take(LETTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likest_name_comes_first() {
        assert_eq!(alike("service", ["env", "service_name", "pyroscope_spy"]), ["service_name"]);
        assert_eq!(alike("shop_Cart", ["cart", "shop-cart", "api"]), ["shop-cart", "cart"]);
        assert_eq!(alike("chekout", ["checkout", "api"]), ["checkout"]);
        assert_eq!(alike("x", ["api", "y", "", "-"]), [""; 0]);
        assert!(alike("", ["api"]).is_empty());
    }

    #[test]
    fn where_nothing_is_alike_what_there_is_is_named() {
        assert_eq!(instead("nix", ["env", "pod"]), "there are env, pod");
        assert_eq!(instead("prdo", ["dev", "prod"]), "did you mean prod?");
        assert_eq!(instead("nix", []), "there is none");
        let many: Vec<String> = (0..12).map(|number| format!("s{number:02}")).collect();
        assert!(instead("nix", many.iter().map(String::as_str)).ends_with(", s09 and 2 more"));
    }
}
