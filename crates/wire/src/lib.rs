//! The native API's JSON, shared by `api` (which writes it) and `client` (which reads it).
//!
//! Not here: any behaviour. The same types are described for other languages in `docs/openapi.json`.
