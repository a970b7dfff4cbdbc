//! `adhocprofiles.v1.AdHocProfileService`: files that somebody uploads to look at, apart from all that is pushed.
//!
//! An upload is decoded once before it is kept, so that what is kept can be shown; each Get decodes it again. Nothing of
//! it is in any query. The file itself says what it is (`file`); which uploads there are, their ids, limits and ends is
//! in `shelf`. A profile type that the file does not have is an error that lists those it has.

mod file;
mod flame_json;
mod shelf;

pub(crate) use flame_json::to_pprof as flame_json_to_pprof;

use std::sync::Arc;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use connectrpc::{RequestContext, Response, ServiceRequest, ServiceResult};
use profile::Tenant;
use query::{Control, NameMode, NodeLimit};
use rpc::adhocprofiles::v1::*;

use super::{
    document::FlameDocument,
    flamebearer::{DoubleFlamebearer, Flamebearer},
    select::nodes_max,
};
use crate::{ApiError, ApiState, ErrorKind, QueryCost, access, limits};
use file::OpenFile;
use shelf::{Shelf, Upload};

/// Base64 with or without padding; clients differ.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What tells the files of one engine apart.
const SIDES: [&str; 2] = ["left", "right"];

pub(super) struct AdHoc {
    state: Arc<ApiState>,
    shelf: Shelf,
}

/// A flame graph of an upload as it is answered.
struct Shown {
    profile_type: String,
    profile_types: Vec<String>,
    document: String,
}

#[allow(refining_impl_trait, clippy::needless_lifetimes, reason = "the generated trait spells it so")]
impl AdHocProfileService for AdHoc {
    async fn upload<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, AdHocProfilesUploadRequest>,
    ) -> ServiceResult<AdHocProfilesGetResponse> {
        let request = request.to_owned_message();
        let tenant = self.tenant(&context)?;
        let nodes_max = nodes_max(request.max_nodes)?;
        self.state.check_writable()?;
        let body = Arc::new(decoded(&request.profile)?);
        let shown = self.show(&context, "adhoc_upload", Arc::clone(&body), None, nodes_max).await?;
        let kept = self.shelf.put(&self.state, &tenant, &request.name, &body).await?;
        Response::ok(response(kept, shown))
    }

    async fn get<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, AdHocProfilesGetRequest>,
    ) -> ServiceResult<AdHocProfilesGetResponse> {
        let request = request.to_owned_message();
        let nodes_max = nodes_max(request.max_nodes)?;
        let (kept, body) = self.shelf.take(&self.state, &self.tenant(&context)?, "id", &request.id).await?;
        let shown = self.show(&context, "adhoc_get", Arc::new(body), request.profile_type, nodes_max).await?;
        Response::ok(response(kept, shown))
    }

    async fn list<'a>(
        &'a self,
        context: RequestContext,
        _request: ServiceRequest<'_, AdHocProfilesListRequest>,
    ) -> ServiceResult<AdHocProfilesListResponse> {
        let uploads = self.shelf.list(&self.state, &self.tenant(&context)?).await?;
        let metadata = |upload: Upload| AdHocProfilesProfileMetadata {
            uploaded_at: upload.uploaded_at(),
            name: upload.name().to_owned(),
            id: upload.into_id(),
        };
        Response::ok(AdHocProfilesListResponse { profiles: uploads.into_iter().map(metadata).collect() })
    }

    async fn diff<'a>(
        &'a self,
        context: RequestContext,
        request: ServiceRequest<'_, AdHocProfilesDiffRequest>,
    ) -> ServiceResult<AdHocProfilesDiffResponse> {
        let request = request.to_owned_message();
        let nodes_max = nodes_max(request.max_nodes)?;
        let tenant = self.tenant(&context)?;
        let (_, left) = self.shelf.take(&self.state, &tenant, "left_id", &request.left_id).await?;
        let (_, right) = self.shelf.take(&self.state, &tenant, "right_id", &request.right_id).await?;
        let shown = self.compare(&context, [left, right], request.profile_type, nodes_max).await?;
        Response::ok(AdHocProfilesDiffResponse {
            profile_types: shown.profile_types,
            flamebearer_profile: shown.document,
        })
    }
}

impl AdHoc {
    pub(super) fn new(state: &Arc<ApiState>) -> Self {
        Self { state: Arc::clone(state), shelf: Shelf::default() }
    }

    fn tenant(&self, context: &RequestContext) -> Result<Tenant, ApiError> {
        access::own_tenant(context.headers(), self.state.options.tenancy)
    }

