//! S3: the standard credential chain, without profile files.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};

use super::{StoreOptions, client, no_retries, text};
use crate::remote::Client;

/// Where the credentials come from, in the order in which they are looked for.
#[derive(Debug, PartialEq, Eq)]
enum Family {
    Static,
    WebIdentity,
    /// ECS, by the address that its agent answers at.
    Container,
    /// EKS Pod Identity.
    Pod,
    /// The metadata service of EC2.
    Instance,
}

/// A setting of the client, the variable that it comes from, and its value.
type Setting = (Key, &'static str, String);

/// The settings of one family: only these reach the client.
fn settings(variables: &BTreeMap<String, String>) -> Result<(Family, Vec<Setting>), String> {
    let value = |name: &str| variables.get(name).map(|value| value.trim().to_owned());
    // The settings `names`, when the first one is there; then the others that are marked have to be there too.
    let family = |names: &[(Key, &'static str, bool)]| {
        let (_, first, _) = names[0];
        if value(first).is_none() {
            return Ok(None);
        }
        let mut found = Vec::new();
        for (key, name, needed) in names {
            match value(name) {
                Some(value) => found.push((*key, *name, value)),
                None if *needed => return Err(format!("{first} is set, but {name} is not: it takes both")),
                None => {}
            }
        }
        Ok(Some(found))
    };
    let (id, secret) = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
    if let Some(found) = family(&[
        (Key::AccessKeyId, id, true),
        (Key::SecretAccessKey, secret, true),
        (Key::Token, "AWS_SESSION_TOKEN", false),
    ])? {
        return Ok((Family::Static, found));
    }
    if value(secret).is_some() {
        return Err(format!("{secret} is set, but {id} is not: it takes both"));
    }
    if let Some(found) = family(&[
        (Key::WebIdentityTokenFile, "AWS_WEB_IDENTITY_TOKEN_FILE", true),
        (Key::RoleArn, "AWS_ROLE_ARN", true),
        (Key::RoleSessionName, "AWS_ROLE_SESSION_NAME", false),
    ])? {
        return Ok((Family::WebIdentity, found));
    }
    if let Some(found) =
        family(&[(Key::ContainerCredentialsRelativeUri, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", true)])?
    {
        return Ok((Family::Container, found));
    }
    if let Some(found) = family(&[
        (Key::ContainerCredentialsFullUri, "AWS_CONTAINER_CREDENTIALS_FULL_URI", true),
        (Key::ContainerAuthorizationTokenFile, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", true),
    ])? {
        return Ok((Family::Pod, found));
    }
    if let Some(profile) = value("AWS_PROFILE") {
        // The metadata service would give another identity than the one that the profile names, or none after a long wait.
        return Err(format!(
            "AWS_PROFILE {profile:?}: profile files are not read; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
             unset AWS_PROFILE to use the machine's own role"
        ));
    }
    let found = family(&[(Key::MetadataEndpoint, "AWS_EC2_METADATA_SERVICE_ENDPOINT", true)])?;
    Ok((Family::Instance, found.unwrap_or_default()))
}

/// A client for an S3 bucket.
pub(crate) fn s3(bucket: &str, options: &StoreOptions) -> Result<Arc<dyn Client>, String> {
    let variables = options.variables();
    // One request for one object: not every S3-compatible store has the request that deletes many.
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_retry(no_retries())
        .with_disable_bulk_delete(true);
    let (family, settings) = settings(&variables)?;
    tracing::debug!(?family, "S3 credentials");
    for (key, _, value) in settings {
        builder = builder.with_config(key, value);
    }
    let region = options.region.as_ref().filter(|region| !region.trim().is_empty());
    let region = region.or(variables.get("AWS_REGION")).or(variables.get("AWS_DEFAULT_REGION"));
    if let Some(region) = region {
        builder = builder.with_region(region.trim());
    }
    let endpoint = options.endpoint.as_deref().map(str::trim).filter(|endpoint| !endpoint.is_empty());
    let mut plain = false;
    if let Some(endpoint) = endpoint {
        let url = url::Url::parse(endpoint).map_err(|error| format!("S3_ENDPOINT {endpoint:?}: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(format!("S3_ENDPOINT {endpoint:?}: must be an http:// or https:// address"));
        }
        plain = url.scheme() == "http";
        builder = builder.with_endpoint(endpoint.trim_end_matches('/'));
    }
    let store = builder.with_client_options(client(plain)).build().map_err(text)?;
    Ok(Arc::new(store))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> Result<Family, String> {
        let variables = variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        settings(&variables).map(|(family, _)| family)
    }

    const WEB: [(&str, &str); 2] =
        [("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")];
    const POD: [(&str, &str); 2] = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/t"),
    ];

    #[test]
    fn the_chain_has_an_order() {
        let keys = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let ecs = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials")];
        assert_eq!(chosen(&[]), Ok(Family::Instance));
        assert_eq!(chosen(&POD), Ok(Family::Pod));
        assert_eq!(chosen(&[&POD[..], &ecs[..]].concat()), Ok(Family::Container));
        assert_eq!(chosen(&[&POD[..], &ecs[..], &WEB[..]].concat()), Ok(Family::WebIdentity));
        let all = [&POD[..], &ecs[..], &WEB[..], &keys[..], &[("AWS_PROFILE", "p")]].concat();
        assert_eq!(chosen(&all), Ok(Family::Static));
    }

    #[test]
    fn a_session_token_goes_with_the_keys_and_nothing_else_of_aws_goes_to_the_client() {
        let variables = [
            ("AWS_ACCESS_KEY_ID", " a\n"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("AWS_SESSION_TOKEN", "t"),
            ("AWS_CONDITIONAL_PUT", "disabled"),
            ("AWS_ENDPOINT_URL", "http://elsewhere"),
            ("AWS_SKIP_SIGNATURE", "true"),
        ];
        let variables = variables.map(|(n, v)| (n.to_string(), v.to_string())).into();
        let (_, settings) = settings(&variables).unwrap();
        let settings: Vec<_> = settings.iter().map(|(_, name, value)| (*name, value.as_str())).collect();
        let wanted = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s"), ("AWS_SESSION_TOKEN", "t")];
        assert_eq!(settings, wanted);
    }

    #[test]
    fn half_a_credential_and_a_profile_are_refused_by_name() {
        for (variables, named) in [
            (vec![("AWS_ACCESS_KEY_ID", "a")], "AWS_SECRET_ACCESS_KEY"),
            (vec![("AWS_SECRET_ACCESS_KEY", "s")], "AWS_ACCESS_KEY_ID"),
            (vec![WEB[0]], "AWS_ROLE_ARN"),
            (vec![POD[0]], "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
            (vec![("AWS_PROFILE", "work")], "AWS_PROFILE \"work\""),
        ] {
            let error = chosen(&variables).unwrap_err();
            assert!(error.contains(named), "{variables:?}: {error}");
        }
    }

    #[test]
    fn an_endpoint_is_an_http_address() {
        let options = |endpoint: &str| StoreOptions {
            endpoint: Some(endpoint.into()),
            variables: Some(BTreeMap::new()),
            ..StoreOptions::default()
        };
        for good in ["http://127.0.0.1:9000", "https://a.r2.cloudflarestorage.com/", "  "] {
            assert!(s3("bkt", &options(good)).is_ok(), "{good}");
        }
        for bad in ["ftp://x", "minio:9000", "x"] {
            let error = s3("bkt", &options(bad)).err().unwrap();
            assert!(error.contains("S3_ENDPOINT") && error.contains(bad), "{error}");
        }
    }
}
