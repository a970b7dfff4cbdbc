//! `push.v1.PusherService/Push`: profiles of several series in one message.
//!
//! Each profile is a slice of the request's bytes, so nothing is copied before the decoder. Good profiles are stored
//! whatever becomes of the others; a bad one answers 400 and is named by its place (D14).

use std::sync::Arc;

use connectrpc::{RequestContext, Response, ServiceRequest, ServiceResult};
use profile::{Altered, Tenant};
use rpc::push::v1::{PushRequest as Message, PushResponse, PusherService};

use crate::{
    ApiError, ApiState, access, limits,
    push::{self, ALTERED_HEADER, Api, NameRule, PushRequest, altered_header},
};

pub(super) struct Pusher {
    pub(super) state: Arc<ApiState>,
}

#[allow(refining_impl_trait, clippy::needless_lifetimes, reason = "the generated trait spells it so")]
impl PusherService for Pusher {
    async fn push<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, Message>,
    ) -> ServiceResult<PushResponse> {
        let state = &self.state;
        let tenant = access::write_tenant(context.headers(), state.options.tenancy)?;
        // The message is held beside the body that it came in, where that was compressed.
        let _claim = state.memory.claim(request.bytes().len())?;
        let (requests, places) = profiles_of(&tenant, request)?;
        let replies = push::push_profiles(state, requests).await;
        let mut altered = Altered::default();
        let mut failed: Option<ApiError> = None;
        let mut failures = 0_usize;
        for (reply, (series, sample)) in replies.into_iter().zip(places) {
            match reply {
                Ok(reply) => altered.merge(&reply.altered),
                Err(error) => {
                    failures += 1;
                    failed = Some(named(failed, error, series, sample));
                }
            }
        }
        if let Some(mut error) = failed {
            if failures > 1 {
                error.message.push_str(&format!(" (and {} more profiles)", failures - 1));
            }
            return Err(error.into());
        }
        let response = Response::new(PushResponse::default());
        Ok(match altered_header(&altered) {
            Some(value) => response.with_header(ALTERED_HEADER, value),
            None => response,
        })
    }
}

/// Where a profile stands in the message: series, sample.
type Place = (usize, usize);

fn profiles_of(
    tenant: &Tenant,
    request: ServiceRequest<'_, Message>,
) -> Result<(Vec<PushRequest>, Vec<Place>), ApiError> {
    let mut requests = Vec::new();
    let mut places = Vec::new();
    for (series_position, series) in request.series.iter().enumerate() {
        for (position, sample) in series.samples.iter().enumerate() {
            if requests.len() == limits::PROFILES_PER_PUSH_MAX {
                let limit = limits::PROFILES_PER_PUSH_MAX;
                return Err(ApiError::invalid("series", format!("more than {limit} profiles in one push")));
            }
            let labels =
                series.labels.iter().map(|pair| (pair.name.to_owned(), pair.value.to_owned())).collect();
            let body = request.bytes().slice_ref(sample.raw_profile);
            let mut push = PushRequest::pprof(tenant.clone(), Api::Push, labels, body);
            push.name = NameRule::Label;
            requests.push(push);
            places.push((series_position, position));
        }
    }
    if requests.is_empty() {
        return Err(ApiError::invalid("series", "no profiles received"));
    }
    Ok((requests, places))
}

/// The error that the client gets: the first one, except that an error of ours goes before an error of the client, so
/// that the client tries again.
fn named(earlier: Option<ApiError>, mut error: ApiError, series: usize, sample: usize) -> ApiError {
    error.field = match error.field.as_str() {
        "" => format!("series[{series}].samples[{sample}]"),
        field => format!("series[{series}].samples[{sample}]: {field}"),
    };
    match earlier {
        Some(earlier) if earlier.status().is_server_error() || !error.status().is_server_error() => earlier,
        _ => error,
    }
}