    /// Decodes a file and draws one of its types; the first where none is named.
    async fn show(
        &self,
        context: &RequestContext,
        call: &'static str,
        body: Arc<Vec<u8>>,
        profile_type: Option<String>,
        nodes_max: usize,
    ) -> Result<Shown, ApiError> {
        let state = Arc::clone(&self.state);
        let job = move |_: &query::Engine, control: &Control| {
            let file = OpenFile::read(&state, &body, SIDES[0])?;
            let position = file.position(profile_type.as_deref().unwrap_or_default())?;
            let limit = NodeLimit::at_least(nodes_max);
            let engine = OpenFile::engine(&[&file]);
            let tree = engine.flame(&file.selection(position), NameMode::Display, limit, control)?;
            let shown = &file.types[position];
            let document = FlameDocument::single(
                Flamebearer::new(tree.data),
                shown.sample_type.clone(),
                shown.sample_unit.clone(),
            );
            Ok(Shown {
                profile_type: shown.sample_type.clone(),
                profile_types: file.types.iter().map(|one| one.sample_type.clone()).collect(),
                document: document.to_json()?,
            })
        };
        self.state.query(call, QueryCost::Merge, context.deadline(), job).await
    }

    /// Lays one type of two files over each other; the first that both have where none is named.
    async fn compare(
        &self,
        context: &RequestContext,
        bodies: [Vec<u8>; 2],
        profile_type: Option<String>,
        nodes_max: usize,
    ) -> Result<Shown, ApiError> {
        let state = Arc::clone(&self.state);
        let job = move |_: &query::Engine, control: &Control| {
            let left = OpenFile::read(&state, &bodies[0], SIDES[0])?;
            let right = OpenFile::read(&state, &bodies[1], SIDES[1])?;
            let shared = left.types.iter().filter(|found| right.types.contains(found));
            let profile_types: Vec<String> = shared.map(|found| found.sample_type.clone()).collect();
            let asked = profile_type.filter(|asked| !asked.is_empty());
            let profile_type = match asked.or_else(|| profile_types.first().cloned()) {
                Some(found) if profile_types.contains(&found) => found,
                Some(asked) => {
                    let asked: String = asked.chars().take(64).collect();
                    let message =
                        format!("{asked:?} is not in both files; both have {}", profile_types.join(", "));
                    return Err(ApiError::invalid("profile_type", message));
                }
                None => return Err(ApiError::invalid("profile_type", "the files have none in common")),
            };
            let positions = [left.position(&profile_type)?, right.position(&profile_type)?];
            let shown = left.types[positions[0]].clone();
            let selections = [left.selection(positions[0]), right.selection(positions[1])];
            let engine = OpenFile::engine(&[&left, &right]);
            let limit = NodeLimit::at_least_with_root(nodes_max);
            let tree = engine.diff(&selections[0], &selections[1], NameMode::Display, limit, control)?;
            let flame = DoubleFlamebearer::new(tree.data);
            let document = FlameDocument::double(flame, shown.sample_type, shown.sample_unit);
            Ok(Shown { profile_type, profile_types, document: document.to_json()? })
        };
        self.state.query("adhoc_diff", QueryCost::Merge, context.deadline(), job).await
    }
}

fn response(kept: Upload, shown: Shown) -> AdHocProfilesGetResponse {
    AdHocProfilesGetResponse {
        uploaded_at: kept.uploaded_at(),
        name: kept.name().to_owned(),
        id: kept.into_id(),
        profile_type: shown.profile_type,
        profile_types: shown.profile_types,
        flamebearer_profile: shown.document,
    }
}

/// The bytes of an upload.
fn decoded(base64: &str) -> Result<Vec<u8>, ApiError> {
    if base64.is_empty() {
        return Err(ApiError::invalid("profile", "is required: a file in base64"));
    }
    let too_large = |bytes: usize| {
        let limit = limits::AD_HOC_BYTES_MAX;
        ApiError::new(ErrorKind::TooLarge, "profile", format!("has {bytes} bytes (limit {limit})"))
    };
    // Three bytes for each four signs.
    let about = base64.len() / 4 * 3;
    if about > limits::AD_HOC_BYTES_MAX + 3 {
        return Err(too_large(about));
    }
    let body = BASE64
        .decode(base64)
        .map_err(|error| ApiError::invalid("profile", format!("is no base64: {error}")))?;
    if body.len() > limits::AD_HOC_BYTES_MAX {
        return Err(too_large(body.len()));
    }
    Ok(body)
}
