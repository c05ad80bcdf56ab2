//! The settings of commands that open the fleet's bucket.

use celld_bucket::{Bucket, BucketUrl, StoreOptions};

use super::{SettingError, Settings};

/// Where the bucket is and how to reach it.
#[derive(Debug)]
pub(crate) struct BucketSettings {
    url: BucketUrl,
    options: StoreOptions,
}

impl BucketSettings {
    /// Opens the bucket. Says nothing about whether it can be reached: the first operation does.
    pub(crate) fn open(&self) -> anyhow::Result<Bucket> {
        Ok(Bucket::open(&self.url, &self.options)?)
    }
}

impl Settings {
    /// # Errors
    /// No bucket, or a value that is no bucket.
    pub(crate) fn bucket(&self) -> Result<BucketSettings, SettingError> {
        let text = self.text("CELLD_BUCKET").ok_or(SettingError::NoBucket)?;
        let url = text.parse::<BucketUrl>().map_err(|error| SettingError::Conflict(error.to_string()))?;
        let text = |name| self.text(name).map(str::to_owned);
        Ok(BucketSettings { url, options: StoreOptions::new(text("S3_ENDPOINT"), text("AWS_REGION")) })
    }
}
