//! Google: Application Default Credentials, or a service account's key as a file or as text.

use std::sync::Arc;

use object_store::gcp::GoogleCloudStorageBuilder;

use super::{StoreOptions, client, no_endpoint, no_retries, text};
use crate::remote::Client;

/// The account of the emulator, which looks at none.
const NO_ACCOUNT: &str = r#"{"private_key":"","private_key_id":"","client_email":"","disable_oauth":true}"#;

/// A client for a Google bucket. Without any variable: what `gcloud auth application-default login` left in the home
/// directory, then the machine's service account.
pub(crate) fn gcs(bucket: &str, options: &StoreOptions) -> Result<Arc<dyn Client>, String> {
    no_endpoint("gs://", options)?;
    let variables = options.variables();
    let mut builder = GoogleCloudStorageBuilder::new().with_bucket_name(bucket).with_retry(no_retries());
    let names = [
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
    ];
    let mut set = names.into_iter().filter_map(|name| Some((name, variables.get(name)?.trim())));
    let mut source = "";
    let emulator = variables.get("STORAGE_EMULATOR_HOST");
    match (set.next(), set.next()) {
        (Some((name, _)), _) if emulator.is_some() => {
            return Err(format!(
                "{name} does not apply to the emulator of STORAGE_EMULATOR_HOST; unset one of them"
            ));
        }
        (Some((one, _)), Some((two, _))) => {
            return Err(format!("{one} and {two} can name two different accounts; set one of them"));
        }
        (Some((name, value)), None) => {
            source = name;
            builder = match name {
                "GOOGLE_APPLICATION_CREDENTIALS" => builder.with_application_credentials(value),
                "GOOGLE_SERVICE_ACCOUNT_KEY" => builder.with_service_account_key(value),
                _ => builder.with_service_account_path(value),
            };
        }
        (None, _) => {}
    }
    if let Some(host) = emulator {
        source = "STORAGE_EMULATOR_HOST";
        let host = host.trim().trim_end_matches('/');
        let address = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
        if !url::Url::parse(&address).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
            return Err(format!("{source} {host:?}: must be an http:// or https:// address"));
        }
        // A credential that asks nobody, in place of the home directory's or the machine's.
        builder = builder.with_base_url(&address).with_service_account_key(NO_ACCOUNT);
    }
    let store =
        builder.with_client_options(client(emulator.is_some())).build().map_err(|error| match source {
            "" => text(error),
            name => format!("{name}: {}", text(error)),
        })?;
    Ok(Arc::new(store))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(variables: &[(&str, &str)], endpoint: Option<&str>) -> Result<(), String> {
        let variables = variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let options = StoreOptions {
            endpoint: endpoint.map(str::to_owned),
            variables: Some(variables),
            ..StoreOptions::default()
        };
        gcs("bkt", &options).map(|_| ())
    }

    const KEY: &str = r#"{"private_key":"k","private_key_id":"i","client_email":"e","disable_oauth":true}"#;

    #[test]
    fn each_source_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("account.json");
        std::fs::write(&file, KEY).unwrap();
        let file = file.to_str().unwrap();
        assert_eq!(open(&[("GOOGLE_SERVICE_ACCOUNT_KEY", KEY)], None), Ok(()));
        assert_eq!(open(&[("GOOGLE_SERVICE_ACCOUNT", file)], None), Ok(()));
        assert_eq!(open(&[("GOOGLE_SERVICE_ACCOUNT_PATH", file)], None), Ok(()));
        let user = dir.path().join("user.json");
        let login = r#"{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}"#;
        std::fs::write(&user, login).unwrap();
        assert_eq!(open(&[("GOOGLE_APPLICATION_CREDENTIALS", user.to_str().unwrap())], None), Ok(()));
        // Neither a region nor credentials of another cloud matter here.
        let other = [("GOOGLE_SERVICE_ACCOUNT_KEY", KEY), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_REGION", "auto")];
        assert_eq!(open(&other, None), Ok(()));
    }

    #[test]
    fn the_emulator_takes_no_account() {
        for address in ["localhost:4601", "http://127.0.0.1:4601/"] {
            assert_eq!(open(&[("STORAGE_EMULATOR_HOST", address)], None), Ok(()));
        }
        let error =
            open(&[("STORAGE_EMULATOR_HOST", "x"), ("GOOGLE_SERVICE_ACCOUNT_KEY", KEY)], None).unwrap_err();
        assert!(
            error.contains("STORAGE_EMULATOR_HOST") && error.contains("GOOGLE_SERVICE_ACCOUNT_KEY"),
            "{error}"
        );
        let error = open(&[("STORAGE_EMULATOR_HOST", "ftp://x")], None).unwrap_err();
        assert!(error.contains("ftp://x"), "{error}");
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (variables, named) in [
            (
                vec![("GOOGLE_APPLICATION_CREDENTIALS", "/none.json")],
                ["GOOGLE_APPLICATION_CREDENTIALS", "/none.json"],
            ),
            (vec![("GOOGLE_SERVICE_ACCOUNT", "/none.json")], ["GOOGLE_SERVICE_ACCOUNT", "/none.json"]),
            (vec![("GOOGLE_SERVICE_ACCOUNT_KEY", "{}")], ["GOOGLE_SERVICE_ACCOUNT_KEY", "private_key"]),
            (
                vec![("GOOGLE_SERVICE_ACCOUNT_KEY", KEY), ("GOOGLE_APPLICATION_CREDENTIALS", "/x")],
                ["GOOGLE_SERVICE_ACCOUNT_KEY", "GOOGLE_APPLICATION_CREDENTIALS"],
            ),
        ] {
            let error = open(&variables, None).unwrap_err();
            assert!(named.iter().all(|named| error.contains(named)), "{variables:?}: {error}");
        }
        let error = open(&[("GOOGLE_SERVICE_ACCOUNT_KEY", KEY)], Some("http://x")).unwrap_err();
        assert!(error.contains("S3_ENDPOINT") && error.contains("gs://"), "{error}");
    }
}
