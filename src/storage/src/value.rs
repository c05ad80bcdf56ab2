//! SQL values, borrowed: the caller's when bound, SQLite's when read.

/// A value in a binding or in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A 64-bit integer.
    Integer(i64),
    /// A double. SQLite stores NaN as NULL.
    Real(f64),
    /// Text as SQLite keeps it: UTF-8 that nobody has validated.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

/// A value of its own, for rows that outlive their statement.
#[derive(Clone, Debug)]
pub(crate) enum OwnedValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(Box<[u8]>),
    Blob(Box<[u8]>),
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(value) => Self::Integer(value),
            Value::Real(value) => Self::Real(value),
            Value::Text(bytes) => Self::Text(bytes.into()),
            Value::Blob(bytes) => Self::Blob(bytes.into()),
        }
    }
}

impl OwnedValue {
    pub(crate) fn borrow(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(value) => Value::Integer(*value),
            Self::Real(value) => Value::Real(*value),
            Self::Text(bytes) => Value::Text(bytes),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }
}
