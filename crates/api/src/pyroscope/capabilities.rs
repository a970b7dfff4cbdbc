//! `version.v1.Version` and `capabilities.v1.FeatureFlagsService`: what clients may count on.
//!
//! A flag is on where what it stands for is served; clients show or hide parts of their pages by it. Both answer every
//! tenant alike and read nothing that is stored, so no tenant has to be named.

use connectrpc::{RequestContext, Response, ServiceRequest, ServiceResult};
use rpc::{
    capabilities::v1::{FeatureFlag, FeatureFlagsService, GetFeatureFlagsRequest, GetFeatureFlagsResponse},
    version::v1::{Version, VersionRequest, VersionResponse},
};

/// Version of the query API that clients of today speak.
const QUERIER_API: u64 = 1;

/// Name of a flag, whether it is on, and what it stands for here. All names that clients know are listed.
const FLAGS: [(&str, bool, &str); 4] = [
    ("v2StorageLayer", true, "heat maps, exemplars and selection by trace and span"),
    ("pyroscopeRuler", true, "recording rules"),
    ("pyroscopeRulerFunctions", true, "recording rules on one function"),
    ("utf8LabelNames", true, "label names of any UTF-8"),
];

pub(super) struct Capabilities;

#[allow(refining_impl_trait, clippy::needless_lifetimes, reason = "the generated trait spells it so")]
impl Version for Capabilities {
    async fn version<'a>(
        &'a self,
        _context: RequestContext,
        _request: ServiceRequest<'_, VersionRequest>,
    ) -> ServiceResult<VersionResponse> {
        Response::ok(VersionResponse { QuerierAPI: QUERIER_API })
    }
}

#[allow(refining_impl_trait, clippy::needless_lifetimes, reason = "the generated trait spells it so")]
impl FeatureFlagsService for Capabilities {
    async fn get_feature_flags<'a>(
        &'a self,
        _context: RequestContext,
        _request: ServiceRequest<'_, GetFeatureFlagsRequest>,
    ) -> ServiceResult<GetFeatureFlagsResponse> {
        let flag = |(name, enabled, description): (&str, bool, &str)| FeatureFlag {
            name: name.into(),
            enabled,
            description: Some(description.into()),
            documentation_url: None,
        };
        Response::ok(GetFeatureFlagsResponse { feature_flags: FLAGS.map(flag).to_vec() })
    }
}
