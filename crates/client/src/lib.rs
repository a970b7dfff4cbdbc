//! A typed client of the native API, blocking, for command lines and tests.
//!
//! ```no_run
//! let client = client::Client::new(client::ClientOptions::default())?;
//! let top = client.top(&client::Question::new().with("q", "cpu{service_name=\"api\"}"))?;
//! println!("{}: {}", top.rows[0].name, top.rows[0].self_value);
//! # Ok::<(), client::ClientError>(())
//! ```
//!
//! Not here: meaning of answers (`wire`), and anything about files.

mod address;
mod error;
mod question;
mod requests;

pub use error::ClientError;
pub use question::Question;
pub use requests::{Client, ClientOptions, Download, SERVER_DEFAULT};
