//! `metastore.v1.TenantService/GetTenant`: since when and until when the caller's tenant has profiles.
//!
//! The tenant is that of the request's header; one named in the message has to be the same, so that nobody learns of
//! others. The service's other methods (listing and deleting tenants) answer `unimplemented`.

use std::sync::Arc;

use buffa::MessageField;
use connectrpc::{RequestContext, Response, ServiceRequest, ServiceResult};
use rpc::metastore::v1::*;

use crate::{ApiError, ApiState, ErrorKind, QueryCost, Tenancy, access};

pub(super) struct TenantStatistics {
    pub(super) state: Arc<ApiState>,
}

#[allow(refining_impl_trait, clippy::needless_lifetimes, reason = "the generated trait spells it so")]
impl TenantService for TenantStatistics {
    async fn get_tenant<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, GetTenantRequest>,
    ) -> ServiceResult<GetTenantResponse> {
        let asked = request.to_owned_message().tenant_id;
        let tenancy = self.state.options.tenancy;
        let own = access::own_tenant(context.headers(), tenancy)?;
        if tenancy == Tenancy::Multi && !asked.is_empty() && asked != own.as_str() {
            let message = "is not the tenant of this request";
            return Err(ApiError::new(ErrorKind::Forbidden, "tenant_id", message).into());
        }
        let job =
            move |engine: &query::Engine, control: &query::Control| Ok(engine.time_bounds(&[own], control)?);
        let bounds = self.state.query("get_tenant", QueryCost::Metadata, context.deadline(), job).await?;
        let stats = TenantStats {
            data_ingested: bounds.is_some(),
            oldest_profile_time: bounds.map_or(0, |(first, _)| first.millis()),
            newest_profile_time: bounds.map_or(0, |(_, last)| last.millis()),
        };
        Response::ok(GetTenantResponse { stats: MessageField::some(stats) })
    }
}
