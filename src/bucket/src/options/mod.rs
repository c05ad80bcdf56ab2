//! From a bucket's URL and the environment to a client: which credentials are used, and which settings are refused.
//!
//! The variables are read here, one by one, and not by the client library's own reader: that one takes everything it knows,
//! which includes variables that would send the fleet's state to another bucket or switch conditional writes off.

mod azure;
mod gcs;
mod s3;

use std::collections::BTreeMap;
use std::time::Duration;

use object_store::{ClientOptions, RetryConfig};

pub(crate) use azure::azure;
pub(crate) use gcs::gcs;
pub(crate) use s3::s3;

/// How to reach a bucket.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StoreOptions {
    /// The S3-compatible endpoint (`S3_ENDPOINT`), `http://` or `https://`.
    pub endpoint: Option<String>,
    /// The region (`AWS_REGION`); only S3 has one.
    pub region: Option<String>,
    /// What stands in for the process's environment, for tests.
    pub variables: Option<BTreeMap<String, String>>,
}

impl StoreOptions {
    /// Sets [`StoreOptions::endpoint`] and [`StoreOptions::region`].
    pub fn new(endpoint: Option<String>, region: Option<String>) -> StoreOptions {
        StoreOptions { endpoint, region, variables: None }
    }

    fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = match &self.variables {
            Some(variables) => variables.clone(),
            None => std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        };
        // An empty variable is how a shell unsets one for one command.
        variables.retain(|_, value| !value.trim().is_empty());
        variables
    }
}

/// One request may take this long; a caller with less time stops waiting earlier.
const REQUEST: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(5);

/// No retries in the client: it would send a conditional write again after a 5xx that may have been applied, and then report
/// its own first attempt as somebody else's. `remote.rs` retries what may be retried.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

fn client(allow_http: bool) -> ClientOptions {
    ClientOptions::new().with_timeout(REQUEST).with_connect_timeout(CONNECT).with_allow_http(allow_http)
}

fn text(error: object_store::Error) -> String {
    error.to_string()
}

fn no_endpoint(scheme: &str, options: &StoreOptions) -> Result<(), String> {
    match &options.endpoint {
        Some(endpoint) if !endpoint.trim().is_empty() => {
            Err(format!("S3_ENDPOINT {endpoint:?} does not apply to a {scheme} bucket; unset it"))
        }
        _ => Ok(()),
    }
}
