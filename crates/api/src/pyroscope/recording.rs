//! `settings.v1.RecordingRulesService`: rules that count profiles, as Pyroscope's clients make and read them.
//!
//! Alike: messages, ids of the caller's choosing, generations, provisioned rules that cannot be changed here. Otherwise:
//! a rule's id is its content's digest where none is given, so that the same rule made twice is one rule, and the label
//! `profiles_rule_id` of its series is always that digest; names of metrics need no prefix.

use std::{collections::BTreeMap, sync::Arc};

use buffa::{EnumValue, MessageField};
use connectrpc::{ConnectError, RequestContext, Response, ServiceRequest, ServiceResult};
use profile::Tenant;
use rpc::{settings::v1::*, types::v1::LabelPair};
use rules::{Rule, RuleBook, RuleChange, RuleError, RuleSpec};
use store::Store;

use crate::{ApiError, ApiState, ErrorKind, access};

pub(super) struct RecordingRules {
    pub(super) state: Arc<ApiState>,
}

impl RecordingRules {
    fn book(&self, context: &RequestContext) -> Result<(Arc<RuleBook>, Tenant), ApiError> {
        Ok((self.state.rule_book()?, access::write_tenant(context.headers(), self.state.options.tenancy)?))
    }

    /// Runs a change to its end, also when the caller goes.
    async fn change<T: Send + 'static, F>(
        &self,
        work: impl FnOnce(Arc<Store>) -> F + Send + 'static,
    ) -> Result<T, ConnectError>
    where
        F: Future<Output = Result<T, RuleError>> + Send,
    {
        let store = Arc::clone(&self.state.store);
        let done = tokio::spawn(async move { work(store).await }).await;
        Ok(done.map_err(|error| ApiError::internal(error.to_string()))?.map_err(ApiError::from)?)
    }
}

#[allow(refining_impl_trait, clippy::needless_lifetimes, reason = "the generated trait spells it so")]
impl RecordingRulesService for RecordingRules {
    async fn get_recording_rule<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, GetRecordingRuleRequest>,
    ) -> ServiceResult<GetRecordingRuleResponse> {
        let (book, tenant) = self.book(&context)?;
        let rule = book.get(&tenant, request.id).map_err(ApiError::from)?;
        Response::ok(GetRecordingRuleResponse { rule: MessageField::some(message(&rule)) })
    }

    async fn list_recording_rules<'a>(
        &'a self,
        context: RequestContext,
        _: ServiceRequest<'_, ListRecordingRulesRequest>,
    ) -> ServiceResult<ListRecordingRulesResponse> {
        let (book, tenant) = self.book(&context)?;
        Response::ok(ListRecordingRulesResponse { rules: book.list(&tenant).iter().map(message).collect() })
    }

    async fn upsert_recording_rule<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, UpsertRecordingRuleRequest>,
    ) -> ServiceResult<UpsertRecordingRuleResponse> {
        let (book, tenant) = self.book(&context)?;
        self.state.check_writable()?;
        let change = change_of(request.to_owned_message())?;
        let rule = self.change(async move |store| book.upsert(&store, &tenant, change).await).await?;
        Response::ok(UpsertRecordingRuleResponse { rule: MessageField::some(message(&rule)) })
    }

    async fn delete_recording_rule<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, DeleteRecordingRuleRequest>,
    ) -> ServiceResult<DeleteRecordingRuleResponse> {
        let (book, tenant) = self.book(&context)?;
        self.state.check_writable()?;
        let id = request.id.to_owned();
        self.change(async move |store| book.delete(&store, &tenant, &id).await).await?;
        Response::ok(DeleteRecordingRuleResponse {})
    }
}

fn change_of(request: UpsertRecordingRuleRequest) -> Result<RuleChange, ApiError> {
    if request.generation < 0 {
        return Err(ApiError::invalid("generation", format!("{} is negative", request.generation)));
    }
    let mut labels = BTreeMap::new();
    for LabelPair { name, value } in request.external_labels {
        if labels.insert(name.clone(), value).is_some() {
            return Err(ApiError::invalid("external_labels", format!("{name:?} is given twice")));
        }
    }
    let filter =
        request.stacktrace_filter.into_option().and_then(|filter| filter.function_name.into_option());
    let function = match filter {
        None => None,
        Some(filter) if filter.metric_type != EnumValue::Known(MetricType::TOTAL) => {
            return Err(ApiError::invalid(
                "stacktrace_filter.function_name.metric_type",
                "only TOTAL is counted",
            ));
        }
        Some(filter) => Some(filter.function_name),
    };
    Ok(RuleChange {
        id: (!request.id.is_empty()).then_some(request.id),
        generation: request.generation,
        spec: RuleSpec {
            metric: request.metric_name,
            selectors: request.matchers,
            group_by: request.group_by,
            function,
            labels,
        },
    })
}

fn message(rule: &Rule) -> RecordingRule {
    let spec = rule.spec().clone();
    let filter = spec.function.map(|function_name| StacktraceFilter {
        function_name: MessageField::some(StacktraceFilterFunctionName {
            function_name,
            metric_type: EnumValue::Known(MetricType::TOTAL),
        }),
    });
    RecordingRule {
        id: rule.id.clone(),
        metric_name: spec.metric,
        profile_type: rule.profile_type().to_string(),
        matchers: spec.selectors,
        group_by: spec.group_by,
        external_labels: spec.labels.into_iter().map(|(name, value)| LabelPair { name, value }).collect(),
        generation: rule.generation,
        stacktrace_filter: filter.map_or_else(MessageField::none, MessageField::some),
        provisioned: rule.is_provisioned,
    }
}

impl From<RuleError> for ApiError {
    fn from(error: RuleError) -> Self {
        match error {
            RuleError::Invalid { field, reason } => {
                // What a rule calls its selector the message calls matchers.
                let field = if field == "selector" { "matchers".to_owned() } else { field };
                Self::invalid(field, reason)
            }
            RuleError::NotFound(id) => {
                Self::new(ErrorKind::NotFound, "id", format!("there is no rule {id:?}"))
            }
            RuleError::Changed { .. } => Self::new(ErrorKind::Conflict, "", error.to_string()),
            RuleError::Provisioned(_) => Self::new(ErrorKind::Forbidden, "", error.to_string()),
            RuleError::TooMany { .. } => Self::invalid("", error.to_string()),
            RuleError::Store(error) => {
                tracing::error!(%error, "a rule was not kept");
                Self::unavailable("the rule could not be kept; the server's log says why", 5)
            }
            other => Self::internal(other.to_string()),
        }
    }
}
