//! What every request passes on its way to the routes, outermost first: the log of requests, the web page, the secret,
//! the [`Door`].
//!
//! Plain calls instead of layers of a router: a router copies all its layers for each request. What a router does for
//! `HEAD` is done here for what no route answers.

use std::sync::Arc;

use axum::{
    body::{Body, HttpBody as _},
    extract::Request,
    response::Response,
};
use http::{HeaderValue, Method, header};

use crate::{
    auth::{self, Secret},
    door::Door,
    request_log,
    ui::{self, Ui},
};

/// What the listener hands requests to.
pub(crate) struct Front {
    pub ui: Ui,
    pub secret: Option<Arc<Secret>>,
    pub door: Door,
}

impl Front {
    /// Answers a request.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let is_head = request.method() == Method::HEAD;
        let pass = |request| self.door.answer(request);
        let ask = |request| auth::require_token(self.secret.as_deref(), request, pass);
        let response = request_log::note(request, |request| ui::serve(&self.ui, request, ask)).await;
        if is_head { without_body(response) } else { response }
    }
}

/// What `HEAD` gets: the length of the body, but no body, which over HTTP/2 would be sent and be an error to the client.
fn without_body(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    // Of what a route answered, the body is gone already.
    if let Some(length) = body.size_hint().exact().filter(|&length| length > 0) {
        head.headers.entry(header::CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    Response::from_parts(head, Body::empty())
}
