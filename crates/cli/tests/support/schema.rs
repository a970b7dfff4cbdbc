//! A small JSON-schema checker: the keywords that `docs/openapi.json` uses, and a panic for any other, so that a rule
//! which the file states is never passed over.

use serde_json::Value;

/// Checks a value against a schema of a document; errors name the place.
pub fn check(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    Checker { document, errors: &mut errors }.check(schema, value, "$");
    errors
}

struct Checker<'a> {
    document: &'a Value,
    errors: &'a mut Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value, place: &str) {
        let Some(rules) = schema.as_object() else { panic!("{place}: a schema must be an object: {schema}") };
        for (keyword, rule) in rules {
            match keyword.as_str() {
                "$ref" => {
                    let target = self.target(rule.as_str().unwrap()).clone();
                    self.check(&target, value, place);
                }
                "type" => self.check_type(rule.as_str().unwrap(), value, place),
                "properties" => self.check_properties(rule, value, place),
                "required" => self.check_required(rule, value, place),
                "additionalProperties" => self.check_others(rules.get("properties"), rule, value, place),
                "items" => {
                    for (position, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{place}[{position}]"));
                    }
                }
                "minItems" | "maxItems" => self.check_length(keyword, rule, value, place),
                "enum" if !rule.as_array().unwrap().contains(value) => {
                    self.errors.push(format!("{place}: {value} is none of {rule}"));
                }
                "enum" | "description" | "title" | "example" | "default" => {}
                "minimum" => {
                    if value.as_i64().is_some_and(|number| number < rule.as_i64().unwrap()) {
                        self.errors.push(format!("{place}: {value} is less than {rule}"));
                    }
                }
                "format" => self.check_format(rule.as_str().unwrap(), value, place),
                other => panic!("{place}: the checker does not know the keyword {other:?}"),
            }
        }
    }

    fn target(&self, reference: &str) -> &Value {
        let pointer =
            reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} is not in this document"));
        self.document.pointer(pointer).unwrap_or_else(|| panic!("{reference} is not there"))
    }

    fn check_type(&mut self, name: &str, value: &Value, place: &str) {
        let fits = match name {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            other => panic!("{place}: the checker does not know the type {other:?}"),
        };
        if !fits {
            self.errors.push(format!("{place}: {value} is no {name}"));
        }
    }

    fn check_properties(&mut self, rule: &Value, value: &Value, place: &str) {
        for (name, schema) in rule.as_object().unwrap() {
            if let Some(member) = value.get(name) {
                self.check(schema, member, &format!("{place}.{name}"));
            }
        }
    }

    fn check_required(&mut self, rule: &Value, value: &Value, place: &str) {
        for name in rule.as_array().unwrap() {
            if value.get(name.as_str().unwrap()).is_none() {
                self.errors.push(format!("{place}: {name} is missing"));
            }
        }
    }

    fn check_others(&mut self, properties: Option<&Value>, rule: &Value, value: &Value, place: &str) {
        for (name, member) in value.as_object().into_iter().flatten() {
            if properties.is_some_and(|properties| properties.get(name).is_some()) {
                continue;
            }
            match rule {
                Value::Bool(true) => {}
                Value::Bool(false) => self.errors.push(format!("{place}: {name:?} is not described")),
                schema => self.check(schema, member, &format!("{place}.{name}")),
            }
        }
    }

    fn check_length(&mut self, keyword: &str, rule: &Value, value: &Value, place: &str) {
        let Some(items) = value.as_array() else { return };
        let (length, bound) = (items.len() as u64, rule.as_u64().unwrap());
        let fits = if keyword == "minItems" { length >= bound } else { length <= bound };
        if !fits {
            self.errors.push(format!("{place}: {length} items ({keyword} {bound})"));
        }
    }

    fn check_format(&mut self, name: &str, value: &Value, place: &str) {
        let Some(text) = value.as_str() else { return };
        let fits = match name {
            "date-time" => text.is_empty() || text.parse::<jiff::Timestamp>().is_ok(),
            "uuid" => profile::ProfileId::parse(text).is_ok(),
            "int32" | "int64" | "binary" => true,
            other => panic!("{place}: the checker does not know the format {other:?}"),
        };
        if !fits {
            self.errors.push(format!("{place}: {text:?} is no {name}"));
        }
    }
}
