//! What every request passes on its way to the routes, outermost first: the log of requests, the web page, the secret,
//! the [`Door`].
//!
//! Plain calls instead of layers of a router: a router copies all its layers for each request.

use std::sync::Arc;

use axum::{extract::Request, response::Response};

use crate::{
    Token, auth,
    door::Door,
    request_log,
    ui::{self, Ui},
};

/// What the listener hands requests to.
pub(crate) struct Front {
    pub ui: Ui,
    pub token: Option<Token>,
    pub door: Door,
}

impl Front {
    /// Answers a request.
    pub(crate) async fn answer(self: Arc<Self>, request: Request) -> Response {
        let pass = |request| self.door.answer(request);
        let ask = |request| auth::require_token(self.token.as_ref(), request, pass);
        request_log::note(request, |request| ui::serve(&self.ui, request, ask)).await
    }
}
