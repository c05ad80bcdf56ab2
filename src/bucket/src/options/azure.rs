//! Azure: exactly one of three credential families, and every other setting that the client knows is refused by its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

use super::{StoreOptions, client, no_endpoint, no_retries, text};
use crate::remote::Client;

/// The only authority that workload identity may name.
const PUBLIC_AUTHORITY: &str = "https://login.microsoftonline.com";

/// What the environment says about Azure.
#[derive(Debug, PartialEq, Eq)]
enum AzureFamily {
    Emulator,
    Key(String),
    /// At most one selector.
    Managed(Option<(Selector, String)>),
    Workload {
        client: String,
        tenant: String,
        token_file: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selector {
    Client,
    Object,
    Resource,
}

/// The Azure variables that the client library knows, by meaning: the name that was set and its value.
#[derive(Default)]
struct AzureVariables<'a> {
    account: Option<(&'a str, &'a str)>,
    key: Option<(&'a str, &'a str)>,
    client: Option<(&'a str, &'a str)>,
    object: Option<(&'a str, &'a str)>,
    resource: Option<(&'a str, &'a str)>,
    tenant: Option<(&'a str, &'a str)>,
    authority: Option<(&'a str, &'a str)>,
    token_file: Option<(&'a str, &'a str)>,
    emulator: Option<(&'a str, &'a str)>,
}

impl<'a> AzureVariables<'a> {
    fn read(variables: &'a BTreeMap<String, String>) -> Result<AzureVariables<'a>, String> {
        use AzureConfigKey as Key;
        let mut found = AzureVariables::default();
        for (name, value) in variables.iter().filter(|(name, _)| name.starts_with("AZURE_")) {
            // A name that the library does not know cannot change what the client does.
            let Ok(key) = name.to_ascii_lowercase().parse::<Key>() else { continue };
            let slot = match key {
                Key::AccountName => &mut found.account,
                Key::AccessKey => &mut found.key,
                Key::ClientId => &mut found.client,
                Key::ObjectId => &mut found.object,
                Key::MsiResourceId => &mut found.resource,
                Key::AuthorityId => &mut found.tenant,
                Key::AuthorityHost => &mut found.authority,
                Key::FederatedTokenFile => &mut found.token_file,
                Key::UseEmulator => &mut found.emulator,
                _ => {
                    return Err(format!(
                        "{name} is not supported: an az:// bucket takes an account key, a managed identity or a \
                         workload identity; unset it"
                    ));
                }
            };
            if let Some((other, _)) = slot {
                return Err(format!("{other} and {name} mean the same; set one of them"));
            }
            *slot = Some((name, value.trim()));
        }
        Ok(found)
    }

    fn family(&self) -> Result<AzureFamily, String> {
        let identity =
            [self.client, self.object, self.resource, self.tenant, self.authority, self.token_file];
        let identity = identity.into_iter().flatten().next();
        let emulator = match self.emulator {
            Some((name, value)) => match value.to_ascii_lowercase().as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return Err(format!("{name} {value:?}: must be true or false")),
            },
            None => false,
        };
        if emulator {
            return match identity {
                Some((name, _)) => Err(format!("{name} does not apply to the emulator; unset it")),
                None => Ok(AzureFamily::Emulator),
            };
        }
        if let Some((key_name, key)) = self.key {
            return match identity {
                Some((name, _)) => Err(format!(
                    "{key_name} and {name} name two credentials for the az:// bucket; set one of them"
                )),
                None => Ok(AzureFamily::Key(key.to_owned())),
            };
        }
        if let Some((_, token_file)) = self.token_file {
            if let Some((name, _)) = self.object.or(self.resource) {
                return Err(format!("{name} does not apply to a workload identity; unset it"));
            }
            let need = |variable: Option<(&str, &str)>, name: &str| {
                let value = variable.map(|(_, value)| value.to_owned());
                value.ok_or(format!(
                    "AZURE_FEDERATED_TOKEN_FILE is set, but {name} is not: a workload identity needs both"
                ))
            };
            if let Some((name, host)) = self.authority
                && host.strip_suffix('/').unwrap_or(host) != PUBLIC_AUTHORITY
            {
                return Err(format!(
                    "{name} {host:?}: only the public authority {PUBLIC_AUTHORITY} is supported"
                ));
            }
            return Ok(AzureFamily::Workload {
                client: need(self.client, "AZURE_CLIENT_ID")?,
                tenant: need(self.tenant, "AZURE_TENANT_ID")?,
                token_file: token_file.to_owned(),
            });
        }
        if let Some((name, _)) = self.tenant.or(self.authority) {
            return Err(format!(
                "{name} is set, but AZURE_FEDERATED_TOKEN_FILE is not: a workload identity needs both"
            ));
        }
        let selectors = [
            (Selector::Client, self.client),
            (Selector::Object, self.object),
            (Selector::Resource, self.resource),
        ];
        let mut set = selectors.into_iter().filter_map(|(which, variable)| Some((which, variable?)));
        match (set.next(), set.next()) {
            (Some((_, (one, _))), Some((_, (two, _)))) => {
                Err(format!("{one} and {two} can name two different identities; set one of them"))
            }
            (selector, _) => {
                Ok(AzureFamily::Managed(selector.map(|(which, (_, value))| (which, value.to_owned()))))
            }
        }
    }
}

/// A client for an Azure container, by exactly one of the three credential families.
pub(crate) fn azure(container: &str, options: &StoreOptions) -> Result<Arc<dyn Client>, String> {
    no_endpoint("az://", options)?;
    let variables = options.variables();
    let found = AzureVariables::read(&variables)?;
    let family = found.family()?;
    let mut builder = MicrosoftAzureBuilder::new().with_container_name(container).with_retry(no_retries());
    match found.account {
        Some((name, account)) => {
            // It becomes a part of the host name.
            if !(3..=24).contains(&account.len())
                || !account.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            {
                return Err(format!(
                    "{name} {account:?}: a storage account has 3 to 24 lower-case letters and digits"
                ));
            }
            builder = builder.with_account(account);
        }
        None if family == AzureFamily::Emulator => {}
        None => {
            return Err(
                "AZURE_STORAGE_ACCOUNT_NAME is not set: an az:// bucket needs the storage account".into()
            );
        }
    }
    let kind = AzureConfigKey::CredentialType;
    builder = match family {
        AzureFamily::Emulator => {
            let builder = builder.with_use_emulator(true);
            match found.key {
                Some((_, key)) => builder.with_access_key(key),
                None => builder,
            }
        }
        AzureFamily::Key(key) => builder.with_config(kind, "access_key").with_access_key(key),
        AzureFamily::Managed(selector) => {
            let builder = builder.with_config(kind, "managed_identity");
            match selector {
                None => builder,
                Some((Selector::Client, id)) => builder.with_client_id(id),
                Some((Selector::Object, id)) => builder.with_config(AzureConfigKey::ObjectId, id),
                Some((Selector::Resource, id)) => builder.with_config(AzureConfigKey::MsiResourceId, id),
            }
        }
        AzureFamily::Workload { client, tenant, token_file } => builder
            .with_config(kind, "workload_identity")
            .with_client_id(client)
            .with_tenant_id(tenant)
            .with_federated_token_file(token_file)
            .with_authority_host(PUBLIC_AUTHORITY),
    };
    let store = builder.with_client_options(client(false)).build().map_err(|error| match found.key {
        Some((name, _)) => format!("{name}: {}", text(error)),
        None => text(error),
    })?;
    Ok(Arc::new(store))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(variables: &[(&str, &str)]) -> Result<AzureFamily, String> {
        let variables = variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        AzureVariables::read(&variables)?.family()
    }

    #[test]
    fn each_azure_family_is_recognised() {
        assert_eq!(family(&[("AZURE_STORAGE_ACCOUNT_KEY", "k")]), Ok(AzureFamily::Key("k".into())));
        assert_eq!(family(&[]), Ok(AzureFamily::Managed(None)));
        let object = AzureFamily::Managed(Some((Selector::Object, "o".into())));
        assert_eq!(family(&[("AZURE_OBJECT_ID", "o")]), Ok(object));
        for host in ["https://login.microsoftonline.com", "https://login.microsoftonline.com/"] {
            let workload = family(&[
                ("AZURE_AUTHORITY_HOST", host),
                ("AZURE_CLIENT_ID", "c"),
                ("AZURE_TENANT_ID", "t"),
                ("AZURE_FEDERATED_TOKEN_FILE", "/f"),
                ("AZURE_SOMETHING_ELSE", "ignored"),
            ]);
            assert!(matches!(workload, Ok(AzureFamily::Workload { .. })), "{workload:?}");
        }
    }

    #[test]
    fn what_could_name_another_identity_or_place_is_refused_by_name() {
        let workload =
            [("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t"), ("AZURE_FEDERATED_TOKEN_FILE", "/f")];
        let with = |more: (&'static str, &'static str)| [&workload[..], &[more]].concat();
        let cases: Vec<(Vec<(&str, &str)>, &str)> = vec![
            (vec![("AZURE_STORAGE_ACCOUNT_KEY", "k"), ("AZURE_CLIENT_ID", "c")], "AZURE_CLIENT_ID"),
            (vec![("AZURE_CLIENT_ID", "c"), ("AZURE_MSI_RESOURCE_ID", "r")], "AZURE_MSI_RESOURCE_ID"),
            (vec![("AZURE_STORAGE_SAS_TOKEN", "s")], "AZURE_STORAGE_SAS_TOKEN"),
            (vec![("AZURE_STORAGE_TOKEN", "x")], "AZURE_STORAGE_TOKEN"),
            (vec![("AZURE_USE_AZURE_CLI", "x")], "AZURE_USE_AZURE_CLI"),
            (vec![("AZURE_ENDPOINT", "x")], "AZURE_ENDPOINT"),
            (vec![("AZURE_MSI_ENDPOINT", "x")], "AZURE_MSI_ENDPOINT"),
            (vec![("AZURE_SKIP_SIGNATURE", "x")], "AZURE_SKIP_SIGNATURE"),
            (vec![("AZURE_CONTAINER_NAME", "x")], "AZURE_CONTAINER_NAME"),
            (vec![("AZURE_FABRIC_TOKEN_SERVICE_URL", "x")], "AZURE_FABRIC_TOKEN_SERVICE_URL"),
            (vec![("AZURE_CREDENTIAL_TYPE", "x")], "AZURE_CREDENTIAL_TYPE"),
            (vec![("AZURE_PROXY_URL", "x")], "AZURE_PROXY_URL"),
            (vec![("AZURE_CLIENT_SECRET", "s")], "AZURE_CLIENT_SECRET"),
            (vec![("AZURE_STORAGE_ENDPOINT", "e")], "AZURE_STORAGE_ENDPOINT"),
            (vec![("AZURE_USE_FABRIC_ENDPOINT", "true")], "AZURE_USE_FABRIC_ENDPOINT"),
            (vec![("AZURE_ALLOW_HTTP", "true")], "AZURE_ALLOW_HTTP"),
            (vec![("AZURE_CLIENT_ID", "c"), ("AZURE_STORAGE_CLIENT_ID", "d")], "AZURE_STORAGE_CLIENT_ID"),
            (vec![("AZURE_TENANT_ID", "t")], "AZURE_FEDERATED_TOKEN_FILE"),
            (vec![("AZURE_FEDERATED_TOKEN_FILE", "/f"), ("AZURE_CLIENT_ID", "c")], "AZURE_TENANT_ID"),
            (with(("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us")), "login.microsoftonline.us"),
            (with(("AZURE_OBJECT_ID", "o")), "AZURE_OBJECT_ID"),
            (vec![("AZURE_STORAGE_USE_EMULATOR", "maybe")], "maybe"),
        ];
        for (variables, named) in cases {
            let error = family(&variables).unwrap_err();
            assert!(error.contains(named), "{variables:?}: {error}");
        }
    }

    fn open(variables: &[(&str, &str)], endpoint: Option<&str>) -> Result<(), String> {
        let variables = variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let options = StoreOptions {
            endpoint: endpoint.map(str::to_owned),
            variables: Some(variables),
            ..StoreOptions::default()
        };
        azure("container", &options).map(|_| ())
    }

    const ACCOUNT: (&str, &str) = ("AZURE_STORAGE_ACCOUNT_NAME", "account1");

    #[test]
    fn each_family_makes_a_client() {
        let workload = [
            ("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com/"),
            ("AZURE_CLIENT_ID", "c"),
            ("AZURE_TENANT_ID", "t"),
            ("AZURE_FEDERATED_TOKEN_FILE", "/f"),
        ];
        for variables in [
            &[("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")][..],
            &[],
            &[("AZURE_CLIENT_ID", "c")],
            &[("AZURE_OBJECT_ID", "o")],
            &[("AZURE_MSI_RESOURCE_ID", "r")],
            &workload,
            // Another cloud's credentials and region are no concern of this one.
            &[("AZURE_STORAGE_ACCOUNT_KEY", "a2V5"), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_REGION", "auto")],
        ] {
            assert_eq!(open(&[&[ACCOUNT][..], variables].concat(), None), Ok(()), "{variables:?}");
        }
        assert_eq!(open(&[("AZURE_STORAGE_USE_EMULATOR", "true")], None), Ok(()));
    }

    #[test]
    fn an_account_that_is_none_is_named() {
        let key = ("AZURE_STORAGE_ACCOUNT_KEY", "a2V5");
        for (variables, named) in [
            (vec![key], "AZURE_STORAGE_ACCOUNT_NAME is not set"),
            (vec![key, ("AZURE_STORAGE_ACCOUNT_NAME", "x.evil.example/")], "x.evil.example"),
            (vec![("AZURE_STORAGE_ACCOUNT_KEY", "not base64!"), ACCOUNT], "AZURE_STORAGE_ACCOUNT_KEY"),
        ] {
            let error = open(&variables, None).unwrap_err();
            assert!(error.contains(named), "{variables:?}: {error}");
        }
        let error = open(&[ACCOUNT, key], Some("https://x")).unwrap_err();
        assert!(error.contains("S3_ENDPOINT") && error.contains("az://"), "{error}");
    }
}
